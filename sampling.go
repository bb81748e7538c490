package eyrie

import "fmt"

// Thinking says whether the model reasons before it answers.
type Thinking bool

// Sampling is what is asked of the sampler. A nil field is not sent.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitzero"`
	TopP        *float64 `json:"top_p,omitzero"`
	TopK        *int     `json:"top_k,omitzero"`
	MinP        *float64 `json:"min_p,omitzero"`
	Seed        *int64   `json:"seed,omitzero"`
	MaxTokens   int      `json:"max_tokens"`
	Thinking    Thinking `json:"thinking"`
	// Effort is how much the model is to reason, one of [Efforts]; empty leaves
	// it to the model. It means nothing where Thinking is off.
	Effort string `json:"effort,omitzero"`
	// Stop lists strings that end an answer where it would hold one, at most
	// [MaxStop] of them.
	Stop []string `json:"stop,omitzero"`
}

// Efforts are the words for [Sampling.Effort], least first.
var Efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// MaxStop is how many stop strings a request may have.
const MaxStop = 4

// Of is the sampling of one of several samples of the same prompt. Its seed is
// the sampling's plus the sample's number: with the same one for all, a server
// that honours seeds would be paid for the same answer again and again.
func (s Sampling) Of(sample int) Sampling {
	if s.Seed != nil {
		s.Seed = new(*s.Seed + int64(sample))
	}
	return s
}

// Digest identifies the sampling.
func (s Sampling) Digest() Digest {
	h := newDigester("sampling/1")
	float := func(f *float64) {
		if f == nil {
			h.str("")
			return
		}
		h.str(fmt.Sprintf("%g", *f))
	}
	whole := func(ok bool, v int64) {
		if !ok {
			h.str("")
			return
		}
		h.str(fmt.Sprintf("%d", v))
	}
	float(s.Temperature)
	float(s.TopP)
	var topK, seed int64
	if s.TopK != nil {
		topK = int64(*s.TopK)
	}
	if s.Seed != nil {
		seed = *s.Seed
	}
	whole(s.TopK != nil, topK)
	float(s.MinP)
	whole(s.Seed != nil, seed)
	h.int(s.MaxTokens)
	h.str(fmt.Sprint(bool(s.Thinking)))
	// What came later is hashed only where it is set, under its name, so that
	// older digests stay what they were.
	if s.Effort != "" {
		h.str("effort")
		h.str(s.Effort)
	}
	if len(s.Stop) > 0 {
		h.str("stop")
		for _, stop := range s.Stop {
			h.str(stop)
		}
	}
	return h.sum()
}
