package tokens_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

var (
	answers = flag.Int("answers", 4200, "how many emulated answers TestCertificates measures")
	padding = flag.Float64("padding", 0.03, "share of control tokens beside which the emulated model leaves white space")
	only    = flag.String("only", "", "measure only servers with this in their name")
	learned = flag.Bool("habits", false, "print what the surveys found")
)

const (
	// surveyed is how many answers of a server are surveyed, as for an export.
	surveyed = 2000
	// batch is how many answers are made at once.
	batch = 1000
)

// source makes the answers of one server, batch by batch. The same number gives
// the same batch, so that answers need not be kept between two passes.
type source func(t testing.TB, number, size int) []sample

// policy is a way of making rows.
type policy struct {
	name string
	r    *tokens.Rebuilder
}

// policies are what TestCertificates compares, by what a survey found.
func policies(r *tokens.Rebuilder, h tokens.Habits) []policy {
	return []policy{
		{"no survey", r},
		{"survey", r.With(h)},
		{"survey, 0.5", r.With(h).Confident(0.5)},
	}
}

// tally counts rows.
type tally struct {
	rows      int
	class     map[eyrie.Known]int
	exact     map[eyrie.Known]int
	canonical int            // rows whose ids were canonical
	certified int            // of them, those that were certified
	causes    map[string]int // of false certificates
}

func newTally() *tally {
	return &tally{class: map[eyrie.Known]int{}, exact: map[eyrie.Known]int{}, causes: map[string]int{}}
}

func (tl *tally) add(s *sample, row eyrie.Row) {
	exact := slices.Equal(row.PromptIDs, s.prompt) && slices.Equal(row.CompletionIDs, s.completion)
	tl.rows++
	tl.class[row.Known]++
	if exact {
		tl.exact[row.Known]++
	}
	if s.canonical {
		tl.canonical++
		if row.Known.Certified() {
			tl.certified++
		}
	}
	if row.Known.Certified() && !exact {
		tl.causes[s.cause(row)]++
	}
}

// merge adds the counts of another tally.
func (tl *tally) merge(o *tally) {
	tl.rows += o.rows
	tl.canonical += o.canonical
	tl.certified += o.certified
	for k, n := range o.class {
		tl.class[k] += n
	}
	for k, n := range o.exact {
		tl.exact[k] += n
	}
	for c, n := range o.causes {
		tl.causes[c] += n
	}
}

// The causes of false certificates.
const (
	causePrompt = "prompt"
	causeTrim   = "trimmed"      // white space that makes no difference to the count
	causeEqual  = "equal split"  // other tokens, but as many
	causeLonger = "longer split" // more tokens, and something that hides it
	causeCut    = "cut short"    // the text before the cut splits otherwise without what followed
	causeBill   = "wrong bill"
	causeOther  = "other"
)

// cause says what let a wrong row pass.
func (s *sample) cause(row eyrie.Row) string {
	cause := causeOther
	assumed := strings.Contains(row.Reason, "assuming ")
	switch {
	case !slices.Equal(row.PromptIDs, s.prompt):
		cause = causePrompt
	case s.lost:
		cause = causeTrim
	case !s.canonical && !assumed && len(row.CompletionIDs) == len(s.completion):
		cause = causeEqual
	case !s.canonical:
		cause = causeLonger
	case s.answer.FinishReason == eyrie.FinishLength:
		cause = causeCut
	case s.answer.Usage.CompletionTokens != len(s.completion):
		cause = causeBill
	}
	if assumed {
		cause += ", assumed"
	}
	return cause
}

// found is the share of canonical rows that were certified.
func (tl *tally) found() float64 { return float64(tl.certified) / float64(max(tl.canonical, 1)) }

// falseRows counts the rows of a class that are not what was generated.
func (tl *tally) falseRows(k eyrie.Known) int { return tl.class[k] - tl.exact[k] }

// wrong is the share of counted rows that are false.
func (tl *tally) wrong() float64 {
	return float64(tl.falseRows(eyrie.KnownCounted)) / float64(max(tl.class[eyrie.KnownCounted], 1))
}

