package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/tokens"
)

type explainFlags struct {
	tokenizer, ids, dataset, color string
	confident                      float64
	json                           bool
}

func (a *app) explainCmd() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain RUN ID",
		Short: "Say why a row has the class it has",
		Long: `explain makes one row of a run again and shows how: what was counted beside what
was billed, what the lane's answers told about the lane, and every way in which
the answer was read. RUN is a run folder or a job file. ID is a row's id, as in
meta.jsonl and refused.jsonl, or its key.

Where true ids are known, from the engine or from the file that --ids names, the
first piece that differs is shown side by side with the true one. The file holds
JSON lines {"id":…,"ids":[…]}, where id is the row's id, its key or the vendor's
generation id, and ids are those of the whole row or of its completion alone; a
train.jsonl and the books of eyrie emulate will do.

With --json all of this is one line of JSON a row, every reading with it. A count
that is not known is left out.`,
		Example: `  eyrie tokens explain runs/first code-0001/t0/s0
  eyrie tokens explain job.yaml 5f0c1a52f3f0b9a1c7d0a4be7cf4a9e2 --ids books.jsonl
  eyrie tokens explain runs/first code-0001/t0/s0 --json | jq .readings[0]`,
		Args: exactArgs("RUN", "ID"),
		RunE: func(_ *cobra.Command, args []string) error { return a.explain(args[0], args[1], f) },
	}
	cmd.Flags().StringVar(&f.tokenizer, "tokenizer", "", "the model folder (default the one the run used)")
	cmd.Flags().StringVar(&f.ids, "ids", "", "a file of true ids to compare with")
	cmd.Flags().StringVar(&f.dataset, "dataset", "", "the data set, where several have the id (default all)")
	cmd.Flags().StringVar(&f.color, "color", "auto", colorHelp)
	cmd.Flags().BoolVar(&f.json, "json", false, "print a line of JSON for each row")
	cmd.Flags().Float64Var(&f.confident, "confident", tokens.Confidence, "how sure a row of text must be to be certified, as for eyrie export")
	return cmd
}

func (a *app) explain(run, id string, f explainFlags) error {
	if err := checkConfident(f.confident); err != nil {
		return err
	}
	paint, err := a.painter(f.color)
	if err != nil {
		return err
	}
	root, _, model, err := a.findRunModel(run, f.tokenizer)
	if err != nil {
		return err
	}
	defer root.Close()
	h, err := harvest.Open(root)
	if err != nil {
		return err
	}
	e := explainer{a.stdout, columns(a.stdout), paint, h, model, f}
	found := 0
	for it, err := range h.Find(id) {
		if err != nil {
			return err
		}
		if f.dataset != "" && it.Generation.Set != f.dataset {
			continue
		}
		if found++; found > 1 && !f.json {
			fmt.Fprintln(a.stdout)
		}
		if err := e.explain(it); err != nil {
			return err
		}
	}
	if found == 0 {
		return &exitError{exitConfig, fmt.Errorf("%s: no accepted answer with the id %s; ids are like code-0001/t0/s0, or keys of 32 hex digits, as in meta.jsonl and refused.jsonl", run, id)}
	}
	return nil
}

// explainer explains rows of one run.
type explainer struct {
	w     io.Writer
	width int // of the terminal; 0 is none
	paint painter
	h     *harvest.Harvest
	model *modelFolder
	flags explainFlags
}

func (x *explainer) explain(it *harvest.Item) error {
	if it.Err != nil && it.Record.Drop == "" {
		return fmt.Errorf("%s has no row: %w", it.ID(), it.Err)
	}
	name := it.Record.Lane
	lanes, err := surveyLanes(x.h, x.model.rebuilder.Confident(x.flags.confident), []string{name})
	if err != nil {
		return err
	}
	lane := lanes[name]
	exp, err := lane.r.Explain(&it.Generation, bool(it.Sampling.Thinking), it.Record.Answer())
	if err != nil {
		return fmt.Errorf("%s has no row: %w", it.ID(), err)
	}
	it.Doubt(&exp.Row)
	compared, err := x.compare(it, exp, lane.r)
	if err != nil {
		return err
	}
	if x.flags.json {
		return printJSON(x.w, x.line(it, exp, lane, compared))
	}
	x.printHead(it, exp, lane)
	x.printCounts(exp)
	x.printReadings(exp.Readings)
	for i := range compared {
		x.printDifference(&compared[i])
	}
	return nil
}

