package journal

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

// batch is a group of records that become durable together.
type batch struct {
	keep
	wait    bool // somebody waits for it
	segment uint32
	base    int64 // offset of buf in the segment, once written
	done    chan struct{}
	err     error
}

// place is where the last record of an Append lies.
type place struct {
	batch      *batch
	at, length int
}

// keep is lines in order, with the promises among them marked.
type keep struct {
	buf      []byte
	records  int // that are no promises
	promises []span
}

type span struct{ from, to int }

func (k *keep) add(lines []byte, records int, promise bool) {
	if promise {
		k.promises = append(k.promises, span{len(k.buf), len(k.buf) + len(lines)})
	} else {
		k.records += records
	}
	k.buf = append(k.buf, lines...)
}

// merge adds what another one holds, without the promises.
func (k *keep) merge(o *keep) {
	from := 0
	for _, p := range o.promises {
		k.buf = append(k.buf, o.buf[from:p.from]...)
		from = p.to
	}
	k.buf = append(k.buf, o.buf[from:]...)
	k.records += o.records
}

// batchSize is where a batch ends and the next one begins. Small batches stay
// in the processor's cache and are acknowledged sooner.
const batchSize = 1 << 20

// waiting returns the batch that takes records. Callers hold mu.
func (j *Journal) waiting() *batch {
	if n := len(j.queue); n > 0 && len(j.queue[n-1].buf) < batchSize {
		return j.queue[n-1]
	}
	b := &batch{done: make(chan struct{})}
	if n := len(j.spare); n > 0 {
		b.buf, j.spare = j.spare[n-1][:0], j.spare[:n-1]
	}
	j.queue = append(j.queue, b)
	return b
}

// lull is how long the writer lets notes that nobody waits for gather.
const lull = 20 * time.Millisecond

// write is the writer goroutine: it takes the waiting batch, writes it, syncs
// it, and wakes those who wait, until the journal is closed or fails.
func (j *Journal) write() {
	defer close(j.stopped)
	for {
		b := j.take()
		if b == nil {
			return
		}
		b.err = j.commit(b)
		if b.err != nil {
			j.mu.Lock()
			j.kept.merge(&b.keep) // before what came after it
			j.mu.Unlock()
			j.fail(b.err)
			close(b.done)
			return
		}
		j.mu.Lock()
		if cap(b.buf) <= 2*batchSize && len(j.spare) < 4 {
			j.spare = append(j.spare, b.buf)
		}
		b.buf = nil
		j.mu.Unlock()
		close(b.done)
	}
}

// take waits for a batch and takes it; it returns nil when there is nothing
// more to write.
func (j *Journal) take() *batch {
	patient := true
	for {
		j.mu.Lock()
		if j.err != nil || len(j.queue) == 0 && j.closed {
			j.mu.Unlock()
			return nil
		}
		if len(j.queue) > 0 {
			b := j.queue[0]
			if b.wait || j.closed || !patient || len(j.queue) > 1 {
				j.queue[0] = nil
				j.queue = j.queue[1:]
				j.mu.Unlock()
				return b
			}
		}
		notes := len(j.queue) > 0
		j.mu.Unlock()
		if !notes {
			<-j.wake
			continue
		}
		select {
		case <-j.hurry:
		case <-time.After(lull):
			patient = false
		}
	}
}

// commit writes a batch behind a sync line and syncs the file.
func (j *Journal) commit(b *batch) error {
	if j.end >= j.size {
		if err := j.rotate(); err != nil {
			return err
		}
	}
	head, err := appendLine(nil, "sync", time.Now(), syncLine{j.end})
	if err != nil {
		return err
	}
	b.segment, b.base = uint32(j.number), j.end+int64(len(head))
	for _, w := range []struct {
		text []byte
		at   int64
	}{{head, j.end}, {b.buf, b.base}} {
		if _, err := j.file.WriteAt(w.text, w.at); err != nil {
			return fmt.Errorf("journal: segment %06d: %w", j.number, durable.Explain(err))
		}
	}
	// A sync that failed is never tried again on the same file: the system may
	// have dropped what it could not write, and the second one would lie.
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: segment %06d: sync: %w", j.number, durable.Explain(err))
	}
	j.end = b.base + int64(len(b.buf))
	j.sealer.commits.Add(1)
	return nil
}

// rotate begins the next segment, and has the full one sealed.
func (j *Journal) rotate() error {
	n := j.number + 1
	size, err := j.newSegment(n, nil)
	if err != nil {
		return err
	}
	f, err := j.fs.OpenFile(plainPath(n), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("journal: segment %06d: %w", n, durable.Explain(err))
	}
	if j.file != nil {
		j.file.Close()
		j.sealer.enqueue(sealJob{j.number, j.end})
	}
	j.file, j.number, j.end = f, n, size
	return nil
}

// newSegment writes a segment, whole or not at all, which says where the good
// part of the one before it ends. It returns its size.
func (j *Journal) newSegment(n int, lines []byte) (int64, error) {
	text, err := appendLine(nil, "segment", time.Now(), segmentLine{version, n, j.end})
	if err == nil {
		text = append(text, lines...)
		err = durable.WriteFileIn(j.fs, plainPath(n), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("journal: segment %06d: %w", n, durable.Explain(err))
	}
	return int64(len(text)), nil
}

// fail notes the first failure and turns away everyone who waits.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.queue {
		b.err = err
		j.kept.merge(&b.keep)
		close(b.done)
	}
	j.queue = nil
	if j.err == nil {
		j.err = err
		close(j.failed)
	}
	nudge(j.wake)
}

// rescue writes what was not acknowledged into a segment of its own, which
// declares void whatever of it may stand in the file that failed.
func (j *Journal) rescue() error {
	var left keep
	left.merge(&j.kept)
	_, err := j.newSegment(j.number+1, left.buf)
	if err != nil && left.records > 0 {
		return fmt.Errorf("%w; %d records that came after the journal failed could not be written and may be lost with this process; what they cost is still held in the budget",
			err, left.records)
	}
	return nil // with nothing to write, the new segment was only a courtesy
}
