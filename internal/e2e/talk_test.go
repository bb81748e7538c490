package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// talkative is a vendor whose model calls tools often, sometimes several at a
// time.
const talkative = `
text: {median_tokens: 120, sigma: 0.6, noncanonical: 0, trailing_space: 0, tool_call: 0.85, parallel_calls: 0.3}
timing: {ttft: 20ms, token_rate: 2000}
generation: {delay: 50ms, cancelled_delay: 50ms}
faults:
  - {kind: rate_limit, rate: 0.01}
  - {kind: eof, after: 20, rate: 0.01}
  - {kind: tool, value: duplicate_id, rate: 0.03}
  - {kind: tool, value: empty_id, rate: 0.03}
`

// agentLoops makes conversations in which a tool is called, called again, and
// the user goes on: as far as the model makes calls that have results.
func agentLoops(of string, n int) (lines []string) {
	const tools = `[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"where":{"type":"string","enum":["left","right"]}},"required":["where"]}}}]`
	call := func(id, where string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"look","arguments":"{\"where\": %s}"}}`, id, strings.ReplaceAll(fmt.Sprintf("%q", where), `"`, `\"`))
	}
	result := func(id, text string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
	}
	for i := range n {
		one, two := []string{"left", "right"}[i%2], []string{"right", "left"}[i/2%2]
		loop := []string{
			fmt.Sprintf(`{"role":"user","content":"Where is thing %d of %s? 它在哪里？"}`, i, of),
			`{"role":"assistant","content":null,"tool_calls":[` + call("a", one) + `]}`, result("a", fmt.Sprintf("a wall, number %d", i)),
			`{"role":"assistant","content":"Hm.","reasoning_content":"of the data set","tool_calls":[` + call("b", two) + `]}`, result("b", "a door\n😀"),
			`{"role":"assistant","content":"Behind the door."}`,
			`{"role":"user","content":"Thank you. And the other?"}`,
			`{"role":"assistant","content":"","tool_calls":[` + call("c", one) + `]}`, result("c", "nothing"),
		}
		lines = append(lines, fmt.Sprintf(`{"id":"p%04d","messages":[%s],"tools":%s}`, i, strings.Join(loop, ","), tools))
	}
	return lines
}

// TestToolLoops runs conversations with tool calls, of all three kinds of turns
// and both kinds of pairing, half of the rows thinking, and kills the program in
// the middle of them. Every certified row is what the vendor's model was shown
// and said, which it renders for itself.
func TestToolLoops(t *testing.T) {
	n := 150
	if !testing.Short() {
		n *= 4
	}
	r := newRig(t, talkative,
		jobSet{name: "exact", prompts: agentLoops("exact", n)},
		jobSet{name: "loose", prompts: agentLoops("loose", n), options: ", tools: name"},
		jobSet{name: "last", prompts: agentLoops("last", n), options: ", turns: last"},
		jobSet{name: "first", prompts: agentLoops("first", n), options: ", turns: first"},
	)
	r.mix = ", mix: [{weight: 1}, {weight: 1, thinking: false}]"
	r.extra = "on_length: retry\nseed: 5\n"
	r.job("100", 200)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 4 {
		p, wait := r.start("run", "job.yaml", "--progress", "none")
		timer := time.AfterFunc(time.Duration(300+rng.IntN(1200))*time.Millisecond, func() { p.Kill() })
		wait()
		timer.Stop()
	}
	out := r.eyrie(4, "run", "job.yaml", "--bill-patience", "20s")
	r.checkMoney("100")
	c := r.checkExport()
	r.checkAcceptedOnce(c)
	r.checkKey()
	rows := 0
	for known, k := range c.rows {
		rows += k
		t.Logf("%s: %d rows, %d exact", known, k, c.exact[known])
	}
	if c.rows["counted"] < rows*97/100 {
		t.Errorf("only %d of %d rows are counted", c.rows["counted"], rows)
	}
	turns := map[string]map[int]int{}
	for _, s := range r.sets {
		turns[s.name] = map[int]int{}
		for _, m := range lines[metaRow](t, filepath.Join(r.dir, "rows", s.name, "meta.jsonl")) {
			turns[s.name][m.Turn]++
		}
	}
	t.Logf("rows by turn: %v", turns)
	for _, s := range []string{"last", "first"} {
		if turns[s][0] == 0 || len(turns[s]) != 1 {
			t.Errorf("%s: rows by turn %v", s, turns[s])
		}
	}
	if turns["loose"][1] <= turns["exact"][1] || turns["exact"][1] == 0 || turns["loose"][2] == 0 {
		t.Errorf("rows by turn: %v", turns)
	}
	for _, want := range []string{"call without result", "result without call", "other calls"} {
		if !strings.Contains(out.out, want) {
			t.Errorf("the summary does not say %q:\n%s", want, out.out)
		}
	}
}

// splitting is a vendor whose model samples a share of its answers in tokens of
// its own, so that their rows are not certain.
const splitting = `
text: {median_tokens: 100, sigma: 0.5, noncanonical: %g}
timing: {ttft: 20ms, token_rate: 2000}
generation: {delay: 50ms, cancelled_delay: 50ms}
`

// TestTargetsAreMetInCertainRows: what is not certain is not counted in the end,
// and a little more is bought instead, no more than that.
func TestTargetsAreMetInCertainRows(t *testing.T) {
	const target = 40_000
	set := jobSet{name: "code", tokens: fmt.Sprint(target)}
	for i := range 2000 {
		set.prompts = append(set.prompts, fmt.Sprintf(`{"id":"p%04d","messages":[{"role":"user","content":"Write function number %d."}]}`, i, i))
	}
	r := newRig(t, fmt.Sprintf(splitting, 0.08), set)
	r.job("10", 20)
	first := r.eyrie(0, "run", "job.yaml", "--bill-patience", "20s")
	r.checkMoney("10")
	r.eyrie(0, "export", "job.yaml", "--out", "rows")
	certain := 0
	for _, row := range lines[trainRow](t, filepath.Join(r.dir, "rows", "code", "train.jsonl")) {
		certain += sum(row.LossMask)
	}
	if certain < target || certain > target*12/10 {
		t.Errorf("%d tokens are in certain rows, %d were wanted", certain, target)
	}
	if !strings.Contains(first.out, "going on for the rest") || !strings.Contains(first.out, "finished") {
		t.Errorf("the run does not say that it went on:\n%s", first.out)
	}
	spent := r.totals().Spend
	if again := r.eyrie(0, "run", "job.yaml", "--bill-patience", "20s"); r.totals().Spend != spent {
		t.Errorf("a finished run buys more:\n%s", again.out)
	}
}

// TestNoMoreOfWhatIsNotCertain: money does not go after rows that are mostly
// uncertain, nor where the user says that what was billed is enough.
func TestNoMoreOfWhatIsNotCertain(t *testing.T) {
	set := jobSet{name: "code", tokens: "4000"}
	for i := range 300 {
		set.prompts = append(set.prompts, fmt.Sprintf(`{"id":"p%04d","messages":[{"role":"user","content":"Write function number %d."}]}`, i, i))
	}
	r := newRig(t, fmt.Sprintf(splitting, 0.7), set)
	r.job("10", 10)
	r.eyrie(0, "run", "job.yaml", "--bill-patience", "20s", "--no-top-up")
	spent := r.totals().Spend
	out := r.eyrie(0, "run", "job.yaml", "--bill-patience", "20s").out
	if !strings.Contains(out, "no more is bought for it") || r.totals().Spend != spent {
		t.Errorf("%d picodollars became %d:\n%s", spent, r.totals().Spend, out)
	}
}
