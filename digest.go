package eyrie

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// Digest is a 128-bit content digest.
type Digest [16]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes d as 32 hex digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [Digest.MarshalText] wrote.
func (d *Digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return fmt.Errorf("digest %q: want %d hex digits", b, 2*len(d))
	}
	if _, err := hex.Decode(d[:], b); err != nil {
		return fmt.Errorf("digest %q: %w", b, err)
	}
	return nil
}

// Key identifies one generation by what determines it: prompt content, turn,
// sample, model and sampling. Where it was bought, and for which data set, is
// not part of it.
type Key = Digest

// GenerationKey is the key of one generation.
func GenerationKey(prompt Digest, turn, sample int, model string, sampling Digest) Key {
	h := newDigester("generation/1")
	h.h.Write(prompt[:])
	h.int(turn)
	h.int(sample)
	h.str(model)
	h.h.Write(sampling[:])
	return h.sum()
}

// digester hashes a sequence of fields, each with its length before it, so
// that no two different sequences look alike.
type digester struct {
	h   hash.Hash
	num [8]byte
}

func newDigester(domain string) *digester {
	d := &digester{h: sha256.New()}
	d.str(domain)
	return d
}

func (d *digester) int(n int) {
	binary.LittleEndian.PutUint64(d.num[:], uint64(n))
	d.h.Write(d.num[:])
}

func (d *digester) str(s string) {
	d.int(len(s))
	io.WriteString(d.h, s)
}

func (d *digester) sum() (out Digest) {
	copy(out[:], d.h.Sum(nil))
	return out
}
