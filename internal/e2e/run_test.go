package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// workload makes prompts of every family, all different.
func workload(scale int) []jobSet {
	set := func(name string, n int, line func(i int) string) jobSet {
		s := jobSet{name: name}
		for i := range n * scale / 10 {
			s.prompts = append(s.prompts, line(i))
		}
		return s
	}
	user := func(format string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"id":"p%05d","messages":[{"role":"user","content":%q}]}`, i, fmt.Sprintf(format, i))
		}
	}
	return []jobSet{
		set("code", 6000, user("Write a Go function that returns the %d-th prime, and explain its running time.\n\n```go\nfunc prime(n int) int\n```")),
		set("zh", 4000, user("请写一篇关于第 %d 号仓库的说明，包括它的位置、用途和历史。😀")),
		set("tools", 3000, func(i int) string {
			return fmt.Sprintf(`{"id":"p%05d","messages":[{"role":"system","content":"Use the tools."},{"role":"user","content":"What is the weather in city %d, and in city %d?"}],`+
				`"tools":[{"type":"function","function":{"name":"get_weather","description":"Weather of a place.","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["C","F"]}},"required":["city"]}}}]}`, i, i, i+1)
		}),
		set("chat", 3700, func(i int) string {
			return fmt.Sprintf(`{"id":"p%05d","conversations":[{"from":"human","value":"Tell me about asteroid %d."},{"from":"gpt","value":"It is small."},{"from":"human","value":"And in one sentence?"},{"from":"gpt","value":"Small."}]}`, i, i)
		}),
	}
}

// scale is tenths of the full workload.
func scale(t *testing.T) int {
	if testing.Short() {
		return 1
	}
	return 10
}

// inProcess is the same for jobs that run in this process: small under the race
// detector, which watches them there.
func inProcess(t *testing.T) int {
	if raced {
		return 1
	}
	return scale(t)
}

// busy is a vendor with limits, slow starts, refusals and broken streams.
const busy = `
text: {median_tokens: 160, sigma: 0.5, noncanonical: 0.02, trailing_space: 0.02}
timing: {ttft: 150ms, ttft_sigma: 0.4, token_rate: 160, rate_sigma: 0.3, write_every: 100ms}
stream: {chunk_tokens: 4}
generation: {delay: 100ms, cancelled_delay: 300ms}
endpoints:
  atlas-cloud/int4: {max_in_flight: 2500}
  siliconflow/int4: {max_in_flight: 150, retry_after: "1"}
faults:
  - {kind: rate_limit, rate: 0.01}
  - {kind: http, status: 502, rate: 0.005}
  - {kind: eof, after: 20, rate: 0.005}
  - {kind: mid_error, after: 10, rate: 0.005}
  - {kind: usage, value: missing, rate: 0.005}
`

// TestWholeJob runs a job of 20,000 generations with 2,000 in flight to its
// end: it stops at its budget, goes on when that is raised, and every row,
// every cent and every label is held against the emulator's books.
func TestWholeJob(t *testing.T) {
	n := scale(t)
	r := newRig(t, busy, workload(n)...)
	small, large := fmt.Sprintf("%.1f", float64(n)/2), "100"

	r.job(small, 2000)
	r.eyrie(3, "run", "job.yaml") // the plan says that it is not enough
	if got := r.totals().Requests; got != 0 {
		t.Fatalf("%d requests were made for a job that cannot be afforded", got)
	}
	first := r.eyrie(3, "run", "job.yaml", "--partial", "--bill-patience", "20s")
	r.checkBudget(small)
	if spent := r.totals().Spend; spent < dollars(t, small)*97/100 {
		t.Errorf("only %d picodollars of a budget of $%s were used", spent, small)
	}
	r.job(large, 2000)
	second := r.eyrie(4, "run", "job.yaml", "--bill-patience", "20s") // prompts are used up before the targets
	r.checkMoney(large)
	c := r.checkExport()
	total := r.checkComplete()
	if total < 2000*n {
		t.Errorf("only %d generations", total)
	}
	r.checkKey()
	// The lane is climbed step by step, and how far a run of this length comes hangs
	// on when the vendor's random refusals strike. TestScenarioHappy has all 2,000
	// streams at once.
	if most := report(t, r, c, total); most < 40*n {
		t.Errorf("at most %d requests were in flight", most)
	}
	if !strings.Contains(second.out, "going on with") {
		t.Errorf("the second run does not say that it goes on:\n%s", second.out)
	}
	t.Logf("client CPU %v and %v, peak memory %d and %d MB", first.cpu, second.cpu, first.rss>>20, second.rss>>20)
}

// TestKilledAtAnyMoment kills the program with SIGKILL again and again, in the
// middle of everything, lets the budget run out and be raised on the way, and
// wants the same end as an undisturbed run: every generation once, nothing
// bought twice but what was cut off, every cent accounted for.
func TestKilledAtAnyMoment(t *testing.T) {
	n := scale(t)
	r := newRig(t, busy, workload(n)...)
	rng := rand.New(rand.NewPCG(1, 2))
	const kills = 24
	budget := fmt.Sprint(n * 3)
	r.job(budget, 2000)
	for k := range kills {
		if k == kills/2 {
			budget = "300"
			r.job(budget, 2000)
		}
		began := time.Now()
		p, wait := r.start("run", "job.yaml", "--partial", "--progress", "none", "--bill-patience", "2s")
		timer := time.AfterFunc(time.Duration(200+rng.IntN(6000))*time.Millisecond, func() { p.Kill() })
		res := wait()
		timer.Stop()
		if res.code != -1 && res.code != 3 && res.code != 4 {
			t.Fatalf("kill %d: the program ended by itself with code %d:\n%s", k, res.code, res.out)
		}
		t.Logf("kill %d: code %d after %v", k, res.code, time.Since(began).Round(time.Millisecond))
		r.checkBudget(budget)
	}
	last := time.Now()
	end := r.eyrie(4, "run", "job.yaml", "--bill-patience", "20s")
	t.Logf("the last run took %v:\n%s", time.Since(last).Round(time.Millisecond), end.out)
	r.checkMoney(budget)
	c := r.checkExport()
	total := r.checkComplete()
	if total < 2000*n {
		t.Errorf("only %d generations", total)
	}
	r.checkAcceptedOnce(c)
	r.checkKey()
	report(t, r, c, total)
}

// checkAcceptedOnce: an answer that was sent whole and acknowledged as accepted
// was not asked for again. What the vendor sent whole beyond the accepted rows
// are answers whose process died, or that were refused, before they counted.
func (r *rig) checkAcceptedOnce(c census) {
	s := r.status()
	rows := 0
	for _, set := range s.Sets {
		rows += set.Rows
	}
	if rows != len(c.keys) {
		r.t.Errorf("%d accepted rows and %d generations: something was bought twice", rows, len(c.keys))
	}
}

// report logs what came of a job and returns how many requests were in flight
// at most.
func report(t *testing.T, r *rig, c census, total int) (most int) {
	b := r.totals()
	for _, n := range b.MaxInFlight {
		most += n
	}
	t.Logf("%d generations, %d requests, outcomes %v, faults %v, up to %d in flight", total, b.Requests, b.Outcomes, b.Faults, most)
	t.Logf("rows %v, exact %v, not exact %v, of them or not, not canonical %v", c.rows, c.exact, c.wrong, c.noncanonical)
	return most
}
