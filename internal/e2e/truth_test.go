package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// trainRow, metaRow and bookEntry are the exported files and the emulator's
// books as an outsider reads them.
type trainRow struct {
	ID       string  `json:"id"`
	InputIDs []int32 `json:"input_ids"`
	LossMask []int   `json:"loss_mask"`
}

type metaRow struct {
	ID           string `json:"id"`
	Prompt       string `json:"prompt"`
	Turn         int    `json:"turn"`
	Key          string `json:"key"`
	Known        string `json:"known"`
	Finish       string `json:"finish_reason"`
	GenerationID string `json:"generation_id"`
	Lane         string `json:"lane"`
	Cost         string `json:"cost"`
}

type bookEntry struct {
	ID            string      `json:"id"`
	Outcome       string      `json:"outcome"`
	Endpoint      string      `json:"endpoint"`
	PromptIDs     []int32     `json:"prompt_ids"`
	CompletionIDs []int32     `json:"completion_ids"`
	Canonical     bool        `json:"canonical"`
	Finish        string      `json:"finish"`
	Cost          picodollars `json:"cost_picodollars"`
}

// census counts the exported rows by how their ids are known, and how many of
// each are what the emulator generated.
type census struct {
	rows, exact, wrong map[string]int
	noncanonical       map[string]int
	keys               map[string]bool
}

// checkExport exports every class and compares each row with the books.
func (r *rig) checkExport() census {
	t := r.t
	t.Helper()
	r.eyrie(0, "export", "job.yaml", "--out", "rows", "--include", "engine,logprobs,counted,retokenised,mismatch", "--force")
	books := map[string]bookEntry{}
	for _, e := range lines[bookEntry](t, filepath.Join(r.dir, "books.jsonl")) {
		if e.ID != "" {
			books[e.ID] = e
		}
	}
	c := census{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}}
	for _, s := range r.sets {
		r.checkSet(s.name, books, &c)
	}
	return c
}

func (r *rig) checkSet(set string, books map[string]bookEntry, c *census) {
	t := r.t
	t.Helper()
	dir := filepath.Join(r.dir, "rows", set)
	rows := lines[trainRow](t, filepath.Join(dir, "train.jsonl"))
	meta := lines[metaRow](t, filepath.Join(dir, "meta.jsonl"))
	if len(rows) != len(meta) {
		t.Fatalf("%s: %d rows and %d lines of meta", set, len(rows), len(meta))
	}
	if refused := lines[json.RawMessage](t, filepath.Join(dir, "refused.jsonl")); len(refused) > 0 {
		t.Errorf("%s: %d rows were refused although every class was asked for: %s", set, len(refused), refused[0])
	}
	for i, row := range rows {
		m := meta[i]
		if row.ID != m.ID || len(row.InputIDs) != len(row.LossMask) {
			t.Fatalf("%s: row %d: id %q beside %q, %d ids and a mask of %d", set, i, row.ID, m.ID, len(row.InputIDs), len(row.LossMask))
		}
		if c.keys[m.Key] {
			t.Errorf("%s: generation %s is there twice", set, m.Key)
		}
		c.keys[m.Key] = true
		truth, ok := books[m.GenerationID]
		if !ok {
			t.Fatalf("%s: row %s: the vendor has no generation %q", set, row.ID, m.GenerationID)
		}
		if truth.Endpoint != m.Lane || truth.Cost != dollars(t, m.Cost) {
			t.Errorf("%s: row %s: from %s for %s; the books say %s for %d", set, row.ID, m.Lane, m.Cost, truth.Endpoint, truth.Cost)
		}
		prompt := len(row.LossMask) - sum(row.LossMask)
		c.rows[m.Known]++
		if !truth.Canonical {
			c.noncanonical[m.Known]++
		}
		switch {
		case !slices.Equal(row.InputIDs, slices.Concat(truth.PromptIDs, truth.CompletionIDs)):
			c.wrong[m.Known]++
			certified := m.Known == "engine" || m.Known == "logprobs" || m.Known == "counted"
			sameLength := len(row.InputIDs) == len(truth.PromptIDs)+len(truth.CompletionIDs)
			if certified && (truth.Canonical || !sameLength) {
				t.Errorf("%s: row %s is labelled %s and is not what was generated (canonical %v, %d ids of %d)",
					set, row.ID, m.Known, truth.Canonical, len(row.InputIDs), len(truth.PromptIDs)+len(truth.CompletionIDs))
			}
		case prompt != len(truth.PromptIDs) || slices.Contains(row.LossMask[:prompt], 1) || slices.Contains(row.LossMask[prompt:], 0):
			t.Errorf("%s: row %s: the mask does not begin with the completion", set, row.ID)
		default:
			c.exact[m.Known]++
		}
	}
}

func sum(mask []int) (n int) {
	for _, v := range mask {
		n += v
	}
	return n
}

// checkMoney compares ledger, journal and books.
func (r *rig) checkMoney(budget string) {
	t := r.t
	t.Helper()
	s, books := r.status(), r.totals()
	if got := dollars(t, s.Spent); got != books.Spend {
		t.Errorf("the ledger says %d picodollars were spent, the books %d", got, books.Spend)
	}
	if held := dollars(t, s.InFlight) + dollars(t, s.Unbilled); held != 0 {
		t.Errorf("%d picodollars are still held", held)
	}
	r.checkBudget(budget)
}

// checkBudget holds at any moment: the vendor has not billed more than the
// budget.
func (r *rig) checkBudget(budget string) {
	r.t.Helper()
	if spent, limit := r.totals().Spend, dollars(r.t, budget); spent > limit {
		r.t.Fatalf("the vendor billed %d picodollars, the budget is %d", spent, limit)
	}
}

// checkKey looks for the API key in everything the program wrote.
func (r *rig) checkKey() {
	r.t.Helper()
	if strings.Contains(r.output, key) {
		r.t.Error("the key was printed")
	}
	for _, dir := range []string{"run", "rows"} {
		err := fs.WalkDir(os.DirFS(filepath.Join(r.dir, dir)), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(filepath.Join(r.dir, dir, path))
			if strings.Contains(string(b), key) {
				r.t.Errorf("the key is in %s/%s", dir, path)
			}
			return err
		})
		if err != nil {
			r.t.Error(err)
		}
	}
}

// checkComplete holds at the end of a job that ran out of prompts: every
// conversation is there up to its end.
func (r *rig) checkComplete() int {
	t := r.t
	t.Helper()
	total := 0
	for _, s := range r.sets {
		type turn struct {
			prompt string
			turn   int
		}
		have := map[turn]metaRow{}
		prompts := map[string]bool{}
		for _, m := range lines[metaRow](t, filepath.Join(r.dir, "rows", s.name, "meta.jsonl")) {
			have[turn{m.Prompt, m.Turn}] = m
			prompts[m.Prompt] = true
			total++
		}
		if len(prompts) != len(s.prompts) {
			t.Errorf("%s: %d of %d prompts have an answer", s.name, len(prompts), len(s.prompts))
		}
		if s.name != "chat" {
			continue
		}
		for k, m := range have {
			_, next := have[turn{k.prompt, k.turn + 1}]
			if k.turn == 0 && next != (m.Finish == "stop") {
				t.Errorf("%s: prompt %s ended with %q and its second turn is there: %v", s.name, k.prompt, m.Finish, next)
			}
		}
	}
	return total
}
