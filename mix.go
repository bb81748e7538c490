package eyrie

import (
	"encoding/binary"
	"math/bits"
)

// Mix says how each row of a run is sampled: by one of its parts, drawn by their
// weights. Which one is a matter of the seed, the prompt and the sample's number
// and of nothing else, so that it is the same in whatever order a run goes, and
// for all turns of a conversation.
type Mix struct {
	Seed  int64  `json:"seed"`
	Parts []Part `json:"parts"` // at least one
}

// Part is one way of sampling, and how often it is taken: its weight over those
// of all parts.
type Part struct {
	Weight   int64    `json:"weight"` // above 0
	Sampling Sampling `json:"sampling"`
}

// Pick returns the sampling of one sample of a prompt.
func (m *Mix) Pick(prompt Digest, sample int) Sampling {
	if len(m.Parts) == 1 {
		return m.Parts[0].Sampling
	}
	var total uint64
	for i := range m.Parts {
		total += uint64(m.Parts[i].Weight)
	}
	h := newDigester("mix/1")
	h.int(int(m.Seed))
	h.h.Write(prompt[:])
	h.int(sample)
	d := h.sum()
	at, _ := bits.Mul64(binary.LittleEndian.Uint64(d[:]), total) // below total
	for i := range m.Parts {
		w := uint64(m.Parts[i].Weight)
		if at < w {
			return m.Parts[i].Sampling
		}
		at -= w
	}
	panic("eyrie: a draw beyond the weights of the mix")
}

// MaxTokens is the longest completion that any part asks for.
func (m *Mix) MaxTokens() int {
	longest := 0
	for i := range m.Parts {
		longest = max(longest, m.Parts[i].Sampling.MaxTokens)
	}
	return longest
}