// reason says in words why a row has its class.
func reason(row *eyrie.Row) string { return cmpOr(row.Reason, classWords(row.Known)) }

func (x *explainer) printHead(it *harvest.Item, e *tokens.Explanation, lane *surveyedLane) {
	class := x.paint.paint(red, e.Row.Known.String())
	if e.Row.Known.Certified() {
		class = x.paint.paint(green, e.Row.Known.String())
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "row\t%s of set %s\n", it.ID(), it.Generation.Set)
	fmt.Fprintf(w, "key\t%s\n", it.Generation.Key)
	fmt.Fprintf(w, "answer\t%s on %s, finish reason %s\n", cmpOr(it.Record.ID, "without an id"), it.Record.Lane, it.Record.FinishReason)
	fmt.Fprintf(w, "class\t%s\n", class)
	fmt.Fprintf(w, "reason\t%s\n", reason(&e.Row))
	if it.Err != nil {
		fmt.Fprintf(w, "exported\tno: %v\n", it.Err)
	}
	fmt.Fprintf(w, "lane\t%s\n", lane.words())
	w.Flush()
	hang(x.w, table.String(), strings.Index(table.String(), it.ID()), x.width)
}

// classWords say why a row has a class when nothing stood in the way.
func classWords(k eyrie.Known) string {
	switch k {
	case eyrie.KnownEngine:
		return "the server returned the ids, and they spell the answer"
	case eyrie.KnownLogprobs:
		return "the server named the tokens by their bytes, which spell the answer, and their number is the one billed"
	case eyrie.KnownCounted:
		return "the counts are those of the bill, and one reading is likelier than all others"
	}
	return "none is given"
}

// words say what a survey found.
func (l *surveyedLane) words() string {
	if l.answers == 0 {
		return "none of its answers tells how it works"
	}
	var parts []string
	notable := l.habits.Notable()
	for _, a := range slices.Sorted(maps.Keys(notable)) {
		parts = append(parts, fmt.Sprintf("%s in %.1f %%", a, 100*notable[a]))
	}
	return fmt.Sprintf("%d answers surveyed: %s", l.answers, cmpOr(strings.Join(parts, "; "), "nothing unusual"))
}

