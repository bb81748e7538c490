package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
)

// sealed writes records into small segments, waits until all but the last one
// are sealed, and returns where the records are. It runs in a bubble.
func sealed(t *testing.T, fsys journal.FS, recs []eyrie.Record) (refs []journal.Ref) {
	t.Helper()
	j, _, err := journal.OpenIn(fsys, smallSegments, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		ref, err := j.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	synctest.Wait() // for the sealer
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return refs
}

// files lists the journal's files with an ending.
func files(t testing.TB, fsys journal.FS, ext string) (out []string) {
	t.Helper()
	names, err := fsys.ReadDir("journal")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasSuffix(n, ext) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// TestSealing: what is sealed reads as it did, by every way there is.
func TestSealing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		var recs []eyrie.Record
		for range 20 {
			recs = append(recs, exhibits()...)
		}
		refs := sealed(t, disk, recs)
		last := int(refs[len(refs)-1].Segment)
		if last < 5 {
			t.Fatalf("only %d segments", last)
		}
		if p, z, x := files(t, disk, ".jsonl"), files(t, disk, ".jsonl.zst"), files(t, disk, ".idx"); len(p) != 1 || len(z) != last-1 || len(x) != last-1 {
			t.Fatalf("plain %v, packed %v, indexes %v: want one plain of %d", p, z, x, last)
		}
		got, _, err := replay(t, disk)
		if err != nil || len(got) != len(recs) {
			t.Fatalf("%d of %d records, %v", len(got), len(recs), err)
		}
		rd := journal.NewReaderIn(disk)
		defer rd.Close()
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(recs)) {
			again, err := rd.At(refs[i])
			if err != nil || !reflect.DeepEqual(again, recs[i]) || !reflect.DeepEqual(got[i].Record, recs[i]) || got[i].Ref != refs[i] {
				t.Fatalf("record %d: %+v at %v and %+v at %v (%v), want %+v", i, got[i].Record, got[i].Ref, again, refs[i], err, recs[i])
			}
		}
	})
}

// TestAPackedSegmentIsOrdinaryZstd: other programs read it from end to end.
func TestAPackedSegmentIsOrdinaryZstd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		refs := sealed(t, disk, slices.Repeat(exhibits(), 5))
		dec, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dec.Close()
		text, err := dec.DecodeAll(get(t, disk, "journal/000001.jsonl.zst"), nil)
		if err != nil || !bytes.HasPrefix(text, []byte(`{"c":"`)) {
			t.Fatalf("%.80q, %v", text, err)
		}
		end := refs[0].Offset + int64(refs[0].Length)
		if line := text[refs[0].Offset:end]; !bytes.Contains(line, []byte(`"k":"session"`)) || line[len(line)-1] != '\n' {
			t.Errorf("at the record's place stands %q", line)
		}
	})
}

// TestAnIndexIsMadeAnew: it can be lost, spoilt, or of another version.
func TestAnIndexIsMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"lost":      nil,
		"empty":     func([]byte) []byte { return nil },
		"short":     func(b []byte) []byte { return b[:len(b)-3] },
		"a flipped": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"version 9": func(b []byte) []byte { b[8] = 9; return b },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := faultfs.New(1)
				recs := slices.Repeat(exhibits(), 10)
				sealed(t, disk, recs)
				const file = "journal/000002.idx"
				good := get(t, disk, file)
				if spoil == nil {
					if err := disk.Remove(file); err != nil {
						t.Fatal(err)
					}
				} else {
					put(t, disk, file, spoil(slices.Clone(good)))
				}
				n := 0
				j, _, err := journal.OpenIn(disk, smallSegments, func(journal.Entry) error { n++; return nil })
				if err != nil || n != len(recs) {
					t.Fatalf("%d of %d records, %v", n, len(recs), err)
				}
				synctest.Wait()
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(get(t, disk, file), good) {
					t.Error("the index was not made anew")
				}
			})
		})
	}
}

// TestASealedSegmentThatIsDamaged is found when it is read, and at once where
// its size is wrong.
func TestASealedSegmentThatIsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New(1)
		refs := sealed(t, disk, slices.Repeat(exhibits(), 10))
		const file = "journal/000002.jsonl.zst"
		good := get(t, disk, file)
		bad := slices.Clone(good)
		bad[len(bad)/3] ^= 0x10
		put(t, disk, file, bad)
		rd := journal.NewReaderIn(disk)
		defer rd.Close()
		i := slices.IndexFunc(refs, func(r journal.Ref) bool { return r.Segment == 2 })
		if rec, err := rd.At(refs[i]); err == nil || !strings.Contains(err.Error(), "segment 000002 at ") {
			t.Errorf("read %+v, %v", rec, err)
		}
		var last error
		for _, err := range journal.ReadIn(disk) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), "segment 000002 at ") {
			t.Errorf("reading it all: %v", last)
		}
		put(t, disk, file, good[:len(good)-20])
		if _, _, err := journal.OpenIn(disk, smallSegments, nil); err == nil || !strings.Contains(err.Error(), "segment 000002") {
			t.Errorf("cut short, it opens: %v", err)
		}
	})
}

