package plan

import "fmt"

// Fit says what gives way when the money does not reach for every target.
type Fit uint8

// The ways to fit a job into its budget.
const (
	FitFail       Fit = iota // nothing does: the job is refused
	FitProportion            // every set ends equally far
	FitSets                  // sets are filled whole, in the order of the job
	FitLongest               // sets are filled whole, the largest target first
)

var fits = [...]string{FitFail: "fail", FitProportion: "proportion", FitSets: "sets", FitLongest: "longest-first"}

func (f Fit) String() string { return fits[f] }

// Fits are the names of the ways, as [ParseFit] takes them.
func Fits() []string { return fits[:] }

// ParseFit reads the name of a way to fit.
func ParseFit(s string) (Fit, error) {
	for i, name := range fits {
		if s == name {
			return Fit(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no way to fit a budget", s)
}

// Next returns the index of the set that work should be taken from, among
// those that lack something and that ready reports true for; -1 when there is
// none.
//
// Filled in proportion, it is the one that lacks the largest part of its
// target. Always serving the one that lags most keeps all sets equally far, so
// that a run which ends early leaves none of them empty. Otherwise it is the
// first in the order of the filling; the ones behind it get what it cannot take
// at the moment.
func (f Fit) Next(sets []Share, ready func(i int) bool) int {
	best, most := -1, 0.0
	for i, s := range sets {
		lack := s.lack()
		if lack <= 0 || best >= 0 && !f.before(sets[best], most, s, lack) || !ready(i) {
			continue
		}
		best, most = i, lack
	}
	return best
}

// before reports whether b comes before a, which stands before it in the job.
func (f Fit) before(a Share, lackA float64, b Share, lackB float64) bool {
	switch f {
	case FitSets:
		return false
	case FitLongest:
		return b.Target > a.Target
	}
	return lackB > lackA
}