func (x *explainer) printCounts(e *tokens.Explanation) {
	w := tabwriter.NewWriter(x.w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "\nTOKENS\tOURS\tBILLED\t\n")
	for _, part := range []struct {
		name  string
		count tokens.Count
	}{{"prompt", e.Prompt}, {"completion", e.Completion}, {"of it reasoning", e.Reasoning}} {
		c, diff := part.count, ""
		if c.Ours >= 0 && c.Billed >= 0 && c.Ours != c.Billed {
			diff = fmt.Sprintf("%+d", c.Billed-c.Ours)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", part.name, countWord(c.Ours), countWord(c.Billed), diff)
	}
	w.Flush()
}

func countWord(n int) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// shownReadings is how many readings are listed.
const shownReadings = 20

func (x *explainer) printReadings(readings []tokens.Reading) {
	if len(readings) == 0 {
		return
	}
	fits := 0
	for _, rd := range readings {
		if rd.Fits {
			fits++
		}
	}
	fmt.Fprintf(x.w, "\n%d readings tried, %d fit the bill\n", len(readings), fits)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "CHANCE\tTOKENS\tREASONING\tASSUMES\n")
	for _, rd := range readings[:min(len(readings), shownReadings)] {
		chance, assumed := "-", "nothing: the answer as it came"
		if rd.Fits {
			chance = fmt.Sprintf("%.4f", rd.Chance)
		}
		if len(rd.Assumed) > 0 {
			words := make([]string, len(rd.Assumed))
			for i, a := range rd.Assumed {
				words[i] = a.String()
			}
			assumed = strings.Join(words, " and ")
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", chance, rd.Tokens, rd.Reasoning, assumed)
	}
	w.Flush()
	hang(x.w, table.String(), strings.Index(table.String(), "ASSUMES"), x.width)
	if more := len(readings) - shownReadings; more > 0 {
		fmt.Fprintf(x.w, "and %d more\n", more)
	}
}

// comparison is a part of a row beside ids that are known from elsewhere.
type comparison struct {
	part, source string
	ours, truth  []int32
}

// first is where the two part; it is false where they are the same.
func (c *comparison) first() (at int, ok bool) {
	for at < min(len(c.ours), len(c.truth)) && c.ours[at] == c.truth[at] {
		at++
	}
	return at, at < max(len(c.ours), len(c.truth))
}

// compare lays the row beside ids that are known from elsewhere, if any are.
func (x *explainer) compare(it *harvest.Item, e *tokens.Explanation, r *tokens.Rebuilder) ([]comparison, error) {
	ours, truth, source := e.Row, eyrie.Row{}, ""
	switch {
	case x.flags.ids != "":
		ids, err := readTrueIDs(x.flags.ids, it.ID(), it.Generation.Key.String(), it.Record.ID)
		if err != nil {
			return nil, err
		}
		truth, source = ids.row(&ours), x.flags.ids
	case len(it.Record.CompletionIDs) > 0:
		// The text is read as if the engine had kept its ids to itself.
		answer := it.Record.Answer()
		truth, source = eyrie.Row{PromptIDs: answer.PromptIDs, CompletionIDs: answer.CompletionIDs}, "the engine"
		answer.PromptIDs, answer.CompletionIDs = nil, nil
		var err error
		if ours, err = r.Row(&it.Generation, bool(it.Sampling.Thinking), answer); err != nil {
			return nil, err
		}
	}
	var out []comparison
	for _, c := range []comparison{
		{"prompt", source, ours.PromptIDs, truth.PromptIDs},
		{"completion", source, ours.CompletionIDs, truth.CompletionIDs},
	} {
		if c.truth != nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// row brings the ids of a line into the parts of a row. ids of a whole row begin
// as the prompt does, with a control token that no completion begins with.
func (t *trueIDs) row(ours *eyrie.Row) eyrie.Row {
	all := t.IDs
	if all == nil {
		all = t.InputIDs
	}
	n := len(ours.PromptIDs)
	switch {
	case all == nil:
		return eyrie.Row{PromptIDs: t.PromptIDs, CompletionIDs: t.CompletionIDs}
	case len(all) > n && n > 0 && all[0] == ours.PromptIDs[0]:
		return eyrie.Row{PromptIDs: all[:n], CompletionIDs: all[n:]}
	}
	return eyrie.Row{CompletionIDs: all}
}

// nearby is how many pieces are shown before and after the first difference.
const nearby = 3

func (x *explainer) printDifference(c *comparison) {
	at, differ := c.first()
	if !differ {
		fmt.Fprintf(x.w, "\n%s: all %d ids are those of %s\n", c.part, at, c.source)
		return
	}
	fmt.Fprintf(x.w, "\n%s: differs from %s at token %d (%d ids ours, %d theirs)\n", c.part, c.source, at, len(c.ours), len(c.truth))
	t := pieceTable{x.paint, x.model.tokenizer, x.w}
	w := tabwriter.NewWriter(x.w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "  TOKEN\tOURS\t\tTHEIRS\t\n")
	for i := max(0, at-nearby); i < min(at+nearby+1, max(len(c.ours), len(c.truth))); i++ {
		mark := " "
		if i == at {
			mark = ">"
		}
		fmt.Fprintf(w, "%s %d\t%s\t%s\n", mark, i, t.cell(c.ours, i), t.cell(c.truth, i))
	}
	w.Flush()
}

// cell is an id and its piece; past the end there is nothing.
func (t *pieceTable) cell(ids []int32, i int) string {
	if i >= len(ids) {
		return "-\t"
	}
	plain := pieceTable{painter{}, t.tok, t.w} // escapes would upset the columns
	return fmt.Sprintf("%d\t%s", ids[i], plain.piece(ids[i], false))
}
