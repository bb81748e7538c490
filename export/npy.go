package export

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// NumPy's .npy: a magic word and version, the length of a header in two bytes,
// the header, which is a Python dict in text padded with blanks so that the
// data begins at a multiple of 64, and the data.

func npy(dtype string, n int) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", dtype, n)
	const before = 10 // magic, version and length
	pad := 63 - (before+len(header))%64
	header += strings.Repeat(" ", pad) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(out[8:], uint16(len(header)))
	return append(out, header...)
}

func npyInt64(v []int64) []byte {
	out := npy("<i8", len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out
}

func npyBool(v []bool) []byte {
	out := npy("|b1", len(v))
	for _, x := range v {
		b := byte(0)
		if x {
			b = 1
		}
		out = append(out, b)
	}
	return out
}