// overdone reports whether more counted rows are false than the share allows.
func (tl *tally) overdone(share float64) bool {
	return more(tl.falseRows(eyrie.KnownCounted), share, tl.class[eyrie.KnownCounted])
}

// underdone reports whether fewer canonical rows are certified than the share asks.
func (tl *tally) underdone(share float64) bool {
	return more(tl.canonical-tl.certified, 1-share, tl.canonical)
}

// more reports whether n is more than the share of all, with room for chance
// where there are few.
func more(n int, share float64, all int) bool {
	most := share * float64(all)
	return float64(n) > most+3*math.Sqrt(most)
}

var shownClasses = []eyrie.Known{eyrie.KnownEngine, eyrie.KnownLogprobs, eyrie.KnownCounted, eyrie.KnownRetokenised, eyrie.KnownMismatch}

const tableHead = "server\tpolicy\trows\tengine\texact\tlogprobs\texact\tcounted\texact\tretokenised\texact\tmismatch\texact\tcanonical rows certified\tfalse of counted\tcauses"

func (tl *tally) print(w *tabwriter.Writer, server, policy string) {
	fmt.Fprintf(w, "%s\t%s\t%d", server, policy, tl.rows)
	for _, k := range shownClasses {
		fmt.Fprintf(w, "\t%d\t%d", tl.class[k], tl.exact[k])
	}
	var causes []string
	for _, c := range slices.Sorted(maps.Keys(tl.causes)) {
		causes = append(causes, fmt.Sprintf("%s %d", c, tl.causes[c]))
	}
	fmt.Fprintf(w, "\t%.2f %%\t%.3f %%\t%s\n", 100*tl.found(), 100*tl.wrong(), strings.Join(causes, "; "))
}

// measure surveys a server and makes n rows by each policy. Every answer is
// made twice rather than kept.
func measure(t *testing.T, r *tokens.Rebuilder, src source, n int) (tokens.Habits, []*tally) {
	t.Helper()
	survey := r.Survey()
	each(t, src, min(n, surveyed), func(s *sample) { survey.Add(s.generation, s.thinking, s.answer) })
	habits := survey.Habits()
	ways := policies(r, habits)
	sums := make([]*tally, len(ways))
	for i := range sums {
		sums[i] = newTally()
	}
	var mu sync.Mutex // guards sums
	each(t, src, n, func(s *sample) {
		for i, way := range ways {
			row, err := way.r.Row(s.generation, s.thinking, s.answer)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			sums[i].add(s, row)
			mu.Unlock()
		}
	})
	return habits, sums
}

// each hands n answers of a source to use, on several goroutines.
func each(t *testing.T, src source, n int, use func(*sample)) {
	t.Helper()
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range numbers {
				samples := src(t, i, min(batch, n-i*batch))
				for j := range samples {
					use(&samples[j])
				}
			}
		})
	}
	for i := range (n + batch - 1) / batch {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
}

// report prints the tables of several servers.
type report struct {
	table strings.Builder
	w     *tabwriter.Writer
	names []string // of the policies
	sums  []*tally
}

