package rowfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A damaged Parquet file may give any size for what stands in it, and a decoder
// that believes it takes all the memory there is, from which no error comes
// back. So the heads of the pages are read first, and held against the file.

const (
	maxPage   = 1 << 30 // the most bytes of a page, unpacked
	maxValues = 1 << 28 // the most values of a page
	// pageHead is how much of a page is read for its head, and maxPageHead how
	// much where that was too little.
	pageHead, maxPageHead = 1 << 12, 1 << 20
)

// checkPages reads the heads of a row group's pages.
func checkPages(in io.ReaderAt, size int64, group *format.RowGroup) (err error) {
	defer recovered("row group", &err)
	for i := range group.Columns {
		m := &group.Columns[i].MetaData
		if err := checkColumn(in, size, m); err != nil {
			return fmt.Errorf("column %s: %w", strings.Join([]string(m.PathInSchema), "."), err)
		}
	}
	return nil
}

func checkColumn(in io.ReaderAt, size int64, m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	end := at + m.TotalCompressedSize
	if at < 0 || m.TotalCompressedSize < 0 || end < at || end > size {
		return fmt.Errorf("its pages are to stand from byte %d to %d, and the file has %d: it is damaged", at, end, size)
	}
	for at < end {
		h, n, err := readPageHead(in, at, end)
		if err != nil {
			return fmt.Errorf("the page at byte %d: %w", at, err)
		}
		at += n
		body := int64(h.CompressedPageSize)
		if err := checkPage(h, end-at); err != nil {
			return fmt.Errorf("the page at byte %d: %w", at-n, err)
		}
		if m.Codec == format.Lz4Raw {
			if err := checkLZ4(in, at, h); err != nil {
				return fmt.Errorf("the page at byte %d: %w", at-n, err)
			}
		}
		at += body
	}
	return nil
}

// readPageHead decodes a page's head, and returns how long it is.
func readPageHead(in io.ReaderAt, at, end int64) (*format.PageHeader, int64, error) {
	for room := int64(pageHead); ; room = maxPageHead {
		b := make([]byte, min(room, end-at))
		if n, err := in.ReadAt(b, at); n < len(b) {
			return nil, 0, err
		}
		h, r := new(format.PageHeader), new(thrift.CompactProtocol).NewReaderFromBytes(b)
		err := thrift.NewDecoder(r).Decode(h)
		switch {
		case err == nil:
			return h, int64(r.BytesRead()), nil
		case room == maxPageHead || int64(len(b)) == end-at:
			return nil, 0, fmt.Errorf("its head is damaged: %w", err)
		}
	}
}

// checkPage holds a head against what is left of its column.
func checkPage(h *format.PageHeader, left int64) error {
	values := max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues)
	switch {
	case h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > left:
		return fmt.Errorf("it is to have %d bytes, and %d are left of the column: the file is damaged", h.CompressedPageSize, left)
	case h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage || values > maxValues:
		return fmt.Errorf("it is to have %d values in %d bytes: the file is damaged", values, h.UncompressedPageSize)
	}
	return nil
}

// checkLZ4 walks over a block without unpacking it: to the decoder every fault
// in one means that it needs more room.
func checkLZ4(in io.ReaderAt, at int64, h *format.PageHeader) error {
	skip, packed := int32(0), true
	if h.DataPageHeaderV2.Valid {
		v2 := &h.DataPageHeaderV2.V
		skip = v2.RepetitionLevelsByteLength + v2.DefinitionLevelsByteLength
		packed = !v2.IsCompressed.Valid || v2.IsCompressed.V
	}
	if !packed || h.CompressedPageSize == 0 {
		return nil
	}
	if skip < 0 || skip > h.CompressedPageSize {
		return fmt.Errorf("its levels are to have %d bytes of %d: the file is damaged", skip, h.CompressedPageSize)
	}
	b := make([]byte, h.CompressedPageSize-skip)
	if n, err := in.ReadAt(b, at+int64(skip)); n < len(b) {
		return err
	}
	if n, err := lz4Length(b); err != nil || n > int64(h.UncompressedPageSize) {
		return errors.Join(fmt.Errorf("its LZ4 block of %d bytes does not unpack to %d: the file is damaged", len(b), h.UncompressedPageSize), err)
	}
	return nil
}

var errLZ4 = errors.New("not an LZ4 block")

// lz4Length is how many bytes an LZ4 block unpacks to. A block is sequences of
// literal bytes and of copies of what was unpacked before; the last one has
// literals only.
func lz4Length(b []byte) (n int64, err error) {
	long := func(low byte) (length int64, ok bool) { // of 15 on it goes on in further bytes
		length = int64(low)
		if low < 15 {
			return length, true
		}
		for len(b) > 0 {
			more := b[0]
			b, length = b[1:], length+int64(more)
			if more != 0xff {
				return length, true
			}
		}
		return 0, false
	}
	for len(b) > 0 {
		token := b[0]
		b = b[1:]
		literals, ok := long(token >> 4)
		if !ok || literals > int64(len(b)) {
			return 0, errLZ4
		}
		n, b = n+literals, b[literals:]
		if len(b) == 0 {
			return n, nil
		}
		if len(b) < 2 {
			return 0, errLZ4
		}
		offset := int64(b[0]) | int64(b[1])<<8
		b = b[2:]
		match, ok := long(token & 15)
		if !ok || offset == 0 || offset > n {
			return 0, errLZ4
		}
		n += match + 4
	}
	return 0, errLZ4
}
