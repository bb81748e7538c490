package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

const (
	version   = 2 // of segments that are written
	oldest    = 1 // of segments that are read
	prefixLen = len(`{"c":"00000000",`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lenient lets text of the vendor that is not valid UTF-8 be written at all.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

type segmentLine struct {
	Version int   `json:"v"`
	Number  int   `json:"n"`
	After   int64 `json:"after,omitzero"`
}

type syncLine struct {
	At int64 `json:"at"`
}

type lostLine struct {
	To int64 `json:"to"`
}

// kindOf names the kind of a record on disk.
func kindOf(r eyrie.Record) string {
	switch r.(type) {
	case *eyrie.SessionRecord:
		return "session"
	case *eyrie.PromptRecord:
		return "prompt"
	case *eyrie.StartedRecord:
		return "started"
	case *eyrie.SeenRecord:
		return "seen"
	case *eyrie.EndedRecord:
		return "ended"
	case *eyrie.SettledRecord:
		return "settled"
	case *eyrie.BudgetRecord:
		return "budget"
	case *eyrie.GaveUpRecord:
		return "gave-up"
	}
	panic(fmt.Sprintf("journal: no kind for %T", r))
}

// newRecord returns an empty record of a kind, or nil for a kind this version
// does not know.
func newRecord(kind string) eyrie.Record {
	switch kind {
	case "session":
		return new(eyrie.SessionRecord)
	case "prompt":
		return new(eyrie.PromptRecord)
	case "started":
		return new(eyrie.StartedRecord)
	case "seen":
		return new(eyrie.SeenRecord)
	case "ended":
		return new(eyrie.EndedRecord)
	case "settled":
		return new(eyrie.SettledRecord)
	case "budget":
		return new(eyrie.BudgetRecord)
	case "gave-up":
		return new(eyrie.GaveUpRecord)
	}
	return nil
}

// appendLine appends the line of a value to dst.
func appendLine(dst []byte, kind string, at time.Time, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if err := writeLine(b, kind, at, v); err != nil {
		return dst, err
	}
	return b.Bytes(), nil
}

// writeLine appends the line of a value to b. After an error b holds part of
// it.
func writeLine(b *bytes.Buffer, kind string, at time.Time, v any) error {
	start := b.Len()
	fmt.Fprintf(b, `{"c":"00000000","k":%q,"t":%d`, kind, at.UnixMilli())
	members := b.Len()
	if err := json.MarshalWrite(b, v, lenient); err != nil {
		return fmt.Errorf("journal: %s record: %w", kind, err)
	}
	if line := b.Bytes(); len(line) > members+len("{}") {
		line[members] = ','
	} else {
		line[members] = ' ' // it has no members
	}
	b.WriteByte('\n')
	sign(b.Bytes()[start:])
	return nil
}

// sign puts its checksum into a line.
func sign(line []byte) {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(line[prefixLen:len(line)-1], castagnoli))
	hex.Encode(line[len(`{"c":"`):], sum[:])
}

var errChecksum = errors.New("bad checksum")

// checkLine verifies a line (without its '\n') and returns its kind.
func checkLine(line []byte) (kind string, err error) {
	if len(line) < prefixLen || !bytes.HasPrefix(line, []byte(`{"c":"`)) || line[prefixLen-2] != '"' || line[prefixLen-1] != ',' {
		return "", errors.New("not a line of a journal")
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], line[len(`{"c":"`):prefixLen-2]); err != nil {
		return "", errChecksum
	}
	want := binary.BigEndian.Uint32(sum[:])
	rest := line[prefixLen:]
	if crc32.Checksum(rest, castagnoli) != want {
		return "", errChecksum
	}
	rest, ok := bytes.CutPrefix(rest, []byte(`"k":"`))
	if !ok {
		return "", errors.New("a line without its kind")
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return "", errors.New("a line without its kind")
	}
	return kindName(rest[:end]), nil
}

// kindName is string(b) that does not allocate for the usual kinds.
func kindName(b []byte) string {
	for _, k := range [...]string{"sync", "ended", "started", "seen", "prompt", "settled"} {
		if string(b) == k {
			return k
		}
	}
	return string(b)
}

// decodeLine reads the record of a line that checkLine accepted; it is nil for
// a kind that is not a record's.
func decodeLine(line []byte, kind string) (eyrie.Record, time.Time, error) {
	r := newRecord(kind)
	return decodeInto(line, kind, r, r)
}

// decodeInto reads a line into v, which is the record r or its outline.
func decodeInto(line []byte, kind string, r eyrie.Record, v any) (eyrie.Record, time.Time, error) {
	if r == nil {
		return nil, time.Time{}, nil
	}
	if err := json.Unmarshal(line, v, lenient); err != nil {
		return nil, time.Time{}, fmt.Errorf("%s record: %w", kind, err)
	}
	return r, lineTime(line), nil
}

// lineTime reads the time of a line that checkLine accepted.
func lineTime(line []byte) time.Time {
	var ms int64
	if i := bytes.Index(line, []byte(`"t":`)); i >= 0 {
		for _, c := range line[i+len(`"t":`):] {
			if c < '0' || c > '9' {
				break
			}
			ms = ms*10 + int64(c-'0')
		}
	}
	return time.UnixMilli(ms)
}
