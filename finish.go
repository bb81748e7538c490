package eyrie

// OnLength says what becomes of an answer that max_tokens cut off.
type OnLength string

// What can become of it. Its cost counts in any case.
const (
	// KeepCut makes it a row, marked by its finish reason. It is what the empty
	// word means, too.
	KeepCut OnLength = "keep"
	// DropCut makes it no row: it is bought and stays in the journal, and does
	// not count.
	DropCut OnLength = "drop"
	// RetryCut asks once more with a larger cap, and keeps what comes then.
	RetryCut OnLength = "retry"
)

// ClassCut is the class of an answer that is asked for again because it was cut
// off.
const ClassCut = "length"

// The classes of answers that are none. They are asked for elsewhere, and
// counted with the lane that gave them.
const (
	ClassEmpty  = "empty answer"   // nothing at all
	ClassSilent = "reasoning only" // the answer stayed in the reasoning
)

// DropLength is the reason for which [DropCut] drops answers.
const DropLength = "cut by its length"
