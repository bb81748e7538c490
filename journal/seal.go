package journal

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

// sealer packs full segments in the background, one at a time. It owns no
// state that matters: whatever it leaves half done when the process dies is
// done again from the plain segment, which goes last.
type sealer struct {
	fs     FS
	work   chan sealJob  // never blocks the writer; see enqueue
	quit   chan struct{} // closed to break off
	done   chan struct{} // closed when it has ended
	err    error         // why it gave up; read after done
	packer *packer
	// commits counts the batches that the journal has written.
	commits atomic.Int64
}

// sealJob is a segment to seal, and where its good part ends; 0 means at the
// end of its file.
type sealJob struct {
	number int
	end    int64
}

// sealQueue is how many segments may wait. Those that find no place are sealed
// when the run is opened again.
const sealQueue = 1 << 12

func newSealer(fsys FS) *sealer {
	return &sealer{fs: fsys, work: make(chan sealJob, sealQueue), quit: make(chan struct{}), done: make(chan struct{})}
}

func (s *sealer) enqueue(j sealJob) {
	select {
	case s.work <- j:
	default:
	}
}

// run seals until it is told to stop or cannot go on. damaged is called when a
// segment is not what was written.
func (s *sealer) run(damaged func(error)) {
	defer close(s.done)
	defer func() {
		if s.packer != nil {
			s.packer.close()
		}
	}()
	for {
		select {
		case <-s.quit:
			return
		default:
		}
		select {
		case <-s.quit:
			return
		case j := <-s.work:
			err := s.seal(j)
			if err == errStopped {
				return
			}
			if _, ok := err.(*DamageError); ok {
				damaged(err)
				return
			}
			if err != nil {
				s.err = fmt.Errorf("journal: sealing segment %06d: %w (nothing is lost: it stays as it is, and the next run seals it)", j.number, err)
				return
			}
		}
	}
}

// stop breaks the work off and waits for the end of it.
func (s *sealer) stop() error {
	close(s.quit)
	<-s.done
	return s.err
}

// seal packs a segment: the packed text, then its index, each whole by rename,
// and only then the plain file goes. A segment that has no plain file any more
// gets a new index.
func (s *sealer) seal(j sealJob) error {
	c, err := openSegment(s.fs, j.number)
	if err != nil {
		return err
	}
	defer c.file.Close()
	r, done, err := c.reader()
	if err != nil {
		return err
	}
	defer done()
	if j.end > 0 {
		r = io.LimitReader(r, j.end)
	}
	var idx []byte
	if c.packed {
		idx, err = s.pack(j.number, r, func([]byte) error { return nil })
	} else {
		err = durable.WriteFileIn(s.fs, packedPath(j.number), func(w io.Writer) error {
			if s.packer == nil {
				if s.packer, err = newPacker(); err != nil {
					return err
				}
			}
			s.packer.reset(w)
			if idx, err = s.pack(j.number, r, s.gently()); err != nil {
				return err
			}
			return s.packer.finish()
		})
	}
	if err != nil {
		return err
	}
	err = durable.WriteFileIn(s.fs, indexPath(j.number), func(w io.Writer) error {
		_, err := w.Write(idx)
		return err
	})
	if err != nil || c.packed {
		return err
	}
	// Where a power failure brings it back, it is as good as what took its place.
	if err := s.fs.Remove(plainPath(j.number)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// gently adds lines to the packer. After a frame it rests for some times as long
// as it worked, when the journal was written to meanwhile: those who wait for
// it come first.
func (s *sealer) gently() func([]byte) error {
	began, commits := time.Now(), s.commits.Load()
	return func(line []byte) error {
		frames := s.packer.frames
		if err := s.packer.add(line); err != nil || s.packer.frames == frames {
			return err
		}
		if now := s.commits.Load(); now != commits {
			select {
			case <-time.After(restFor * time.Since(began)):
			case <-s.quit:
			}
		}
		began, commits = time.Now(), s.commits.Load()
		return nil
	}
}

// restFor is how many times as long as it worked the sealer rests.
const restFor = 6

// pack hands every line to add, verified, and returns the index of them all.
func (s *sealer) pack(number int, r io.Reader, add func([]byte) error) ([]byte, error) {
	idx := newIndexWriter()
	sc := scan{number: number}
	var size int64
	for l, err := range lines(r) {
		select {
		case <-s.quit:
			return nil, errStopped
		default:
		}
		if err != nil {
			return nil, sc.unreadable(l.at, err)
		}
		if l.err != nil {
			return nil, sc.damage(l.at, l.err)
		}
		rec, when, err := decodeOutline(l.text[:len(l.text)-1], l.kind)
		if err != nil {
			return nil, sc.damage(l.at, err)
		}
		if rec != nil {
			idx.add(l, rec, when)
		}
		if err := add(l.text); err != nil {
			return nil, err
		}
		size += int64(len(l.text))
	}
	return idx.file(number, size)
}
