package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/route"
)

// print shows a plan to a person.
func (p *planned) print(w io.Writer) {
	p.printSets(w)
	fmt.Fprintln(w)
	printLanes(w, p.s.ordered())
	fmt.Fprintln(w)
	p.printWork(w)
	p.printMoney(w)
	p.printTime(w)
	p.printChanges(w)
	p.printPast(w)
}

func (p *planned) printSets(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DATA SET\tHAVE\tTARGET\tTO GO\tANSWERS\tPROMPT\tOUTPUT\tFROM\tLOW\tEXPECTED\tWORST\tWILL HAVE\n")
	for _, x := range p.Sets {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\n", x.Name, short(x.Have), short(x.Target), short(x.ToGo),
			x.Needed, x.PromptTokens, x.OutputTokens, x.Source, x.Low.Cents(), x.Expected.Cents(), x.Worst.Cents(), short(x.Have+x.InBudget))
	}
	t.Flush()
	printBeyond(w, p.Forecast)
	printTooLong(w, p.Forecast)
	for _, x := range p.Sets {
		if x.Cut >= 0.001 {
			fmt.Fprintf(w, "%s: of its answers %.1f%% are taken to be cut off at %d tokens and asked for again, as on_length says; that is in the figures\n", x.Name, 100*x.Cut, p.MaxTokens)
		}
		if x.Seeded > 0 {
			fmt.Fprintf(w, "%s: %s of what it has come from seed_from\n", x.Name, short(x.Seeded))
		}
		if x.Short > 0 {
			fmt.Fprintf(w, "%s: its prompts give %s tokens less than the target; add prompts or samples\n", x.Name, short(x.Short))
		}
	}
}

// printBeyond says which targets are below what is there by more than answers
// under way bring at the end of a run.
func printBeyond(w io.Writer, f *plan.Forecast) {
	for _, x := range f.Sets {
		if over := x.Have - x.Target; over > x.Target/20 {
			fmt.Fprintf(w, "%s: its target of %s is met, with %s more than that; nothing is asked for it below %s\n",
				x.Name, short(x.Target), short(over), short(x.Have))
		}
	}
}

// printTooLong says which sets have prompts that no lane takes.
func printTooLong(w io.Writer, f *plan.Forecast) {
	for _, x := range f.Sets {
		if x.TooLong > 0 {
			fmt.Fprintf(w, "%s: %d answers cannot be had: no lane takes a prompt of more than %d tokens beside an answer of up to %d; allow lanes with a longer context, lower max_tokens, or leave such prompts out (keep: {max_tokens: …})\n",
				x.Name, x.TooLong, max(0, x.LongestPrompt), f.MaxTokens)
		}
	}
}

// printWork shows what each lane that takes part will do.
func (p *planned) printWork(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "WORK\tAT ONCE\tHOLDS EACH\tTOK/S EACH\tFROM\tTOK/S\tTOKENS\tMONEY\tTIME\n")
	for i := range p.Lanes {
		l := &p.Lanes[i]
		if l.AtOnce == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\n", l.Lane.Tag, l.AtOnce, fine(l.Hold), l.Speed, l.Source,
			short(int64(l.Rate)), short(l.Tokens), l.Expected.Cents(), rough(l.Works))
	}
	t.Flush()
	fmt.Fprintln(w)
}

func (p *planned) printMoney(w io.Writer) {
	fmt.Fprintf(w, "expected %s (%s with every prompt cached, %s at the dearest lane); %s left of %s\n",
		p.Expected.Cents(), p.Low.Cents(), p.Worst.Cents(), p.Left.Cents(), p.s.job.Budget.Cents())
	if p.Made > 0 && p.Bought > 0 {
		fmt.Fprintf(w, "%s bought, %s made on lanes that cost nothing\n", short(p.Bought), short(p.Made))
	}
	switch {
	case p.Affordable():
	case p.Fit == plan.FitFail:
		fmt.Fprintf(w, "the budget is %s short: it buys about %s of %s tokens. Raise it, lower the targets, say with fit which sets give way, or run with --partial\n",
			p.Missing().Cents(), short(p.Tokens), short(p.ToGo))
	default:
		fmt.Fprintf(w, "the budget is %s short: it buys about %s of %s tokens, and by fit: %s the sets end as shown\n",
			p.Missing().Cents(), short(p.Tokens), short(p.ToGo), p.Fit)
	}
}

// bindings say what keeps the number of requests in flight where it is.
var bindings = map[plan.Binding]string{
	plan.BindsConcurrency: "concurrency allows no more",
	plan.BindsMoney:       "the money left allows no more, as each holds ",
	plan.BindsLanes:       "the lanes took no more so far",
}

