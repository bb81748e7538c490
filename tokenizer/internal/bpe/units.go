package bpe

// mostUnits is up to how many bytes or characters are merged as the definition
// says. That takes time by the square of their number, but has to look at fewer
// places far apart in memory than the search.
const mostUnits = 16

// appendBytes appends the ids of s, of up to mostUnits bytes, to dst.
func (m *Model) appendBytes(dst []int32, s string) []int32 {
	var units [mostUnits]rank
	for i := range len(s) {
		units[i] = rank(s[i])
	}
	return m.appendMerged(dst, &units, len(s))
}

// appendMerged merges the first n units and appends the ids of what is left to
// dst.
func (m *Model) appendMerged(dst []int32, units *[mostUnits]rank, n int) []int32 {
	var merges [mostUnits]rank // of a unit with the next one, or none
	for i := range n - 1 {
		merges[i] = m.pairs.get(units[i], units[i+1])
	}
	for n > 1 {
		best, at := merges[0], 0
		for i := 1; i < n-1; i++ {
			if merges[i] < best {
				best, at = merges[i], i
			}
		}
		if best == none {
			break
		}
		n--
		copy(units[at+1:n], units[at+2:])
		copy(merges[at:n-1], merges[at+1:])
		units[at] = best
		if at > 0 {
			merges[at-1] = m.pairs.get(units[at-1], best)
		}
		if at < n-1 {
			merges[at] = m.pairs.get(best, units[at+1])
		}
	}
	for _, r := range units[:n] {
		dst = append(dst, m.ids[r])
	}
	return dst
}
