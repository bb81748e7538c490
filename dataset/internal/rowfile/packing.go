package rowfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// packing is how a file is compressed.
type packing int

const (
	unpacked packing = iota
	gzipped
	zstandard
)

// packSuffixes are what packed files have at the end of their names.
var packSuffixes = []string{".gz", ".gzip", ".zst", ".zstd"}

func (p packing) String() string { return [...]string{"nothing", "gzip", "zstd"}[p] }

// packingOf finds the packing by the first bytes of a file. A zstd file may
// begin with a frame that is to be skipped.
func packingOf(magic []byte) packing {
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		return gzipped
	case bytes.HasPrefix(magic, []byte("\x28\xb5\x2f\xfd")),
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte("\x2a\x4d\x18")):
		return zstandard
	}
	return unpacked
}

// maxWindow is the most that a zstd file may ask to be kept of what it said, as
// zstd itself has it.
const maxWindow = 128 << 20

// readAhead is how much of a file is read at once.
const readAhead = 256 << 10

// unpack returns what is in r. Closing it closes no file.
func (p packing) unpack(r io.Reader) (io.ReadCloser, error) {
	switch p {
	case gzipped:
		z, err := gzip.NewReader(bufio.NewReaderSize(r, readAhead))
		if err != nil {
			return nil, p.explain(err)
		}
		return z, nil
	case zstandard:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, p.explain(err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// explain says of an error which layer it comes from.
func (p packing) explain(err error) error {
	damage := errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch) ||
		errors.Is(err, zstd.ErrCRCMismatch) || errors.Is(err, zstd.ErrReservedBlockType) || errors.Is(err, zstd.ErrUnexpectedBlockSize)
	switch {
	case p == unpacked:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the %s is cut off; download it again", p)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("the zstd needs a window above %s; pack it again without --ultra or --long", bytesText(maxWindow))
	case damage:
		return fmt.Errorf("the %s is damaged: %w", p, err)
	}
	return err
}
