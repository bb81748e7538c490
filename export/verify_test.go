package export_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

// spell prints ids as letters.
func spell(dst []byte, ids []int32) ([]byte, error) {
	for _, id := range ids {
		dst = append(dst, 'a'+byte(id%26))
	}
	return dst, nil
}

// mixed are rows of two splits, with messages.
func mixed(n int) []*export.Row {
	rs := randomRows(n, 3000)
	for i, r := range rs {
		r.Messages, r.Answer = []eyrie.Message{user(fmt.Sprintf("what is %d?", i))}, eyrie.Message{Content: fmt.Sprint("it is ", i), Reasoning: "hm"}
		if i%4 == 3 {
			r.Meta.Split = eyrie.Validation
		}
	}
	return rs
}

func TestVerify(t *testing.T) {
	for _, f := range export.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			root, _ := openRoot(t)
			o := export.Options{Format: f, ShardRows: 20, Decode: spell}
			rs := mixed(100)
			mustExport(t, root, o, rs...)
			checked := 0
			verify := func(rs ...*export.Row) (*export.Verification, error) {
				return export.Verify(root, "out/code", rows(nil, rs...), export.Options{Decode: spell}, func(*export.Row) error { checked++; return nil })
			}
			v, err := verify(rs...)
			if err != nil || v.Rows != 100 || v.More != 0 || checked != 100 {
				t.Fatalf("untouched: %+v, %v, %d rows checked", v, err, checked)
			}
			// The run has gone on.
			grown := append([]*export.Row{talk("new/t0/s0", eyrie.Message{Content: "x"}, user("y"))}, rs...)
			if v, err := verify(grown...); err != nil || v.Rows != 100 || v.More != 1 {
				t.Errorf("of a run that has gone on: %+v, %v", v, err)
			}
			// A row is gone, or comes elsewhere.
			if _, err := verify(rs[1:]...); err == nil || !strings.Contains(err.Error(), rs[0].ID) {
				t.Errorf("of a run without the first row: %v", err)
			}
			// A row would be another.
			was := rs[40]
			other := *was
			if f.Conversations() {
				other.Answer.Content = "it is not 40"
			} else {
				other.IDs.CompletionIDs = append([]int32{2999}, was.IDs.CompletionIDs[1:]...)
			}
			rs[40] = &other
			if _, err := verify(rs...); err == nil || !strings.Contains(err.Error(), was.ID) {
				t.Errorf("of a row that would be another: %v", err)
			}
			rs[40] = was
			cause := errors.New("no")
			if _, err := export.Verify(root, "out/code", rows(nil, rs...), o, func(*export.Row) error { return cause }); !errors.Is(err, cause) {
				t.Errorf("the check's word is lost: %v", err)
			}
		})
	}
}

func TestVerifyShowsTheFirstDifference(t *testing.T) {
	r := row("a", eyrie.KnownEngine, 2, 3)
	other := *r
	other.IDs.CompletionIDs = []int32{101, 7, 103}
	shorter := *r
	shorter.IDs.CompletionIDs = []int32{101}
	moved := *r
	moved.IDs.PromptIDs, moved.IDs.CompletionIDs = []int32{1}, []int32{2, 101, 102, 103}
	for want, now := range map[string]*export.Row{
		`train.jsonl, row 1 (a): input_ids[3] is 102 "y", and would be 7 "h"; before it stands "bcx"`: &other,
		`train.jsonl, row 1 (a): there are 5 ids, and would be 3`:                                     &shorter,
		`train.jsonl, row 1 (a): loss_mask[1] is 0, and would be 1, at 2 "c"`:                         &moved,
	} {
		root, _ := openRoot(t)
		mustExport(t, root, export.Options{}, r)
		if _, err := export.Verify(root, "out/code", rows(nil, now), export.Options{Decode: spell}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestVerifyOfDamage: every byte that changed is noticed, and damage that the
// manifest was adapted to is an error and no panic.
func TestVerifyOfDamage(t *testing.T) {
	rs := mixed(12)
	for _, name := range []string{"specforge", "parquet", "arrow", "messages"} {
		root, dir := openRoot(t)
		o := export.Options{Format: format(t, name)}
		m := mustExport(t, root, o, rs...)
		file := filepath.Join(dir, "out", "code", filepath.FromSlash(m.Files[0].Name))
		manifest := filepath.Join(dir, "out", "code", "manifest.json")
		whole, _ := os.ReadFile(file)
		said, _ := os.ReadFile(manifest)
		verify := func() error {
			_, err := export.Verify(root, "out/code", rows(nil, rs...), o, nil)
			return err
		}
		put := func(name string, b []byte) {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < len(whole); i += max(1, len(whole)/30) {
			b := append([]byte(nil), whole...)
			b[i] ^= 0x10
			put(file, b)
			put(manifest, said)
			if err := verify(); err == nil || !strings.Contains(err.Error(), "digest") {
				t.Fatalf("%s: byte %d changed: %v", name, i, err)
			}
			for _, b := range [][]byte{b, b[:i]} {
				put(file, b)
				put(manifest, adapted(said, whole, b))
				if err := verify(); err == nil && name == "specforge" {
					t.Fatalf("%s: byte %d changed, or the file ends there, and the manifest with it: nothing is said", name, i)
				}
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := verify(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: without its first file: %v", name, err)
		}
	}
}

// adapted is a manifest that is right about a file that has changed.
func adapted(manifest, was, is []byte) []byte {
	sum := func(b []byte) string {
		s := sha256.Sum256(b)
		return hex.EncodeToString(s[:])
	}
	s := strings.Replace(string(manifest), sum(was), sum(is), 1)
	return []byte(strings.Replace(s, fmt.Sprintf(`"bytes": %d`, len(was)), fmt.Sprintf(`"bytes": %d`, len(is)), 1))
}

// TestVerifyOfAnOldExport: one that was written before there were formats,
// splits and cards.
func TestVerifyOfAnOldExport(t *testing.T) {
	root, dir := openRoot(t)
	r := row("a", eyrie.KnownEngine, 1, 2)
	line := `{"id":"a","input_ids":[1,101,102],"loss_mask":[0,1,1]}` + "\n"
	meta := `{"id":"a","set":"code"}` + "\n"
	entry := func(name, content string) string {
		sum := sha256.Sum256([]byte(content))
		return fmt.Sprintf(`{"name":%q,"bytes":%d,"sha256":%q}`, name, len(content), hex.EncodeToString(sum[:]))
	}
	old := `{"version":1,"set":"code","rows":1,"tokens":3,"files":[` + entry("train.jsonl", line) + "," + entry("meta.jsonl", meta) + "," + entry("refused.jsonl", "") + `]}`
	if err := os.MkdirAll(filepath.Join(dir, "out", "code"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"train.jsonl": line, "meta.jsonl": meta, "refused.jsonl": "", "manifest.json": old} {
		if err := os.WriteFile(filepath.Join(dir, "out", "code", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := export.Verify(root, "out/code", rows(nil, r), export.Options{}, nil); err != nil || v.Rows != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	mustExport(t, root, export.Options{}, r) // takes its place
}
