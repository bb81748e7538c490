package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
)

// contents are the journal's files with what is in them, but for the lock.
func contents(t *testing.T, fsys journal.FS) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, name := range files(t, fsys, "") {
		if name != "lock" {
			m[name] = string(get(t, fsys, "journal/"+name))
		}
	}
	return m
}

// whole reads every record there is, by its attempt.
func whole(t *testing.T, fsys journal.FS) map[int64]journal.Entry {
	t.Helper()
	m := map[int64]journal.Entry{}
	for e, err := range journal.ReadIn(fsys) {
		if err != nil {
			t.Fatal(err)
		}
		m[e.Record.(*eyrie.EndedRecord).Attempt] = e
	}
	return m
}

// run is a journal of answers 1 to n in several segments, of which the first
// ones are sealed or not. It runs in a bubble.
func run(t *testing.T, n int64, pack bool) (*faultfs.FS, []journal.Ref) {
	t.Helper()
	disk := faultfs.New(1)
	if !pack {
		disk.Inject(func(op faultfs.Op) faultfs.Fault {
			if strings.HasSuffix(op.Name, ".zst.partial") {
				return faultfs.Fault{Err: errors.New("no sealing")}
			}
			return faultfs.Fault{}
		})
	}
	j, _, err := journal.OpenIn(disk, smallSegments, nil)
	if err != nil {
		t.Fatal(err)
	}
	refs := []journal.Ref{{}}
	for i := range n {
		ref, err := j.Append(answer(i + 1))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	synctest.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	disk.Inject(nil)
	return disk, refs
}

// hurt is a way to damage a file.
var hurt = map[string]func(rng *rand.Rand, b []byte) []byte{
	"a bit": func(rng *rand.Rand, b []byte) []byte {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		return b
	},
	"a sector of zeros": func(rng *rand.Rand, b []byte) []byte {
		at := rng.IntN(len(b)) &^ 511
		clear(b[at:min(len(b), at+512)])
		return b
	},
	"cut off": func(rng *rand.Rand, b []byte) []byte { return b[:rng.IntN(len(b))] },
	"empty":   func(_ *rand.Rand, b []byte) []byte { return nil },
	"missing": nil,
	"a page of noise": func(rng *rand.Rand, b []byte) []byte {
		at := rng.IntN(len(b))
		for i := at; i < min(len(b), at+1500); i++ {
			b[i] = byte(rng.Uint32())
		}
		return b
	},
}

// TestRepair damages journals, plain and sealed, and wants every record back
// that was not hit, at its place, with nothing destroyed.
func TestRepair(t *testing.T) {
	for _, pack := range []bool{false, true} {
		for name, damage := range hurt {
			t.Run(fmt.Sprintf("%s, packed %v", name, pack), func(t *testing.T) {
				for seed := range uint64(10) {
					synctest.Test(t, func(t *testing.T) { repairOnce(t, seed, pack, damage) })
				}
			})
		}
	}
}

func repairOnce(t *testing.T, seed uint64, pack bool, damage func(*rand.Rand, []byte) []byte) {
	rng := rand.New(rand.NewPCG(seed, 5))
	disk, refs := run(t, 40, pack)
	before := whole(t, disk)
	ext := ".jsonl"
	if pack {
		ext = ".jsonl.zst"
	}
	segment := uint32(1 + rng.IntN(3))
	name := fmt.Sprintf("journal/%06d%s", segment, ext)
	bad := []byte(nil)
	if damage == nil {
		if err := disk.Remove(name); err != nil {
			t.Fatal(err)
		}
	} else {
		bad = damage(rng, get(t, disk, name))
		put(t, disk, name, bad)
	}
	spoilt := contents(t, disk)

	found, err := journal.RepairIn(disk, true)
	if err != nil {
		t.Fatalf("dry: %v", err)
	}
	if !maps.Equal(contents(t, disk), spoilt) {
		t.Fatal("a dry run changed something")
	}
	did, err := journal.RepairIn(disk, false)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for i := range did.Damage {
		if kept := did.Damage[i].Kept; damage != nil && string(get(t, disk, kept)) != string(bad) {
			t.Errorf("%s is not the file as it was", kept)
		}
		did.Damage[i].Kept = ""
	}
	if !reflect.DeepEqual(found.Damage, did.Damage) {
		t.Errorf("the dry run said %+v, the repair %+v", found.Damage, did.Damage)
	}
	if len(did.Damage) == 0 {
		if pack { // a bit that is not used, or the checksum's own
			return
		}
		t.Fatal("no damage was found")
	}
	lost := func(ref journal.Ref) bool {
		return slices.ContainsFunc(did.Damage[0].Stretches, func(s journal.Stretch) bool {
			return ref.Segment == segment && ref.Offset < s.To && ref.Offset+int64(ref.Length) > s.From
		})
	}
	after := whole(t, disk)
	for n := range int64(40) {
		e, ok := after[n+1]
		switch {
		case !lost(refs[n+1]):
			if !ok || !reflect.DeepEqual(e, before[n+1]) {
				t.Fatalf("record %d was not hit and is %+v", n+1, e)
			}
		case ok: // its charge, out of the index
			r := e.Record.(*eyrie.EndedRecord)
			if r.OK || r.Content != "" || r.Cost != answer(n+1).Cost || e.Ref != refs[n+1] {
				t.Fatalf("record %d was hit and is %+v", n+1, e)
			}
		case pack && damage != nil && did.Damage[0].Stretches[0].From > 0:
			t.Fatalf("the charge of record %d is forgotten", n+1)
		}
	}
	if again, err := journal.RepairIn(disk, true); err != nil || len(again.Damage) > 0 {
		t.Fatalf("after the repair there is damage: %+v, %v", again, err)
	}
}

func TestRepairSaysWhereAndWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, refs := run(t, 20, false)
		const file = "journal/000001.jsonl"
		b := get(t, disk, file)
		b[refs[2].Offset+50] ^= 1
		put(t, disk, file, b)
		_, _, err := journal.OpenIn(disk, smallSegments, nil)
		if err == nil || !strings.Contains(err.Error(), "eyrie repair") {
			t.Errorf("opening it says %v", err)
		}
		got, err := journal.RepairIn(disk, true)
		if err != nil || len(got.Damage) != 1 || len(got.Damage[0].Stretches) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		d, s := got.Damage[0], got.Damage[0].Stretches[0]
		if d.Segment != "000001" || s.From != refs[2].Offset || s.To != refs[2].Offset+int64(refs[2].Length) || s.Before != refs[1] || s.After != refs[3] {
			t.Errorf("%+v: want the stretch of %v between %v and %v", d, refs[2], refs[1], refs[3])
		}
	})
}

func TestRepairRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, _ := run(t, 20, false)
		j, _, err := journal.OpenIn(disk, smallSegments, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.RepairIn(disk, false); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("while a run goes on: %v", err)
		}
		synctest.Wait()
		j.Close()
		head := `"k":"segment","t":1,"v":9,"n":1}`
		put(t, disk, "journal/000001.jsonl", []byte(`{"c":"`+crc(head)+`",`+head+"\n"))
		was := contents(t, disk)
		if _, err := journal.RepairIn(disk, false); err == nil || !strings.Contains(err.Error(), "format 9") {
			t.Errorf("a newer format: %v", err)
		}
		if !maps.Equal(was, contents(t, disk)) {
			t.Error("a journal that cannot be repaired was changed")
		}
		if _, err := journal.RepairIn(faultfs.New(1), true); !errors.Is(err, journal.ErrNoJournal) {
			t.Errorf("without a journal: %v", err)
		}
	})
}

// TestRepairSalvages takes out of a torn tail what stands behind the line that
// tore it, and only what belongs to the journal.
func TestRepairSalvages(t *testing.T) {
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	start := func(n int64) *eyrie.StartedRecord {
		return &eyrie.StartedRecord{Attempt: n, Key: answer(n).Key, Hold: 9}
	}
	other := answer(3)
	other.Attempt = 4 // the number of another generation
	if _, err := j.Append(start(1), start(2), start(4), answer(2)); err != nil {
		t.Fatal(err)
	}
	ref, err := j.Append(&eyrie.SeenRecord{Attempt: 1, ID: "torn"}, answer(1), answer(2), other, start(5), answer(5), answer(6), start(7))
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	_ = ref
	const file = "journal/000001.jsonl"
	b := get(t, disk, file)
	at := bytes.Index(b, []byte(`"id":"torn"`))
	b[at+2] ^= 1
	put(t, disk, file, b)
	if _, torn, err := journal.OpenIn(disk, journal.Options{}, nil); err != nil || torn == nil {
		t.Fatalf("torn %v, %v", torn, err)
	}
	disk = disk.Restart()
	for _, dry := range []bool{true, false} {
		got, err := journal.RepairIn(disk, dry)
		want := []eyrie.Record{answer(1), start(5), answer(5)}
		if err != nil || len(got.Damage) > 0 || !reflect.DeepEqual(got.Salvaged, want) {
			t.Fatalf("dry %v: salvaged %+v, %v; want %+v", dry, got.Salvaged, err, want)
		}
	}
	if got, err := journal.RepairIn(disk, false); err != nil || len(got.Salvaged) > 0 {
		t.Errorf("a second time it salvages %+v, %v", got.Salvaged, err)
	}
}

// TestRepairSurvivesCrashes breaks a repair off at every operation.
func TestRepairSurvivesCrashes(t *testing.T) {
	for at, more := 0, true; more; at++ {
		synctest.Test(t, func(t *testing.T) {
			disk, refs := run(t, 20, true)
			const file = "journal/000002.jsonl.zst"
			b := get(t, disk, file)
			b[len(b)/2] ^= 1
			put(t, disk, file, b)
			disk = disk.Restart()
			more = false
			disk.Inject(func(op faultfs.Op) faultfs.Fault {
				more = more || op.N == at
				return faultfs.Fault{Crash: op.N == at}
			})
			journal.RepairIn(disk, false)
			disk = disk.Reboot()
			if _, err := journal.RepairIn(disk, false); err != nil {
				t.Fatalf("crashed at operation %d: %v", at, err)
			}
			synctest.Wait()
			after := whole(t, disk)
			for n := int64(1); n <= 20; n++ {
				if e, ok := after[n]; !ok || e.Ref != refs[n] || e.Record.(*eyrie.EndedRecord).Cost != answer(n).Cost {
					t.Fatalf("crashed at operation %d: record %d is %+v", at, n, e)
				}
			}
		})
	}
}
