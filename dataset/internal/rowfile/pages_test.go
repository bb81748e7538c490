package rowfile_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// TestParquetPacked reads the same rows however the pages are packed.
func TestParquetPacked(t *testing.T) {
	_, want, err := rows("x", parquetFile(t, records(), records()), rowfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Lz4Raw} {
		_, got, err := rows("x", parquetPacked(t, codec, records(), records()), rowfile.Options{})
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", codec, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestParquetSizes has files whose sizes cannot be.
func TestParquetSizes(t *testing.T) {
	whole := parquetFile(t, records())
	long := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(long[len(long)-8:], uint32(len(whole)-11))
	_, _, err := rows("x", long, rowfile.Options{})
	if err == nil || !strings.Contains(err.Error(), "the Parquet file is damaged: its directory is to have ") {
		t.Errorf("a directory longer than the file: %v", err)
	}
	fits := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(fits[len(fits)-8:], uint32(len(whole)-12))
	if _, _, err := rows("x", fits, rowfile.Options{}); err == nil || strings.Contains(err.Error(), "is to have") {
		t.Errorf("a directory as long as the file: %v", err)
	}
}

// TestParquetLZ4Damage damages LZ4 blocks in every place, a bit at a time.
func TestParquetLZ4Damage(t *testing.T) {
	whole := parquetPacked(t, &parquet.Lz4Raw, records())
	refused := 0
	for n := 4; n < len(whole); n += stride() {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[n] ^= 1 << bit
			if _, _, err := rows("x", damaged, rowfile.Options{}); err != nil && strings.Contains(err.Error(), "LZ4 block") {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no damaged block was refused")
	}
}

// TestParquetMutations damages files in several places at once. They must end
// in rows or an error, without a panic, and without the memory that a size in
// them asks for.
func TestParquetMutations(t *testing.T) {
	const most = 64 << 20 // bytes that a file of three thousand may take
	files := [][]byte{parquetFile(t, records()), parquetPacked(t, &parquet.Lz4Raw, records())}
	rng := rand.New(rand.NewPCG(7, 11))
	rounds := 1200
	if testing.Short() {
		rounds = 200
	}
	var before, after runtime.MemStats
	for n := range rounds {
		b := mutated(rng, files[n%len(files)])
		runtime.ReadMemStats(&before)
		rows("x", b, rowfile.Options{})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("round %d took %d MB", n, took>>20)
		}
	}
}

// mutated is a copy with a few bytes changed, taken out or put in, most of them
// towards the end, where the directory is.
func mutated(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(6) {
		i := 4 + rng.IntN(len(b)-12)
		if rng.IntN(2) == 0 {
			i = max(i, 4+rng.IntN(len(b)-12))
		}
		switch rng.IntN(5) {
		case 0:
			b[i] = byte(rng.Uint32())
		case 1:
			b[i] ^= 1 << rng.IntN(8)
		case 2:
			b = append(b[:i:i], b[i+1:]...)
		case 3:
			b = append(b[:i:i], append([]byte{byte(rng.Uint32())}, b[i:]...)...)
		case 4:
			b[i] = 0xff
		}
	}
	return b
}
