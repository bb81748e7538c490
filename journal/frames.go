package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// A packed segment is zstd frames of whole lines and a seek table, as zstd's
// seekable format has it: the table is a skippable frame at the end, so every
// program that reads zstd reads the file.

// frameSize is how much text goes into a frame, at least. A record is read by
// unpacking its frame, and larger ones hardly pack better.
const frameSize = 256 << 10

const (
	tableMagic   = 0x184D2A5E
	tableFooter  = 0x8F92EAB1
	footerSize   = 9
	skipHead     = 8
	tableEntry   = 8
	maxFrames    = 1 << 24
	maxUnpacked  = 1 << 31 // bytes of one frame: a line is never split
	packingLevel = zstd.SpeedFastest
)

// packer writes a packed segment.
type packer struct {
	w      io.Writer
	enc    *zstd.Encoder
	dec    *zstd.Decoder
	text   []byte // of the frame that is gathered
	frame  []byte
	check  []byte
	table  []byte
	frames uint32
}

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(packingLevel), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(2*frameSize))
	if err != nil {
		return nil, err
	}
	dec, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	return &packer{enc: enc, dec: dec}, nil
}

// reset begins a segment.
func (p *packer) reset(w io.Writer) {
	p.w, p.text, p.frames = w, p.text[:0], 0
	p.table = binary.LittleEndian.AppendUint32(p.table[:0], tableMagic)
	p.table = append(p.table, 0, 0, 0, 0) // the table's size, known at the end
}

// add takes a line.
func (p *packer) add(line []byte) error {
	p.text = append(p.text, line...)
	if len(p.text) < frameSize {
		return nil
	}
	return p.flush()
}

// flush writes the frame, once it is sure that it unpacks to the same bytes:
// the plain text is going to be removed.
func (p *packer) flush() error {
	if len(p.text) == 0 {
		return nil
	}
	p.frame = p.enc.EncodeAll(p.text, p.frame[:0])
	var err error
	if p.check, err = p.dec.DecodeAll(p.frame, p.check[:0]); err != nil || !bytes.Equal(p.check, p.text) {
		return fmt.Errorf("packed text does not unpack to what it was (%v): this machine's memory may be broken", err)
	}
	if _, err := p.w.Write(p.frame); err != nil {
		return err
	}
	p.table = binary.LittleEndian.AppendUint32(p.table, uint32(len(p.frame)))
	p.table = binary.LittleEndian.AppendUint32(p.table, uint32(len(p.text)))
	p.frames++
	p.text = p.text[:0]
	return nil
}

// finish writes what is left and the table.
func (p *packer) finish() error {
	if err := p.flush(); err != nil {
		return err
	}
	p.table = binary.LittleEndian.AppendUint32(p.table, p.frames)
	p.table = append(p.table, 0)
	p.table = binary.LittleEndian.AppendUint32(p.table, tableFooter)
	binary.LittleEndian.PutUint32(p.table[4:], uint32(len(p.table)-skipHead))
	_, err := p.w.Write(p.table)
	return err
}

func (p *packer) close() {
	p.enc.Close()
	p.dec.Close()
}

// frame is a frame's place in the file and in the text.
type frame struct {
	at, size     int64
	from, length int64
}

// frameTable is where the frames of a packed segment lie.
type frameTable []frame

// textSize is the length of the segment's text.
func (t frameTable) textSize() int64 {
	if len(t) == 0 {
		return 0
	}
	last := t[len(t)-1]
	return last.from + last.length
}

// find returns the frame that holds the text's byte at offset, or -1.
func (t frameTable) find(offset int64) int {
	i, ok := slices.BinarySearchFunc(t, offset, func(f frame, at int64) int { return cmp.Compare(f.from, at) })
	if !ok {
		i--
	}
	if i < 0 || offset >= t[i].from+t[i].length {
		return -1
	}
	return i
}

var errNoTable = errors.New("its seek table is missing or damaged")

// readTable reads the seek table of a packed segment.
func readTable(f File) (frameTable, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var foot [footerSize]byte
	at := info.Size() - footerSize
	if at < 0 {
		return nil, errNoTable
	}
	if _, err := f.ReadAt(foot[:], at); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(foot[:]))
	if binary.LittleEndian.Uint32(foot[5:]) != tableFooter || foot[4] != 0 || n > maxFrames {
		return nil, errNoTable
	}
	at -= n*tableEntry + skipHead
	if at < 0 {
		return nil, errNoTable
	}
	b := make([]byte, skipHead+n*tableEntry)
	if _, err := f.ReadAt(b, at); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(b) != tableMagic || int64(binary.LittleEndian.Uint32(b[4:])) != n*tableEntry+footerSize {
		return nil, errNoTable
	}
	table := make(frameTable, n)
	var end, text int64
	for i := range table {
		e := b[skipHead+i*tableEntry:]
		size, length := int64(binary.LittleEndian.Uint32(e)), int64(binary.LittleEndian.Uint32(e[4:]))
		table[i] = frame{end, size, text, length}
		end, text = end+size, text+length
	}
	if end != at {
		return nil, errNoTable
	}
	return table, nil
}

// newUnpacker returns a decoder of single frames.
func newUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
}

// readFrame unpacks one frame into dst.
func readFrame(f File, dec *zstd.Decoder, fr frame, dst []byte) ([]byte, error) {
	packed := make([]byte, fr.size)
	if _, err := f.ReadAt(packed, fr.at); err != nil {
		return nil, err
	}
	text, err := dec.DecodeAll(packed, dst[:0])
	if err == nil && int64(len(text)) != fr.length {
		err = errNoTable
	}
	return text, err
}

// unpack reads the whole text of a packed segment.
func unpack(r io.Reader) (io.Reader, func(), error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, nil, err
	}
	return dec, dec.Close, nil
}
