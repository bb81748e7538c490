package journal_test

import (
	"fmt"
	"hash/crc32"
)

// crc is the checksum as the package's documentation describes it, made apart
// from the package.
func crc(rest string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(rest), crc32.MakeTable(crc32.Castagnoli)))
}
