package e2e

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

// milestone is a line of what eyrie plan prints of a run: a forecast, or the
// fact.
type milestone struct {
	When   string
	Tokens int64
	Money  string
}

// TestForecastHolds runs jobs to their ends, one that its budget stops and one
// that reaches its targets, and asks what the plan said when 2 % of the tokens
// were there: it is within 5 % of the tokens and of the money. A short test has a
// dozen answers at that point, and allows for the chance in them.
func TestForecastHolds(t *testing.T) {
	n := scale(t)
	most := map[int]float64{1: 10, 10: 5}[n] // per cent
	for _, tt := range []struct {
		name    string
		budget  string
		targets string // of each set
		code    int
	}{
		{"stopped by the budget", big.NewRat(int64(n), 5).FloatString(2), "1000M", 3},
		{"all targets reached", "100", map[int]string{1: "40k", 10: "200k"}[n], 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, busy, workload(n)...)
			r.job(tt.budget, 20*n)
			r.setTargets(tt.targets)
			r.eyrie(tt.code, "run", "job.yaml", "--partial", "--bill-patience", "20s")
			out := r.plan()
			var p struct {
				Past []milestone `json:"forecast_and_fact"`
			}
			if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &p); err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if len(p.Past) != 3 {
				t.Fatalf("the plan of a run that is over compares %d things:\n%s", len(p.Past), out)
			}
			early, fact := p.Past[1], p.Past[2]
			tokens := off(float64(early.Tokens), float64(fact.Tokens))
			money := off(float64(dollars(t, early.Money)), float64(dollars(t, fact.Money)))
			t.Logf("before the start %+v, then %+v, in the end %+v: off by %+.1f %% and %+.1f %%", p.Past[0], early, fact, tokens, money)
			if math.Abs(tokens) > most || math.Abs(money) > most {
				t.Errorf("the forecast is off by %.1f %% of the tokens and %.1f %% of the money", tokens, money)
			}
		})
	}
}

func off(forecast, fact float64) float64 { return 100 * (forecast/fact - 1) }

// setTargets changes the targets of all sets in the job file.
func (r *rig) setTargets(tokens string) {
	r.t.Helper()
	r.edit("tokens: 1000M", "tokens: "+tokens)
}

// plan returns what eyrie plan --json prints, whatever it thinks of the budget.
func (r *rig) plan() string {
	_, wait := r.start("plan", "job.yaml", "--json")
	return wait().out
}
