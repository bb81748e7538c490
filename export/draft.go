package export

import "fmt"

// DraftFiles makes the draft vocabulary of so many tokens, as d2t.npy and
// t2d.npy hold it, from counts by id, for a target with a vocabulary of vocab
// ids. Coverage is the part of what was counted that a drafter with it can say.
// It is what every export has, for counts of several of them taken together.
func DraftFiles(counts map[int32]int64, size, vocab int) (d2t, t2d []byte, coverage float64, err error) {
	if size < 1 || size > vocab {
		return nil, nil, 0, fmt.Errorf("a draft vocabulary of %d tokens: the target has %d", size, vocab)
	}
	var f frequencies
	var total, covered int64
	for id, n := range counts {
		if id < 0 || int(id) >= vocab {
			return nil, nil, 0, fmt.Errorf("id %d was counted, and the target has %d", id, vocab)
		}
		f.add(id, n)
		total += n
	}
	ids := f.ranked()
	for _, id := range ids[:min(size, len(ids))] {
		covered += f.of(id)
	}
	if total > 0 {
		coverage = float64(covered) / float64(total)
	}
	d2t, t2d = draftFiles(draftVocabulary(ids, size), vocab)
	return d2t, t2d, coverage, nil
}

// draftFiles writes a draft vocabulary as NumPy arrays.
func draftFiles(draft []int32, vocab int) (d2t, t2d []byte) {
	offsets, in := make([]int64, len(draft)), make([]bool, vocab)
	for i, id := range draft {
		offsets[i] = int64(id) - int64(i)
		in[id] = true
	}
	return npyInt64(offsets), npyBool(in)
}
