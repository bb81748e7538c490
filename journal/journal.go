package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// Journal is the writing end of a run directory's journal. Its methods are
// safe for concurrent use.
type Journal struct {
	fs      FS
	size    int64 // of a segment, before the next one begins
	unlock  func() error
	sealer  *sealer
	stopped chan struct{} // closed when the writer goroutine has ended
	wake    chan struct{} // there is something for the writer
	hurry   chan struct{} // and somebody waits for it
	failed  chan struct{} // closed with the first failure
	buffers sync.Pool     // *bytes.Buffer, for lines that are made

	mu     sync.Mutex
	queue  []*batch // records waiting for the writer
	spare  [][]byte // buffers of batches that are written
	closed bool
	err    error // the first failure to write; nothing is acknowledged after it
	kept   keep  // what was not written since

	closing  sync.Once
	closeErr error
	unsealed error // written before closing is done

	// Owned by the writer goroutine, and by Close after it.
	file   File
	number int
	end    int64 // of what is durable in file
}

// Options change how a journal is written. The zero value is what runs use.
type Options struct {
	// SegmentSize is where a segment ends and the next one begins; 32 MB.
	SegmentSize int64
}

// segmentSize keeps what a replay must read in full, the last segment, to a
// tenth of a second, and the pauses in which a segment is begun seldom.
const segmentSize = 32 << 20

// Torn reports a tail that was cut by [Open].
type Torn struct {
	Segment string
	Offset  int64
	Bytes   int64
	Kept    string // the file that holds what was cut
	Reason  error
}

func (t *Torn) String() string {
	return fmt.Sprintf("journal: segment %s ended in %d bytes that were never acknowledged (%v); cut at %d and kept in %s",
		t.Segment, t.Bytes, t.Reason, t.Offset, t.Kept)
}

// Open locks the run directory, replays its journal through fold and returns
// it ready for more. A directory without a journal gets one. The records that
// fold gets are outlines, as those of [Outline]. The second result is non-nil
// when a torn tail was cut. An error of fold ends the replay and is returned as
// it is.
//
// Where another process holds the run, the error is durable.ErrLocked.
func Open(run *os.Root, fold func(Entry) error) (*Journal, *Torn, error) {
	return OpenIn(durable.Root(run), Options{}, fold)
}

// OpenIn is [Open] on any file system, with options.
func OpenIn(fsys FS, o Options, fold func(Entry) error) (*Journal, *Torn, error) {
	if err := makeDir(fsys); err != nil {
		return nil, nil, fmt.Errorf("journal: %w", durable.Explain(err))
	}
	unlock, err := fsys.Lock(path.Join(dirName, "lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %s: %w", fsys.Name(), err)
	}
	j := &Journal{
		fs: fsys, size: o.SegmentSize, unlock: unlock, sealer: newSealer(fsys),
		stopped: make(chan struct{}), failed: make(chan struct{}),
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	if j.size <= 0 {
		j.size = segmentSize
	}
	torn, err := j.replay(fold)
	if err == nil && j.file == nil {
		err = j.rotate()
	}
	if err != nil {
		if j.file != nil {
			j.file.Close()
		}
		unlock()
		return nil, nil, err
	}
	go j.write()
	go j.sealer.run(j.fail)
	return j, torn, nil
}

// makeDir makes the journal's folder. Its name is synced each time: the process
// that made it may have died before it did.
func makeDir(fsys FS) error {
	if err := fsys.Mkdir(dirName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := fsys.SyncDir("."); err != nil {
		return err
	}
	return fsys.SyncDir(dirName)
}

// Append writes records, in order and together, and returns when they are
// durable, with the place of the last one. Without records it only reports
// whether the journal still takes any.
//
// After the first failure to write, nothing is acknowledged any more: Append
// returns that failure. The records are kept in memory all the same, and Close
// tries to write them; see there.
func (j *Journal) Append(recs ...eyrie.Record) (Ref, error) {
	if len(recs) == 0 {
		return Ref{}, j.Err()
	}
	p, err := j.enqueue(true, recs)
	if err != nil {
		return Ref{}, err
	}
	<-p.batch.done
	if p.batch.err != nil {
		return Ref{}, p.batch.err
	}
	return Ref{p.batch.segment, uint32(p.length), p.batch.base + int64(p.at)}, nil
}

// Note writes a record without waiting for the disk: it is durable when the
// next Append returns, or Close does.
func (j *Journal) Note(rec eyrie.Record) error {
	_, err := j.enqueue(false, []eyrie.Record{rec})
	return err
}

// encode writes the lines of records to b and returns where the last one
// begins.
func encode(b *bytes.Buffer, recs []eyrie.Record) (last int, err error) {
	now := time.Now()
	for _, r := range recs {
		last = b.Len()
		if err := writeLine(b, kindOf(r), now, r); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// enqueue puts the records into the batch that is waiting.
func (j *Journal) enqueue(wait bool, recs []eyrie.Record) (p place, err error) {
	buf := j.buffers.Get().(*bytes.Buffer)
	defer j.buffers.Put(buf)
	buf.Reset()
	last, err := encode(buf, recs)
	if err != nil {
		return place{}, err
	}
	lines := buf.Bytes()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return place{}, errors.New("journal: closed")
	}
	if j.err != nil {
		j.kept.add(lines, len(recs), promise(recs))
		return place{}, j.err
	}
	b := j.waiting()
	p = place{b, len(b.buf) + last, len(lines) - last}
	b.add(lines, len(recs), promise(recs))
	nudge(j.wake)
	if wait {
		b.wait = true
		nudge(j.hurry)
	}
	return p, nil
}

// promise reports records that only say what is about to happen. Whoever is
// told that they could not be written does not go on, so they must not be
// written later.
func promise(recs []eyrie.Record) bool {
	for _, r := range recs {
		if _, ok := r.(*eyrie.StartedRecord); !ok {
			return false
		}
	}
	return true
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Failed is closed when writing has failed; Err then says how.
func (j *Journal) Failed() <-chan struct{} { return j.failed }

// Err returns the error that stopped the journal, if one did.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close makes everything durable, stops the writer and gives the lock back.
//
// Where writing has failed, Close tries once more, with a segment of its own,
// to write every record that was handed in since and not acknowledged, but for
// those that only announced a request. When it returns nil all of them are
// durable; its error says how many are not, and why. Closing again returns the
// same.
func (j *Journal) Close() error {
	j.closing.Do(func() { j.closeErr = j.close() })
	return j.closeErr
}

// Unsealed says, once the journal is closed, why full segments could not be
// packed; nil where nothing kept them from it. Nothing is lost by that: they
// stay as they are, and the next run packs them.
func (j *Journal) Unsealed() error { return j.unsealed }

func (j *Journal) close() error {
	j.mu.Lock()
	j.closed = true
	nudge(j.wake)
	nudge(j.hurry)
	j.mu.Unlock()
	<-j.stopped
	j.unsealed = j.sealer.stop()
	if j.err != nil {
		j.file.Close() // whatever it says, nothing more is claimed of the file
		return errors.Join(j.rescue(), j.unlock())
	}
	return errors.Join(j.file.Close(), j.unlock())
}
