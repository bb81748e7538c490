package tokenizer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/go-json-experiment/json"
)

// tiktokenFile is a tiktoken vocabulary: the 256 single bytes, then tokens.
func tiktokenFile(tokens ...string) []byte {
	var b bytes.Buffer
	for rank := range 256 + len(tokens) {
		text := string([]byte{byte(rank)})
		if rank >= 256 {
			text = tokens[rank-256]
		}
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(text)), rank)
	}
	return b.Bytes()
}

// kimiFiles is a model folder in Kimi's format: 256 bytes, the tokens, and behind
// them the added tokens at their places.
func kimiFiles(tokens ...string) fstest.MapFS {
	var config strings.Builder
	for slot, name := range map[int]string{
		0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 10: "<|im_system|>", 17: "<|im_middle|>",
		11: "<|tool_calls_section_begin|>", 12: "<|tool_calls_section_end|>", 22: "<think>", 23: "</think>", 255: "[PAD]",
	} {
		special := slot < 11 || slot == 17 || slot == 255
		fmt.Fprintf(&config, `,"%d":{"content":%q,"special":%v}`, 256+len(tokens)+slot, name, special)
	}
	return fstest.MapFS{
		"tiktoken.model":        {Data: tiktokenFile(tokens...)},
		"tokenizer_config.json": {Data: []byte(`{"added_tokens_decoder":{` + config.String()[1:] + `}}`)},
	}
}

// smallKimi is a vocabulary in Kimi's format: 256 bytes and twelve tokens, and
// added tokens from id 268 on.
func smallKimi(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.LoadFS(kimiFiles("he", "ll", "hell", "hello", " w", "or", "ld", " wor", " world", "xx", "xxxx", "\xe6\xbc"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// kimiFolder returns a folder with Kimi's own vocabulary: the reference data's,
// or else the one in a Go module that has it among its test data, if that is in
// the module cache (go mod download github.com/daulet/tokenizers@v1.24.0).
func kimiFolder(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "models", "kimi-k2.5")
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join(moduleData(t), "kimi-k2-instruct")
	}
	data, err := os.ReadFile(filepath.Join(dir, "tiktoken.model"))
	if err != nil {
		t.Skip("no Kimi vocabulary: ", err)
	}
	const want = "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		t.Fatalf("%s: tiktoken.model has SHA-256 %x, want %s", dir, sum, want)
	}
	return dir
}

// moduleData returns the folder of vocabularies in the module.
func moduleData(t testing.TB) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/daulet/tokenizers@v1.24.0")
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Skip("vocabularies of github.com/daulet/tokenizers@v1.24.0 are not in the module cache")
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(info.Dir, "test", "data")
}

// loadKimi loads Kimi's own vocabulary.
func loadKimi(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(kimiFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
