package tokens_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

var (
	answers = flag.Int("answers", 3000, "how many emulated answers TestCertificates measures")
	padding = flag.Float64("padding", 0.03, "share of control tokens beside which the emulated model leaves white space")
	learned = flag.Bool("habits", false, "print what the surveys found")
)

// tally counts the rows of one server.
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
	if s.split == canonical {
		tl.canonical++
		if row.Known.Certified() {
			tl.certified++
		}
	}
	if row.Known.Certified() && !exact {
		tl.causes[s.cause(row)]++
	}
}

// cause says what let a wrong row pass.
func (s *sample) cause(row eyrie.Row) string {
	assumed := ""
	if row.Reason != "" {
		assumed = ", assumed"
	}
	switch {
	case s.split == longer:
		return "longer split" + assumed
	case s.split == equallyLong:
		return "equal split" + assumed
	case s.lost:
		return "trimmed" + assumed
	}
	return "other" + assumed
}

// found is the share of canonical rows that were certified.
func (tl *tally) found() float64 { return float64(tl.certified) / float64(tl.canonical) }

// wrong is the share of certified rows that are false.
func (tl *tally) wrong() float64 {
	counted := tl.class[eyrie.KnownCounted]
	return float64(counted-tl.exact[eyrie.KnownCounted]) / float64(max(counted, 1))
}

func (tl *tally) print(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d", name, tl.rows)
	for _, k := range []eyrie.Known{eyrie.KnownCounted, eyrie.KnownRetokenised, eyrie.KnownMismatch} {
		fmt.Fprintf(w, "\t%d\t%d", tl.class[k], tl.exact[k])
	}
	fmt.Fprintf(w, "\t%.2f %%\t%.2f %%\t%v\n", 100*tl.found(), 100*tl.wrong(), tl.causes)
}

// TestCertificates measures, for servers of many habits, how many rows get into
// each class, how many of them are exact, and what the false certificates come
// from. It prints the table with -v; -answers 100000 makes the shares firm.
func TestCertificates(t *testing.T) {
	p := newPopulation(t, 7)
	p.padding = *padding
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "server\tpolicy\trows\tcounted\texact\tretokenised\texact\tmismatch\texact\tcanonical rows certified\tfalse certificates\tcauses")
	for _, sv := range servers {
		samples := make([]sample, *answers/len(servers))
		survey := p.rebuild.Survey()
		for i := range samples {
			samples[i] = p.sample(t, sv)
			survey.Add(samples[i].generation, samples[i].thinking, samples[i].answer)
		}
		habits := survey.Habits()
		if *learned {
			printHabits(w, sv.name, habits)
		}
		tallies := map[string]*tally{}
		for _, policy := range []struct {
			name string
			r    *tokens.Rebuilder
		}{
			{"no survey", p.rebuild},
			{"survey", p.rebuild.With(habits)},
			{"survey, 0.5", p.rebuild.With(habits).Confident(0.5)},
		} {
			tl := newTally()
			for i := range samples {
				s := &samples[i]
				row, err := policy.r.Row(s.generation, s.thinking, s.answer)
				if err != nil {
					t.Fatal(err)
				}
				tl.add(s, row)
			}
			tl.print(w, sv.name+"\t"+policy.name)
			tallies[policy.name] = tl
		}
		sv.judge(t, tallies)
	}
	w.Flush()
	t.Log("\n" + table.String())
}

func printHabits(w *tabwriter.Writer, server string, habits tokens.Habits) {
	for _, a := range slices.Sorted(maps.Keys(habits)) {
		if habits[a] > 0.002 {
			fmt.Fprintf(w, "%s\t%v: %.4f\n", server, a, habits[a])
		}
	}
}

// judge holds a server's tallies against what certificates promise. Without a
// survey, only what no count can tell may pass: a split of the same length,
// and white space that makes no difference. With one, what the server does to
// every answer is found out.
func (sv server) judge(t *testing.T, tallies map[string]*tally) {
	t.Helper()
	plain, surveyed, easy := tallies["no survey"], tallies["survey"], tallies["survey, 0.5"]
	switch {
	case sv.miscounts:
		if surveyed.wrong() > 0.01 {
			t.Errorf("%s: %.2f %% of the certificates are false", sv.name, 100*surveyed.wrong())
		}
	case sv.trimReason || sv.trimContent:
		if easy.found() < 0.9 {
			t.Errorf("%s: only %.2f %% of the canonical rows are certified", sv.name, 100*easy.found())
		}
		if surveyed.wrong() > plain.wrong()+0.005 {
			t.Errorf("%s: a survey made certificates worse: %.2f %% false, before %.2f %%", sv.name, 100*surveyed.wrong(), 100*plain.wrong())
		}
	default:
		if surveyed.found() < 0.97 {
			t.Errorf("%s: only %.2f %% of the canonical rows are certified", sv.name, 100*surveyed.found())
		}
		if surveyed.wrong() > 0.01 {
			t.Errorf("%s: %.2f %% of the certificates are false", sv.name, 100*surveyed.wrong())
		}
	}
	if sv.noEnd || sv.miscounts {
		return // where counts are wrong, a longer split may have the plain one's
	}
	// An answer cut short can be two coincidences at once: a longer split, and
	// a cut inside a token that makes up for it.
	few := 1 + plain.rows/2000
	for cause, n := range plain.causes {
		if cause != "equal split" && cause != "trimmed" && n > few {
			t.Errorf("%s: %d false certificates from: %s", sv.name, n, cause)
		}
	}
}
