package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/enginetest"
)

// paced is a vendor that takes its time.
const paced = `
text: {median_tokens: 120, sigma: 0.5}
timing: {ttft: 100ms, token_rate: 200}
generation: {delay: 50ms, cancelled_delay: 100ms}
`

// ownServers starts two servers of one's own of different speed and makes.
func ownServers(t *testing.T) (fast, slow *emulator.Local, engines string) {
	t.Helper()
	text := emulator.DefaultScenario().Text
	text.MedianTokens, text.Sigma, text.NonCanonical, text.TrailingSpace = 120, 0.5, 0.3, 0.2
	fast, fastURL := enginetest.Serve(t, emulator.LocalConfig{Kind: emulator.SGLang, Slots: 24, Rate: 150, Text: text, Seed: 3})
	slow, slowURL := enginetest.Serve(t, emulator.LocalConfig{Kind: emulator.VLLM, Slots: 6, Rate: 100, Text: text, Seed: 4})
	return fast, slow, fmt.Sprintf("  - sglang: {base_url: %q, via: ids, name: fast}\n  - vllm: {base_url: %q, name: slow}\n", fastURL, slowURL)
}

// made is a row of an export as its meta file and its ids tell it.
type made struct {
	Lane       string `json:"lane"`
	Provider   string `json:"provider"`
	Known      string `json:"known"`
	Generation string `json:"generation_id"`
	Prompt     int    `json:"prompt_tokens"`
	Cost       string `json:"cost"`
	ids        []int32
}

// exported reads every row of the export.
func (r *rig) exported(set string) []made {
	r.t.Helper()
	folder := filepath.Join(r.dir, "run", "export", set)
	metas := lines[made](r.t, filepath.Join(folder, "meta.jsonl"))
	rows := lines[struct {
		IDs []int32 `json:"input_ids"`
	}](r.t, filepath.Join(folder, "train.jsonl"))
	if len(metas) != len(rows) {
		r.t.Fatalf("%d rows and %d metas", len(rows), len(metas))
	}
	for i := range metas {
		metas[i].ids = rows[i].IDs
	}
	return metas
}

// checkOwn holds the rows of a server of one's own against what it wrote, to
// the last id.
func (r *rig) checkOwn(rows []made, lane string, server *emulator.Local) (n int) {
	r.t.Helper()
	truths := map[string]emulator.LocalAnswer{}
	for _, a := range server.Truths() {
		truths[a.ID] = a
	}
	seen := map[string]bool{}
	for _, m := range rows {
		if m.Lane != lane {
			continue
		}
		n++
		truth, ok := truths[m.Generation]
		switch {
		case !ok || seen[m.Generation]:
			r.t.Fatalf("row %s of %s is in no answer of the server, or twice", m.Generation, lane)
		case m.Known != "engine" || strings.Trim(m.Cost, "0.") != "":
			r.t.Errorf("a row of %s is known by %s and cost %s", lane, m.Known, m.Cost)
		case !slices.Equal(m.ids, slices.Concat(truth.PromptIDs, truth.CompletionIDs)):
			r.t.Errorf("the ids of row %s of %s are not those that the server worked with", m.Generation, lane)
		}
		seen[m.Generation] = true
	}
	return n
}

// TestOwnServersBesideAVendor runs a job on OpenRouter and two servers of
// different speed, kills it twice, takes a server away for a while, and lets the
// money run out. The servers finish it alone.
func TestOwnServersBesideAVendor(t *testing.T) {
	const target = 90_000
	set := jobSet{name: "code"}
	for i := range 3000 {
		set.prompts = append(set.prompts, fmt.Sprintf(`{"messages":[{"role":"user","content":"Question %d about rivers."}]}`, i))
	}
	r := newRig(t, paced, set)
	fast, slow, engines := ownServers(t)
	const budget = "0.10"
	r.job(budget, 120)
	r.edit("tokens: 1000M", fmt.Sprintf("tokens: %d", target))
	r.edit("max_tokens: 512", "max_tokens: 256")
	r.edit("engines:\n", "engines:\n"+engines)

	for kill := range 2 {
		p, wait := r.start("run", "job.yaml")
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			when(t, func() bool { return len(fast.Truths()) > 40*(kill+1) })
			p.Kill()
		}()
		if res := wait(); res.code != -1 {
			t.Fatalf("the job was over before it was killed: %d\n%s", res.code, res.out)
		}
		<-killed
	}
	outage := make(chan struct{})
	go func() {
		defer close(outage)
		when(t, func() bool { running, _ := slow.Busy(); return running > 2 })
		slow.SetDown(true)
		when(t, func() bool { return len(fast.Truths()) > 140 })
		slow.SetDown(false)
	}()
	res := r.eyrie(0, "run", "job.yaml", "--bill-patience", "20s")
	<-outage
	if !strings.Contains(res.out, "server is away") || !strings.Contains(res.out, "server is back") {
		t.Errorf("the run does not say that a server went away and came back:\n%s", res.out)
	}

	r.checkBudget(budget)
	if spent := r.totals().Spend; spent < dollars(t, budget)*6/10 {
		t.Errorf("only %d picodollars of a budget of $%s were used", spent, budget)
	}
	r.eyrie(0, "export", "job.yaml")
	rows := r.exported("code")
	byFast, bySlow, bought := r.checkOwn(rows, "fast", fast), r.checkOwn(rows, "slow", slow), 0
	for _, m := range rows {
		if m.Provider != "sglang" && m.Provider != "vllm" {
			bought++
		}
	}
	if bought == 0 || byFast < 3*bySlow/2 || bySlow == 0 {
		t.Errorf("%d rows of the fast server, %d of the slow one, %d bought", byFast, bySlow, bought)
	}
	tokens := 0
	for _, m := range rows {
		tokens += len(m.ids) - m.Prompt
	}
	if tokens < target*95/100 {
		t.Errorf("%d tokens were exported of %d that were wanted", tokens, target)
	}
	t.Logf("%d rows of the fast server, %d of the slow one, %d bought", byFast, bySlow, bought)
}

// when waits until something is so, or the test ends.
func when(t *testing.T, so func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}

// TestOwnServersAlone runs a job that needs neither key nor budget.
func TestOwnServersAlone(t *testing.T) {
	set := jobSet{name: "code"}
	for i := range 60 {
		set.prompts = append(set.prompts, fmt.Sprintf(`{"messages":[{"role":"user","content":"Question %d about rivers."}]}`, i))
	}
	r := newRig(t, paced, set)
	fast, slow, engines := ownServers(t)
	r.write("job.yaml", "model: moonshotai/kimi-k2.5\ntokenizer: ./model\noutput: ./run\nsampling: {max_tokens: 512}\n"+
		"datasets:\n  - {name: code, path: code.jsonl, tokens: 1M}\nengines:\n"+engines)
	r.eyrie(4, "run", "job.yaml") // the prompts are used up before the target
	r.eyrie(0, "export", "job.yaml")
	rows := r.exported("code")
	if n := r.checkOwn(rows, "fast", fast) + r.checkOwn(rows, "slow", slow); n != len(set.prompts) {
		t.Errorf("%d rows of %d prompts", n, len(set.prompts))
	}
	if r.totals().Requests != 0 {
		t.Error("a job that names no vendor asked one")
	}
}
