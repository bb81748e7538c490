package harvest

// Sample hands at most n of a lane's items to use, without rows, on several
// goroutines at once. They are spread evenly over all that the lane answered, in
// the order of the data sets, so that the same answers give the same sample. The
// error is the journal's.
func (h *Harvest) Sample(lane string, n int, use func(*Item)) error {
	total := 0
	for i := range h.entries {
		if h.entries[i].lane == lane {
			total++
		}
	}
	of := func(yield func(*entry) bool) {
		at := 0 // among the lane's entries
		for i := range h.entries {
			if h.entries[i].lane != lane {
				continue
			}
			if chosen(at, total, n) && !yield(&h.entries[i]) {
				return
			}
			at++
		}
	}
	for _, err := range h.items(of, use) {
		if err != nil {
			return err
		}
	}
	return nil
}

// chosen reports whether the entry at a place among total belongs to a sample
// of n: the first entry of every nth part does.
func chosen(at, total, n int) bool {
	return n >= total || at == 0 && n > 0 || at*n/total != (at-1)*n/total
}