func newReport() *report {
	p := &report{}
	p.w = tabwriter.NewWriter(&p.table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(p.w, tableHead)
	for _, way := range policies(&tokens.Rebuilder{}, nil) {
		p.names = append(p.names, way.name)
		p.sums = append(p.sums, newTally())
	}
	return p
}

func (p *report) add(server string, habits tokens.Habits, tallies []*tally) {
	for i, tl := range tallies {
		tl.print(p.w, server, p.names[i])
		p.sums[i].merge(tl)
	}
	if !*learned {
		return
	}
	for _, a := range slices.Sorted(maps.Keys(habits)) {
		if habits[a] > 0.002 {
			fmt.Fprintf(p.w, "%s\t%v: %.4f\n", server, a, habits[a])
		}
	}
}

func (p *report) log(t *testing.T) {
	t.Helper()
	for i, tl := range p.sums {
		tl.print(p.w, "all", p.names[i])
	}
	p.w.Flush()
	t.Log("\n" + p.table.String())
}

// TestCertificates measures, for servers of many habits, how many rows get into
// each class, how many of them are exact, and what the false certificates come
// from. It prints the table with -v; make proof-tokens does it for a million.
func TestCertificates(t *testing.T) {
	p := newPopulation(t, 7)
	p.padding = *padding
	out := newReport()
	for i, sv := range servers {
		if !strings.Contains(sv.name, *only) {
			continue
		}
		src := func(t testing.TB, number, size int) []sample {
			q := p.from(7, uint64(i)<<32|uint64(number))
			samples := make([]sample, size)
			for j := range samples {
				samples[j] = q.sample(t, sv)
			}
			return samples
		}
		habits, tallies := measure(t, p.rebuild, src, max(1, *answers/len(servers)))
		out.add(sv.name, habits, tallies)
		sv.judge(t, tallies[0], tallies[1], tallies[2])
	}
	out.log(t)
}

// judge holds a server's tallies against what certificates promise. Ids that a
// server returns are never wrong, and neither are those made from bytes of
// tokens, however it gets those wrong. Without a survey, only what no count can tell
// may pass: a split of the same length, and white space that makes no
// difference. With one, what the server does to every answer is found out.
func (sv server) judge(t *testing.T, plain, surveyed, easy *tally) {
	t.Helper()
	for _, tl := range []*tally{plain, surveyed, easy} {
		if n := tl.falseRows(eyrie.KnownEngine); n > 0 {
			t.Errorf("%s: %d rows are labelled engine and are not what was generated", sv.name, n)
		}
		if n := tl.falseRows(eyrie.KnownLogprobs); n > 0 {
			t.Errorf("%s: %d rows are labelled logprobs and are not what was generated", sv.name, n)
		}
	}
	switch {
	case sv.ids == lossyIDs:
		return
	case sv.ids != noIDs:
		if n := plain.rows - plain.class[eyrie.KnownEngine]; n > 0 {
			t.Errorf("%s: %d rows are not labelled engine", sv.name, n)
		}
	case sv.names == byBytes || sv.names == noEndName:
		// A few could be text in the place of bytes, for all that an answer tells.
		if n := plain.rows - plain.class[eyrie.KnownLogprobs]; more(n, 0.001, plain.rows) {
			t.Errorf("%s: %d rows are not labelled logprobs", sv.name, n)
		}
	case sv.miscounts:
		if surveyed.overdone(0.01) {
			t.Errorf("%s: %.2f %% of the certificates are false", sv.name, 100*surveyed.wrong())
		}
	case sv.trimReason || sv.trimContent:
		if easy.underdone(0.9) {
			t.Errorf("%s: only %.2f %% of the canonical rows are certified", sv.name, 100*easy.found())
		}
		if surveyed.overdone(plain.wrong() + 0.005) {
			t.Errorf("%s: a survey made certificates worse: %.2f %% false, before %.2f %%", sv.name, 100*surveyed.wrong(), 100*plain.wrong())
		}
	case sv.repeatsIDs: // of answers with several calls none is certified
		if surveyed.overdone(0.01) {
			t.Errorf("%s: %.2f %% of the certificates are false", sv.name, 100*surveyed.wrong())
		}
	default:
		if surveyed.underdone(0.97) {
			t.Errorf("%s: only %.2f %% of the canonical rows are certified", sv.name, 100*surveyed.found())
		}
		if surveyed.overdone(0.01) {
			t.Errorf("%s: %.2f %% of the certificates are false", sv.name, 100*surveyed.wrong())
		}
	}
	if sv.noEnd || sv.miscounts {
		return // where counts are wrong, a longer split may have the plain one's
	}
	// Two coincidences at once are rare: a longer split, and a cut inside a token
	// that makes up for it.
	few := 1 + plain.rows/2000
	for cause, n := range plain.causes {
		if cause != causeEqual && cause != causeTrim && n > few {
			t.Errorf("%s: %d false certificates from: %s", sv.name, n, cause)
		}
	}
}
