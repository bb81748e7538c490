package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
)

func openRoot(t testing.TB) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func ended(n int) *eyrie.EndedRecord {
	return &eyrie.EndedRecord{
		Attempt: int64(n), Key: eyrie.Key{byte(n), byte(n >> 8)}, Set: "code", Lane: "a/b", OK: true, Charged: eyrie.ChargedYes,
		Cost: eyrie.Money(n) * 1000, Content: fmt.Sprintf("answer %d\nwith <tags> & 漢字 🦉 \u2028", n),
		Usage: eyrie.Usage{Given: true, PromptTokens: 7, CompletionTokens: n, ReasoningTokens: -1},
	}
}

// replay opens the journal and closes it, and returns its whole records. What
// Open folded must be their outlines.
func replay(t *testing.T, fsys journal.FS) ([]journal.Entry, *journal.Torn, error) {
	t.Helper()
	var folded, whole []journal.Entry
	j, torn, err := journal.OpenIn(fsys, journal.Options{}, func(e journal.Entry) error {
		folded = append(folded, e)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := j.Close(); err != nil {
		return nil, nil, err
	}
	for e, err := range journal.ReadIn(fsys) {
		if err != nil {
			t.Fatalf("what opens cannot be read: %v", err)
		}
		whole = append(whole, e)
	}
	if len(folded) != len(whole) {
		t.Fatalf("Open folded %d records and Read has %d", len(folded), len(whole))
	}
	for i, e := range whole {
		e.Record = outline(e.Record)
		if !reflect.DeepEqual(folded[i], e) {
			t.Fatalf("record %d: Open folded %+v, want the outline %+v", i, folded[i], e)
		}
	}
	return whole, torn, nil
}

// outline is what of a record needs no text.
func outline(r eyrie.Record) eyrie.Record {
	switch r := r.(type) {
	case *eyrie.PromptRecord:
		o := *r
		o.Messages, o.Tools = nil, nil
		return &o
	case *eyrie.EndedRecord:
		o := *r
		o.Reasoning, o.Content, o.ToolCalls, o.FinalFrame = "", "", nil, ""
		o.PromptIDs, o.CompletionIDs, o.Logprobs = nil, nil, nil
		return &o
	}
	return r
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	root, _ := openRoot(t)
	usage := 3 * eyrie.Dollar
	recs := []eyrie.Record{
		&eyrie.SessionRecord{Version: "v1", Budget: 100 * eyrie.Dollar, AccountUsage: &usage},
		&eyrie.PromptRecord{Prompt: eyrie.Digest{9}, Set: "code", ID: "p", Messages: []eyrie.Message{{Role: eyrie.User, Content: "hi"}}, Tools: []byte(`[{"b":1,"a":2}]`)},
		&eyrie.StartedRecord{Attempt: 1, Key: eyrie.Key{1}, Set: "code", Lane: "a/b", Hold: 5, PromptTokens: 7, Sampling: eyrie.Sampling{Temperature: new(0.7), MaxTokens: 16, Thinking: true}},
		&eyrie.SeenRecord{Attempt: 1, ID: "gen-1"},
		ended(1),
		&eyrie.SettledRecord{Attempts: []int64{1}, Cost: 42, Source: "generation gen-1"},
		&eyrie.GaveUpRecord{Key: eyrie.Key{2}, Set: "code", Class: "empty answer"},
	}
	j, _, err := journal.Open(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	var refs []journal.Ref
	for _, r := range recs {
		ref, err := j.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got, torn, err := replay(t, durable.Root(root))
	if err != nil || torn != nil || len(got) != len(recs) {
		t.Fatalf("replayed %d of %d records, torn %v, %v", len(got), len(recs), torn, err)
	}
	rd := journal.NewReader(root)
	defer rd.Close()
	for i, e := range got {
		if !reflect.DeepEqual(e.Record, recs[i]) || e.Ref != refs[i] {
			t.Errorf("record %d: got %+v at %v, want %+v at %v", i, e.Record, e.Ref, recs[i], refs[i])
		}
		again, err := rd.At(e.Ref)
		if err != nil || !reflect.DeepEqual(again, recs[i]) {
			t.Errorf("record %d read at %v: %+v, %v", i, e.Ref, again, err)
		}
	}
}

func TestEveryLineIsPlainJSON(t *testing.T) {
	root, dir := openRoot(t)
	j, _, err := journal.Open(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ended(1)); err != nil {
		t.Fatal(err)
	}
	j.Close()
	b, err := os.ReadFile(filepath.Join(dir, "journal", "000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	root, _ := openRoot(t)
	j, _, err := journal.Open(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 50, 40
	var wg sync.WaitGroup
	refs := make([]journal.Ref, writers*each)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := w*each + i
				if err := j.Note(&eyrie.SeenRecord{Attempt: int64(n), ID: "g"}); err != nil {
					t.Error(err)
				}
				var err error
				if refs[n], err = j.Append(&eyrie.StartedRecord{Attempt: int64(n)}, ended(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	rd := journal.NewReader(root)
	defer rd.Close()
	for n, ref := range refs {
		r, err := rd.At(ref)
		if err != nil || !reflect.DeepEqual(r, ended(n)) {
			t.Fatalf("record %d at %v: %+v, %v", n, ref, r, err)
		}
	}
	if got, _, err := replay(t, durable.Root(root)); err != nil || len(got) != 3*writers*each {
		t.Errorf("replayed %d of %d: %v", len(got), 3*writers*each, err)
	}
}

// put makes the whole content of a file.
func put(t testing.TB, fsys journal.FS, name string, b []byte) {
	t.Helper()
	err := durable.WriteFileIn(fsys, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// get reads a whole file.
func get(t testing.TB, fsys journal.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTornAtEveryByte cuts a journal at every byte of its last batch: what was
// acknowledged before is there, and the journal goes on.
func TestTornAtEveryByte(t *testing.T) {
	const file = "journal/000001.jsonl"
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := j.Append(ended(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ended(2), ended(3)); err != nil {
		t.Fatal(err)
	}
	j.Close()
	whole := get(t, disk, file)
	for cut := int(ref.Offset) + int(ref.Length); cut <= len(whole); cut++ {
		put(t, disk, file, whole[:cut])
		got, torn, err := replay(t, disk)
		if err != nil || len(got) < 1 || !reflect.DeepEqual(got[0].Record, ended(1)) {
			t.Fatalf("cut at %d: %d records, %v", cut, len(got), err)
		}
		atLine := whole[cut-1] == '\n'
		if (torn == nil) != atLine {
			t.Fatalf("cut at %d (a line's end: %v): torn is %v", cut, atLine, torn)
		}
		if torn != nil {
			kept := get(t, disk, torn.Kept)
			if int64(len(kept)) != torn.Bytes || !bytes.HasSuffix(whole[:cut], kept) {
				t.Fatalf("cut at %d: the tail was not kept", cut)
			}
		}
		j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(ended(9)); err != nil {
			t.Fatal(err)
		}
		j.Close()
		again, torn, err := replay(t, disk)
		if err != nil || torn != nil || len(again) != len(got)+1 {
			t.Fatalf("cut at %d, went on: %d records after %d, torn %v, %v", cut, len(again), len(got), torn, err)
		}
	}
}

// TestUnsyncedGarbage: a power failure may leave any bytes in the last batch,
// good lines after bad ones among them.
func TestUnsyncedGarbage(t *testing.T) {
	root, dir := openRoot(t)
	j, _, _ := journal.Open(root, nil)
	ref, err := j.Append(ended(1))
	if err != nil {
		t.Fatal(err)
	}
	j.Append(ended(2), ended(3))
	j.Close()
	file := filepath.Join(dir, "journal", "000001.jsonl")
	b, _ := os.ReadFile(file)
	from := int(ref.Offset) + int(ref.Length)
	second := bytes.Index(b[from:], []byte("answer 2")) + from
	copy(b[second:], "\x00\x00\x00\x00")
	os.WriteFile(file, b, 0o644)
	got, torn, err := replay(t, durable.Root(root))
	if err != nil || torn == nil || len(got) != 1 {
		t.Fatalf("%d records, torn %v, %v; want the acknowledged one", len(got), torn, err)
	}
}

func TestDamageStops(t *testing.T) {
	root, dir := openRoot(t)
	j, _, _ := journal.Open(root, nil)
	ref, err := j.Append(ended(1))
	if err != nil {
		t.Fatal(err)
	}
	j.Append(ended(2))
	j.Close()
	file := filepath.Join(dir, "journal", "000001.jsonl")
	b, _ := os.ReadFile(file)
	b[ref.Offset+60] ^= 1
	os.WriteFile(file, b, 0o644)
	_, _, err = replay(t, durable.Root(root))
	var damage *journal.DamageError
	if !errors.As(err, &damage) || damage.Offset != ref.Offset || damage.Segment != "000001" {
		t.Fatalf("got %v; want damage in segment 000001 at %d", err, ref.Offset)
	}
	after, _ := os.ReadFile(file)
	if !bytes.Equal(after, b) {
		t.Error("a damaged journal was changed")
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("segment 000001 at %d", ref.Offset)) {
		t.Errorf("the message does not say where: %v", err)
	}
}

func TestMissingSegment(t *testing.T) {
	root, dir := openRoot(t)
	j, _, _ := journal.Open(root, nil)
	j.Append(ended(1))
	j.Close()
	if err := os.Rename(filepath.Join(dir, "journal", "000001.jsonl"), filepath.Join(dir, "journal", "000002.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := replay(t, durable.Root(root)); err == nil || !strings.Contains(err.Error(), "segment 000001 at 0: it is missing") {
		t.Errorf("got %v", err)
	}
}

func TestTwoRunsOnOneFolder(t *testing.T) {
	root, _ := openRoot(t)
	j, _, err := journal.Open(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := journal.Open(root, nil); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("the second Open: %v, want ErrLocked", err)
	}
	// Reading is allowed while a run goes on.
	if _, err := j.Append(ended(1)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range journal.Read(root) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("read %d records beside the run, want 1", n)
	}
	j.Close()
	if _, _, err := replay(t, durable.Root(root)); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestReadWithoutJournal(t *testing.T) {
	root, _ := openRoot(t)
	for _, err := range journal.Read(root) {
		if !errors.Is(err, journal.ErrNoJournal) {
			t.Errorf("got %v", err)
		}
	}
}

func TestUnknownKindsAreSkippedAndNewFormatsRefused(t *testing.T) {
	root, dir := openRoot(t)
	j, _, _ := journal.Open(root, nil)
	j.Append(ended(1))
	j.Close()
	file := filepath.Join(dir, "journal", "000001.jsonl")
	b, _ := os.ReadFile(file)
	// The checksums are of the rest of the line, from the kind on.
	os.WriteFile(file, append(b, []byte(`{"c":"`+crc(`"k":"weather","t":1,"sun":true}`)+`","k":"weather","t":1,"sun":true}`+"\n")...), 0o644)
	if got, torn, err := replay(t, durable.Root(root)); err != nil || torn != nil || len(got) != 1 {
		t.Errorf("with an unknown kind: %d records, torn %v, %v", len(got), torn, err)
	}
	head := `"k":"segment","t":1,"v":3,"n":1}`
	os.WriteFile(file, []byte(`{"c":"`+crc(head)+`",`+head+"\n"), 0o644)
	if _, _, err := replay(t, durable.Root(root)); err == nil || !strings.Contains(err.Error(), "format 3") {
		t.Errorf("a newer format: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	const file = "journal/000001.jsonl"
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	j.Append(ended(1))
	j.Append(ended(2))
	j.Close()
	good := get(f, disk, file)
	f.Add(good)
	f.Add(good[:len(good)-10])
	f.Fuzz(func(t *testing.T, b []byte) {
		disk := faultfs.New(1)
		if err := disk.Mkdir("journal", 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, disk, file, b)
		first, _, err := replay(t, disk)
		if err != nil {
			return
		}
		// What opens once opens again with the same records and nothing torn.
		second, torn, err := replay(t, disk)
		if err != nil || torn != nil || len(first) != len(second) {
			t.Errorf("opened with %d records, then with %d, torn %v, %v", len(first), len(second), torn, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 200, 2000} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			root, _ := openRoot(b)
			j, _, err := journal.Open(root, nil)
			if err != nil {
				b.Fatal(err)
			}
			rec := ended(1)
			rec.Content = strings.Repeat("some text of an answer, ", 320)
			b.SetBytes(int64(len(rec.Content)))
			b.SetParallelism(writers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := j.Append(rec); err != nil {
						b.Error(err)
						return
					}
				}
			})
			j.Close()
		})
	}
}
