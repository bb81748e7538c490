package tokenizer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/go-json-experiment/json"
)

// sharedDir returns the folder with the reference data, which lies beside the
// checkout and is not part of it.
func sharedDir(t testing.TB) string {
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no reference data: set EYRIE_SHARED to its folder")
	}
	return dir
}

// loadShared loads a model folder of the reference data.
func loadShared(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(filepath.Join(sharedDir(t), "models", name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// golden reads a file of the reference data, one JSON value a line.
func golden[T any](t testing.TB, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedDir(t), "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, v)
	}
	return out
}

type goldenText struct {
	ID   int    `json:"id"`
	Cat  string `json:"cat"`
	Text string `json:"text"`
}

type goldenIDs struct {
	ID  int     `json:"id"`
	IDs []int32 `json:"ids"`
}

// diff reports the first difference between two id lists.
func diff(t *testing.T, text goldenText, got, want []int32) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("string %d (%s), token %d: got %v, want %v\n%.200q", text.ID, text.Cat, i,
		got[i:min(i+6, len(got))], want[i:min(i+6, len(want))], text.Text)
}

func TestKimiGolden(t *testing.T) {
	tok := loadShared(t, "kimi-k2.5").WithChunks(tokenizer.ChunkKimi)
	texts := golden[goldenText](t, "corpus.jsonl.gz")
	for _, row := range []struct {
		file   string
		encode func([]int32, string) []int32
	}{
		{"kimi.jsonl.gz", tok.EncodeSpecial},
		{"kimi-ordinary.jsonl.gz", tok.Encode},
	} {
		t.Run(strings.TrimSuffix(row.file, ".jsonl.gz"), func(t *testing.T) {
			for i, want := range golden[goldenIDs](t, row.file) {
				diff(t, texts[i], row.encode(nil, texts[i].Text), want.IDs)
			}
		})
	}
}

func TestKimiDecodeGolden(t *testing.T) {
	tok := loadShared(t, "kimi-k2.5")
	for _, row := range golden[struct {
		ID    int     `json:"id"`
		IDs   []int32 `json:"ids"`
		Bytes string  `json:"bytes_b64"`
		Text  string  `json:"text"`
	}](t, "kimi-decode.jsonl.gz") {
		want, err := base64.StdEncoding.DecodeString(row.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tok.Decode(nil, row.IDs)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("case %d: got %q, %v, want %q", row.ID, got, err, want)
		}
		text, err := tok.DecodeString(row.IDs)
		if err != nil || text != row.Text {
			t.Errorf("case %d: got text %q, %v, want %q", row.ID, text, err, row.Text)
		}
	}
}

// TestHuggingFaceGolden compares ids with those of the native tokenizers
// library, which always recognises added tokens.
func TestHuggingFaceGolden(t *testing.T) {
	for _, row := range []struct{ name, family string }{
		{"qwen3", "qwen"},
		{"deepseek_v3", "deepseek"},
		{"gptoss", "o200k"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tok := loadShared(t, row.name)
			if tok.Family() != row.family {
				t.Errorf("family %q, want %q", tok.Family(), row.family)
			}
			texts := golden[goldenText](t, "corpus.jsonl.gz")
			for i, want := range golden[goldenIDs](t, row.name+".jsonl.gz") {
				diff(t, texts[i], tok.EncodeSpecial(nil, texts[i].Text), want.IDs)
			}
		})
	}
}

// TestLlamaGolden uses a vocabulary from the module cache; the reference data
// has the ids only.
func TestLlamaGolden(t *testing.T) {
	texts := golden[goldenText](t, "corpus.jsonl.gz")
	data, err := os.ReadFile(filepath.Join(moduleData(t), "Meta-Llama-3-8B-Instruct.json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.LoadFS(fstest.MapFS{"tokenizer.json": {Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if before, after := tok.Template(); !slices.Equal(before, []int32{128000}) || len(after) != 0 {
		t.Errorf("template: %v and %v", before, after)
	}
	for i, want := range golden[goldenIDs](t, "llama3_1.jsonl.gz") {
		diff(t, texts[i], tok.EncodeSpecial(nil, texts[i].Text), want.IDs)
	}
}

// TestKimiNoncanonical has ids that sampling may produce and encoding never
// does. They must decode to their text, and encoding must not hide that they
// were different.
func TestKimiNoncanonical(t *testing.T) {
	tok := loadShared(t, "kimi-k2.5")
	for _, row := range golden[struct {
		ID        int     `json:"id"`
		Text      string  `json:"text"`
		IDs       []int32 `json:"ids"`
		Canonical []int32 `json:"canonical"`
	}](t, "kimi-noncanonical.jsonl.gz") {
		if text, err := tok.DecodeString(row.IDs); err != nil || text != row.Text {
			t.Errorf("case %d: got %q, %v, want %q", row.ID, text, err, row.Text)
		}
		got := tok.Encode(nil, row.Text)
		diff(t, goldenText{ID: row.ID, Text: row.Text}, got, row.Canonical)
		if slices.Equal(got, row.IDs) {
			t.Errorf("case %d: the ids are canonical", row.ID)
		}
	}
}

// TestKimiChatGolden encodes rendered conversations.
func TestKimiChatGolden(t *testing.T) {
	k25 := loadShared(t, "kimi-k2.5")
	for _, row := range golden[struct {
		ID       int     `json:"id"`
		Model    string  `json:"model"`
		Rendered string  `json:"rendered"`
		IDs      []int32 `json:"ids"`
	}](t, "kimi-chat.jsonl.gz") {
		if row.Model == "k2i" || row.IDs == nil {
			continue // K2-Instruct has other added tokens
		}
		diff(t, goldenText{ID: row.ID, Cat: row.Model, Text: row.Rendered}, k25.EncodeSpecial(nil, row.Rendered), row.IDs)
	}
}

// TestKimiInstruct has the vocabulary whose configuration does not name the
// thinking tokens.
func TestKimiInstruct(t *testing.T) {
	dir := filepath.Join(moduleData(t), "kimi-k2-instruct")
	tok, err := tokenizer.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tok.Special("<think>"); ok {
		t.Error("<think> is a token of K2-Instruct")
	}
	for _, row := range golden[struct {
		ID       int     `json:"id"`
		Model    string  `json:"model"`
		Rendered string  `json:"rendered"`
		IDs      []int32 `json:"ids"`
	}](t, "kimi-chat.jsonl.gz") {
		if row.Model == "k2i" {
			diff(t, goldenText{ID: row.ID, Cat: row.Model, Text: row.Rendered}, tok.EncodeSpecial(nil, row.Rendered), row.IDs)
		}
	}
}
