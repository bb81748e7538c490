package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/export"
)

// TestExportAndVerify exports a run in every format, and verifies it as it is
// and with one thing changed behind the manifest's back.
func TestExportAndVerify(t *testing.T) {
	runDir, _ := emulatedRun(t, func(s *emulator.Scenario) { s.Text.NonCanonical = 0.05 })
	for _, f := range export.Formats() {
		if (testing.Short() || raced) && !slices.Contains([]string{"parquet", "torchspec"}, f.Name) {
			continue
		}
		out := filepath.Join(t.TempDir(), "rows")
		args := []string{"export", runDir, "--for", f.Name, "--out", out, "--shard-size", "50kB"}
		table, _ := program(t, exitDone, "", args...)
		if !strings.Contains(table, "set") || !strings.Contains(table, out) {
			t.Errorf("%s: the table is\n%s", f.Name, table)
		}
		m := readRows[export.Manifest](t, filepath.Join(out, "set", "manifest.json"))[0]
		if m.Rows < 20 || m.Format != f.Name || m.OnPolicy != 1 || m.Vocabulary.Files != draftVocab || m.Vocabulary.Size != 163_840 {
			t.Errorf("%s: the manifest is %+v with %+v", f.Name, m, m.Vocabulary)
		}
		said, _ := program(t, exitDone, "", append(args, "--verify")...)
		if !regexp.MustCompile(`set: [0-9]+ rows are as the journal gives them\n$`).MatchString(said) {
			t.Errorf("%s: verified: %s", f.Name, said)
		}
		first := filepath.Join(out, "set", filepath.FromSlash(m.Files[0].Name))
		tamper(t, first, 100, filepath.Join(out, "set", "manifest.json"))
		if _, errOut := program(t, exitFailed, "", append(args, "--verify")...); !strings.Contains(errOut, filepath.Base(first)) {
			t.Errorf("%s: of a changed file it is said: %s", f.Name, errOut)
		}
	}
}

// tamper changes a byte of a file, and its digest in the manifest.
func tamper(t *testing.T, file string, at int, manifest string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := sha256.Sum256(b)
	if at += bytes.IndexAny(b[at:], "0123456789"); filepath.Ext(file) == ".jsonl" {
		b[at] = '0' + (b[at]-'0'+1)%10
	} else {
		b[len(b)/2] ^= 0x55
	}
	after := sha256.Sum256(b)
	m, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	m = bytes.Replace(m, []byte(hex.EncodeToString(before[:])), []byte(hex.EncodeToString(after[:])), 1)
	for name, content := range map[string][]byte{file: b, manifest: m} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerifyShowsTheToken: the place, and both tokens with their text.
func TestVerifyShowsTheToken(t *testing.T) {
	runDir, _ := emulatedRun(t, func(*emulator.Scenario) {})
	program(t, exitDone, "", "export", runDir)
	dir := filepath.Join(runDir, "export", "set")
	file := filepath.Join(dir, "train.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("163601,")) // <|im_middle|>
	tamper(t, file, at+5, filepath.Join(dir, "manifest.json"))
	_, errOut := program(t, exitFailed, "", "export", runDir, "--verify")
	if !regexp.MustCompile(`train.jsonl, row 1 \(code/1/t0/s[0-9]+\): input_ids\[[0-9]+\] is 163602 "<\|media_begin\|>", and would be 163601 "<\|im_middle\|>"; before it stands ".*"`).MatchString(errOut) {
		t.Errorf("it is said: %s", errOut)
	}
	_, errOut = program(t, exitFailed, "", "export", runDir, "--for", "parquet", "--verify")
	if !strings.Contains(errOut, "write it first") {
		t.Errorf("of an export that is not there it is said: %s", errOut)
	}
}

func TestExportFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--for parket", `no format is called "parket".*did you mean parquet\?`},
		{"--for specforge-conversation", `did you mean specforge-conversations\?`},
		{"--for xyz", `there are specforge, speculators, arrow.*messages$`},
		{"--shard-size big", `--shard-size: "big" is no size: want a number and`},
		{"--shard-size -5MB", `is no size`},
		{"--shard-size 0", `is no size`},
		{"--shard-size NaNMB", `is no size`},
		{"--shard-rows -1", `--shard-rows -1: want 1 or more`},
		{"--draft-vocab -1", `--draft-vocab -1`},
		{"--include text", `rows without ids cannot be exported for specforge`},
		{"--include best", `--include: .*"best"; want engine`},
		{"--confident 2", `--confident 2: want a number above 0`},
		{"--frmat x", `unknown flag: --frmat`},
	} {
		_, errOut := program(t, exitConfig, "", append([]string{"export", "nowhere"}, strings.Fields(tt.args)...)...)
		if !regexp.MustCompile(tt.want).MatchString(strings.TrimSpace(errOut)) {
			t.Errorf("%s: it is said: %s", tt.args, errOut)
		}
	}
	for size, want := range map[string]int64{"500MB": 500e6, "1.5 GiB": 3 << 29, "10kb": 10_000, "7B": 7} {
		if got, err := parseSize(size); got != want || err != nil {
			t.Errorf("%s is %d, %v; want %d", size, got, err, want)
		}
	}
	help, _ := program(t, exitDone, "", "export", "--help")
	for _, f := range export.Formats() {
		if !strings.Contains(help, "  "+f.Name+" ") || !strings.Contains(help, f.Loader) || !strings.Contains(help, f.Example) {
			t.Errorf("help does not show %s", f.Name)
		}
	}
}
