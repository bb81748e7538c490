package eyrie

import "time"

// Snapshot is a copied picture of a run at one moment. Screens read it; drawing
// can never slow a run.
type Snapshot struct {
	Time     time.Time
	Sets     []SetSnapshot
	Lanes    []LaneSnapshot
	Budget   Money
	Spent    Money // known charges
	InFlight Money // held for running attempts
	Unbilled Money // held for ended attempts whose bill is not known
	Running  int   // attempts under way
	Bills    int   // bills being waited for
	// TokensPerSecond is the rate at which completion tokens arrive now.
	TokensPerSecond float64
	// ETA is the time until the targets are met at this rate; zero unknown.
	ETA time.Duration
	// Hedges is how many slow answers were asked for once more in this session,
	// HedgesWon how many of these came from the second copy, and HedgeCost what
	// the copies that lost cost, or may have.
	Hedges    int
	HedgesWon int
	HedgeCost Money
	// Idle says why nothing more is started; empty when nothing holds it back.
	Idle string
	// Phase is "running", "draining", "cancelling" or "settling".
	Phase string
}

// SetSnapshot is how far one data set is.
type SetSnapshot struct {
	Name      string
	Target    int64
	Have      int64 // output tokens, seeds included
	Seeded    int64
	Rows      int
	GaveUp    int
	Dropped   int // answers that are bought and are no rows
	Running   int
	Exhausted bool // its prompts are used up
	// Breaks counts its conversations that ended early, by reason.
	Breaks map[Break]int
}

// LaneSnapshot is what one lane is doing.
type LaneSnapshot struct {
	Name     string
	Running  int
	Limit    int
	Attempts int
	Rows     int
	Dropped  int // answers that are bought and are no rows
	Tokens   int64
	Cost     Money
	Failures map[string]int
	Closed   string // why it takes no more work; empty while it does
	OpensIn  time.Duration
	Idle     string // why it gets nothing more now; empty while it does
}
