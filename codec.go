package eyrie

// Codec is a model's chat template and vocabulary, as an engine needs them that
// sends a prompt as ids or holds the ids it is given against the text. It is
// safe for concurrent use.
type Codec interface {
	// Prompt returns the ids of a generation's rendered prompt.
	Prompt(g *Generation, s Sampling) ([]int32, error)
	// Read fills in the reasoning, content and tool calls of an answer from its
	// completion ids. An error says what could not be read.
	Read(g *Generation, s Sampling, a *Answer) error
	// Check holds an answer's ids against its text, its usage and the prompt as
	// it was rendered. An error says where they differ.
	Check(g *Generation, s Sampling, a *Answer) error
	// Encode returns the ids of a text, with control tokens where it spells
	// them.
	Encode(text string) []int32
	// Stops lists the ids that end an answer; none where that is not known.
	Stops() []int32
}

// Load is how busy a server says it is. A figure that it does not give is
// negative.
type Load struct {
	Running int // requests that it works on
	Waiting int // requests in its queue
	// Cache is the share of its memory for keys and values that is in use.
	Cache float64
	// TokensPerSecond is how fast it writes, all requests together.
	TokensPerSecond float64
}
