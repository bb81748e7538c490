package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// segmentSize is where a segment ends and the next one begins.
const segmentSize = 256 << 20

// Journal is the writing end of a run directory's journal. Its methods are
// safe for concurrent use.
type Journal struct {
	run     *os.Root
	unlock  func() error
	stopped chan struct{} // closed when the writer goroutine has ended

	mu     sync.Mutex
	wake   sync.Cond // the writer waits here for work
	next   *batch    // records waiting for the writer; never nil
	closed bool
	err    error // the first failure to write; nothing is accepted after it
	failed chan struct{}

	// Owned by the writer goroutine.
	file   *os.File
	number int
	size   int64
}

// batch is a group of records that become durable together.
type batch struct {
	buf     []byte
	wait    bool // somebody waits for it
	segment uint32
	base    int64 // offset of buf in the segment, once written
	done    chan struct{}
	err     error
}

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
// it ready for more. A directory without a journal gets one. The second result
// is non-nil when a torn tail was cut. An error of fold ends the replay and is
// returned as it is.
//
// Where another process holds the run, the error is durable.ErrLocked.
func Open(run *os.Root, fold func(Entry) error) (*Journal, *Torn, error) {
	if err := run.Mkdir(dirName, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	unlock, err := durable.Lock(run, path.Join(dirName, "lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %s: %w", run.Name(), err)
	}
	j := &Journal{
		run: run, unlock: unlock,
		stopped: make(chan struct{}), failed: make(chan struct{}),
		next: newBatch(),
	}
	j.wake.L = &j.mu
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
	return j, torn, nil
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// replay folds the existing records and leaves the last segment open for
// appending.
func (j *Journal) replay(fold func(Entry) error) (*Torn, error) {
	segs, err := segments(j.run)
	if err != nil {
		return nil, err
	}
	var torn *Torn
	for i, n := range segs {
		last := i == len(segs)-1
		var foldErr error
		t, err := scanSegment(j.run, n, last, func(e Entry) bool {
			foldErr = fold(e)
			return foldErr == nil
		})
		if foldErr != nil {
			return nil, foldErr
		}
		if err != nil {
			return nil, err
		}
		if !last {
			continue
		}
		if t.good == 0 {
			// The process died while it made the segment: nothing was in it.
			j.number = n - 1
			if t.size > 0 {
				if torn, err = j.cut(n, t); err != nil {
					return nil, err
				}
			}
			return torn, j.rotate()
		}
		if j.file, err = j.run.OpenFile(segmentPath(n), os.O_RDWR, 0); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		j.number = n
		if t.good < t.size {
			if torn, err = j.cut(n, t); err != nil {
				return nil, err
			}
		}
		if _, err := j.file.Seek(t.good, io.SeekStart); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		j.size = t.good
	}
	return torn, nil
}

// cut moves what follows the good part of a segment into a file of its own.
func (j *Journal) cut(number int, t tail) (*Torn, error) {
	f, err := j.run.OpenFile(segmentPath(number), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	kept := path.Join(dirName, fmt.Sprintf("torn-%06d-%d.jsonl", number, t.good))
	err = durable.WriteFile(j.run, kept, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, t.good, t.size-t.good))
		return err
	})
	if err == nil {
		err = f.Truncate(t.good)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("journal: cutting the torn tail: %w", err)
	}
	return &Torn{fmt.Sprintf("%06d", number), t.good, t.size - t.good, kept, t.err}, nil
}

// rotate makes the next segment and writes its header.
func (j *Journal) rotate() error {
	n := j.number + 1
	f, err := j.run.OpenFile(segmentPath(n), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	head, err := appendLine(nil, "segment", time.Now(), segmentLine{version, n})
	if err == nil {
		_, err = f.Write(head)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = durable.SyncDir(j.run, dirName)
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("journal: segment %06d: %w", n, err)
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.number, j.size = f, n, int64(len(head))
	return nil
}

// Append writes records, in order and together, and returns when they are
// durable, with the place of the last one. After an error the journal accepts
// nothing more: what reached the disk is found by the next Open.
func (j *Journal) Append(recs ...eyrie.Record) (Ref, error) {
	b, at, n, err := j.enqueue(true, recs)
	if err != nil {
		return Ref{}, err
	}
	<-b.done
	if b.err != nil {
		return Ref{}, b.err
	}
	return Ref{b.segment, uint32(n), b.base + int64(at)}, nil
}

// Note writes a record without waiting for the disk: it is durable when the
// next Append returns, or Close does.
func (j *Journal) Note(rec eyrie.Record) error {
	_, _, _, err := j.enqueue(false, []eyrie.Record{rec})
	return err
}

// enqueue puts the records into the batch that is waiting, and returns the
// place of the last one in it.
func (j *Journal) enqueue(wait bool, recs []eyrie.Record) (b *batch, at, n int, err error) {
	var lines []byte
	now := time.Now()
	last := 0
	for _, r := range recs {
		last = len(lines)
		if lines, err = appendLine(lines, kindOf(r), now, r); err != nil {
			return nil, 0, 0, err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil, 0, 0, j.err
	}
	if j.closed {
		return nil, 0, 0, errors.New("journal: closed")
	}
	b = j.next
	at = len(b.buf) + last
	b.buf = append(b.buf, lines...)
	b.wait = b.wait || wait
	j.wake.Signal()
	return b, at, len(lines) - last, nil
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
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.wake.Signal()
	j.mu.Unlock()
	<-j.stopped
	return errors.Join(j.err, j.file.Close(), j.unlock())
}

// lull is how long the writer lets notes that nobody waits for gather.
const lull = 20 * time.Millisecond

// write is the writer goroutine: it takes the waiting batch, writes it, syncs
// it, and wakes those who wait, until the journal is closed or fails.
func (j *Journal) write() {
	defer close(j.stopped)
	var spare []byte
	for {
		j.mu.Lock()
		for len(j.next.buf) == 0 && !j.closed {
			j.wake.Wait()
		}
		if len(j.next.buf) == 0 {
			j.mu.Unlock()
			return
		}
		if !j.next.wait && !j.closed {
			j.mu.Unlock()
			time.Sleep(lull)
			j.mu.Lock()
		}
		b := j.next
		j.next = newBatch()
		j.next.buf = spare[:0]
		j.mu.Unlock()

		b.err = j.commit(b)
		if b.err != nil {
			j.fail(b.err)
		}
		spare = b.buf
		if cap(spare) > 4<<20 {
			spare = nil
		}
		b.buf = nil
		close(b.done)
		if b.err != nil {
			return
		}
	}
}

// commit writes a batch behind a sync line and syncs the file.
func (j *Journal) commit(b *batch) error {
	if j.size >= segmentSize {
		if err := j.rotate(); err != nil {
			return err
		}
	}
	head, err := appendLine(nil, "sync", time.Now(), syncLine{j.size})
	if err != nil {
		return err
	}
	b.segment, b.base = uint32(j.number), j.size+int64(len(head))
	for _, p := range [][]byte{head, b.buf} {
		if _, err := j.file.Write(p); err != nil {
			return fmt.Errorf("journal: segment %06d: %w (free space or repair the disk, then run again: nothing that was accepted is lost)", j.number, err)
		}
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: segment %06d: sync: %w", j.number, err)
	}
	j.size = b.base + int64(len(b.buf))
	return nil
}

// fail records the first failure and turns away everyone who waits.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
	j.next.err = err
	close(j.next.done)
	close(j.failed)
}