// TestReadersBesideSealing read records while their segments are sealed under
// them, on the disk.
func TestReadersBesideSealing(t *testing.T) {
	root, dir := openRoot(t)
	fsys := durable.Root(root)
	j, _, err := journal.OpenIn(fsys, journal.Options{SegmentSize: 64 << 10}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rd := journal.NewReader(root)
	defer rd.Close()
	var refs []journal.Ref
	for n := range int64(400) {
		ref, err := j.Append(answer(n))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
		for _, n := range []int64{n, n / 2, n / 7} {
			if rec, err := rd.At(refs[n]); err != nil || !reflect.DeepEqual(rec, eyrie.Record(answer(n))) {
				t.Fatalf("record %d at %v: %+v, %v", n, refs[n], rec, err)
			}
		}
		if n%100 == 99 {
			seen := 0
			for _, err := range journal.Outline(root) {
				if err != nil {
					t.Fatal(err)
				}
				seen++
			}
			if seen != int(n)+1 {
				t.Fatalf("beside the run there are %d records, want %d", seen, n+1)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// Opening it again seals what was left.
	if j, _, err = journal.OpenIn(fsys, journal.Options{SegmentSize: 1}, nil); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if names, err := filepath.Glob(filepath.Join(dir, "journal", "*.partial")); err != nil || len(names) > 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestEveryFieldIsInTheIndex fills records with values and reads them back from
// an index: a field that is added to a record must be added to the index, with
// a new version.
func TestEveryFieldIsInTheIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var recs []eyrie.Record
		rng := rand.New(rand.NewPCG(7, 7))
		for range 40 {
			for _, r := range []eyrie.Record{
				new(eyrie.SessionRecord), new(eyrie.PromptRecord), new(eyrie.StartedRecord), new(eyrie.SeenRecord),
				new(eyrie.EndedRecord), new(eyrie.SettledRecord), new(eyrie.BudgetRecord), new(eyrie.GaveUpRecord),
			} {
				fill(rng, reflect.ValueOf(r).Elem())
				recs = append(recs, r)
			}
		}
		disk := faultfs.New(1)
		sealed(t, disk, recs)
		i := 0
		for e, err := range journal.OutlineIn(disk) {
			if err != nil {
				t.Fatal(err)
			}
			if want := outline(recs[i]); !reflect.DeepEqual(e.Record, want) {
				t.Fatalf("record %d: %+v\nwant %+v", i, e.Record, want)
			}
			i++
		}
		if i != len(recs) {
			t.Fatalf("%d of %d records", i, len(recs))
		}
	})
}

// fill sets every field to a value that is not its zero.
func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rng, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem())
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", rng.IntN(1000)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(1 + rng.IntN(2))) // Charged
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := rng.Int64N(1<<31-1) + 1
		if rng.IntN(3) == 0 && v.Kind() == reflect.Int {
			n = -n
		}
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(float64(rng.IntN(100)) / 7)
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(rng.IntN(256)))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`[{"a":1}]`)) // JSON as it came
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(rng, v.Index(i))
		}
	default:
		panic(v.Type())
	}
}

// FuzzIndex: whatever bytes an index has, reading it ends, with records or an
// error.
func FuzzIndex(f *testing.F) {
	const file = "journal/000002.idx"
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, smallSegments, nil)
	if err != nil {
		f.Fatal(err)
	}
	for range 6 {
		if _, err := j.Append(exhibits()...); err != nil {
			f.Fatal(err)
		}
	}
	for len(files(f, disk, "000002.idx")) == 0 {
		runtime.Gosched() // until the sealer has come so far
	}
	if err := j.Close(); err != nil {
		f.Fatal(err)
	}
	good := get(f, disk, file)
	f.Add(good[16:])
	f.Fuzz(func(t *testing.T, b []byte) {
		// The checksum is made good, so that the reader has to be.
		put(t, disk, file, slices.Concat(good[:12], littleCRC(b), b))
		var n int
		var failed error
		for _, err := range journal.OutlineIn(disk) {
			n++
			failed = err
		}
		if bytes.Equal(b, good[16:]) && failed != nil {
			t.Errorf("the index as it was: %v after %d records", failed, n)
		}
	})
}
