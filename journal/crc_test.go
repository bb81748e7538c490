package journal_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// crc is the checksum as the package's documentation describes it, made apart
// from the package.
func crc(rest string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(rest), crc32.MakeTable(crc32.Castagnoli)))
}

// littleCRC is the checksum as an index holds it.
func littleCRC(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}