func (p *planned) binding() string {
	if p.Binds == plan.BindsMoney {
		return bindings[p.Binds] + heldEach[p.s.hold()]
	}
	return bindings[p.Binds]
}

func (p *planned) printTime(w io.Writer) {
	if p.ToGo == 0 {
		return
	}
	fmt.Fprintf(w, "in flight %d of %d, which hold %s: %s\n", p.InFlight, p.s.job.Concurrency, p.Exposure.Cents(), p.binding())
	if p.s.hold() == dispatch.Expected {
		fmt.Fprintln(w, riskOf(p.Forecast))
	}
	if p.Tokens == 0 {
		return
	}
	fmt.Fprintf(w, "done in about %s", rough(p.Finish))
	for i := range p.Lanes {
		if l := &p.Lanes[i]; l.AtOnce > 0 && l.Source == plan.FromPrior {
			fmt.Fprintf(w, ", where %s is taken to write %.0f tokens a second", l.Lane.Tag, l.Speed)
			break
		}
	}
	fmt.Fprintln(w)
	if p.Late > 0 {
		fmt.Fprintf(w, "the deadline of %s is missed by about %s: allow more time, raise budget, or add servers\n", p.s.job.Deadline, rough(p.Late))
	}
}

func (p *planned) printChanges(w io.Writer) {
	if len(p.rules) > 0 {
		fmt.Fprintln(w, "\nwhat the policy costs:")
		t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
		for _, c := range p.rules {
			fmt.Fprintf(t, "  %s\t%s\t−%d lanes\t%s\n", c.what, signed(-c.dearer), c.lanes, sooner(p.Finish, c.finish))
		}
		t.Flush()
	}
	if len(p.whatIf) > 0 && p.ToGo > 0 {
		fmt.Fprintln(w, "\nwhat would change it:")
		t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
		for _, c := range p.whatIf {
			fmt.Fprintf(t, "  %s\t%s\t%s tokens\tin flight %d\tdone in %s\n", c.what, signed(c.dearer), short(c.tokens), c.inFlight, rough(c.finish))
		}
		t.Flush()
	}
}

// sooner says how much later the job is done with a rule than without.
func sooner(with, without time.Duration) string {
	switch d := with - without; {
	case d > time.Minute:
		return "done " + rough(d) + " later"
	case d < -time.Minute:
		return "done " + rough(-d) + " sooner"
	}
	return ""
}

func (p *planned) printPast(w io.Writer) {
	if len(p.past) == 0 {
		return
	}
	fact := p.past[len(p.past)-1]
	fmt.Fprintln(w, "\nforecast and fact, in all:")
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	for _, m := range p.past {
		fmt.Fprintf(t, "  %s\t%s tokens\t%s", m.When, short(m.Tokens), m.Money.Cents())
		if m != fact && p.Tokens <= fact.Tokens/100 { // there is nothing more to come
			fmt.Fprintf(t, "\t%s\t%s", off(float64(m.Tokens), float64(fact.Tokens)), off(float64(m.Money), float64(fact.Money)))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// off says how far a forecast was from the fact.
func off(forecast, fact float64) string {
	if fact == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(forecast-fact)/fact)
}

// fine prints an amount that may be less than a cent.
func fine(m eyrie.Money) string {
	if m >= eyrie.Dollar || m == 0 {
		return m.Cents()
	}
	return fmt.Sprintf("$%.5f", float64(m)/float64(eyrie.Dollar))
}

func signed(m eyrie.Money) string {
	if m < 0 {
		return "−" + (-m).Cents()
	}
	return "+" + m.Cents()
}

// rough prints a time as people say it.
func rough(d time.Duration) string {
	switch {
	case d >= 100*24*time.Hour:
		return "over 100 days"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}

// printLanes prints the endpoints, the allowed ones first in their order.
func printLanes(w io.Writer, verdicts []route.Verdict) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "LANE\tQUANT\tIN $/M\tOUT $/M\tCACHE $/M\tMAX OUT\t\n")
	for _, v := range verdicts {
		l, out := v.Lane, none
		if l.MaxOutput > 0 {
			out = short(int64(l.MaxOutput))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Tag, precisionCell(&v),
			perMillion(l.PromptPrice), perMillion(l.OutputPrice), perMillion(l.CachedPrice), out, verdictCell(&v))
	}
	t.Flush()
}

func perMillion(p eyrie.Price) string {
	if !p.Known() {
		return none
	}
	return p.PerMillion().Decimal()
}
