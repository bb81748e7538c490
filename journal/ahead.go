package journal

import (
	"iter"
	"sync"
)

// outlined is what was read of one segment.
type outlined struct {
	segment segment
	entries []Entry
	indexed bool  // they came from its index
	err     error // after the entries
}

// ahead reads the outlines of segments, each while the one before it is used.
// The last of them may be torn where it is the journal's last; see readOutline.
func ahead(fsys FS, segs []segment, torn bool) iter.Seq[outlined] {
	return func(yield func(outlined) bool) {
		out, quit := make(chan outlined), make(chan struct{})
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(quit)
		wg.Go(func() {
			defer close(out)
			for i, s := range segs {
				o := outlined{segment: s}
				o.indexed, o.err = readOutline(fsys, s, torn && i == len(segs)-1, func(e Entry) bool {
					o.entries = append(o.entries, e)
					return true
				})
				select {
				case out <- o:
				case <-quit:
					return
				}
				if o.err != nil {
					return
				}
			}
		})
		for o := range out {
			if !yield(o) {
				return
			}
		}
	}
}
