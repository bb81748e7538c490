package eyrie_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This file holds the shape of the project: who may import whom, and what of
// the world each package may touch. Whoever needs something that is not here
// changes the table on purpose, in the same commit. A "*" in a name stands for
// one part of a path.

const modulePath = "github.com/eyrie-ai/eyrie"

// imports says which of the project's own packages each package may import.
// The root package, the vocabulary, is ".". Edges (the engines, dataset,
// journal, export) do not import each other; only cmd/eyrie, which chooses
// implementations, imports them all.
var imports = map[string][]string{
	".": {}, // imports nothing of ours, so that everybody may import it

	// Pure: neither network nor disk nor clock.
	"jinja":    {},
	"ledger":   {"."},
	"limit":    {},
	"plan":     {"."},
	"handoff":  {},
	"route":    {".", "internal/spell"},
	"tokens":   {".", "chat"},
	"chat":     {".", "jinja"},
	"progress": {".", "journal"},

	"tokenizer":                      {"tokenizer/internal/*"},
	"tokenizer/internal/bpe":         {},
	"tokenizer/internal/nfc":         {},
	"tokenizer/internal/ucd":         {},
	"tokenizer/internal/pattern":     {"tokenizer/internal/ucd"},
	"tokenizer/internal/oracle":      {"tokenizer"},
	"tokenizer/internal/ucd/mktable": {"tokenizer/internal/ucd"},

	// Edges.
	"dataset":  {".", "dataset/internal/*"},
	"journal":  {".", "internal/durable"},
	"export":   {".", "internal/durable"},
	"engine/*": {".", "engine/internal/*", "internal/sse", "route"},

	"engine/internal/chunk":  {},
	"engine/internal/h1":     {"engine/internal/stream"},
	"engine/internal/h2":     {"engine/internal/stream"},
	"engine/internal/server": {".", "engine/internal/chunk", "engine/internal/h1", "engine/internal/sound", "engine/internal/stream", "internal/sse"},
	"engine/internal/sound":  {"."},
	"engine/internal/stream": {},

	"dataset/internal/*": {},

	"harvest":  {".", "journal"},
	"dispatch": {".", "journal", "ledger", "limit", "plan", "progress", "route"},

	// The other side of the tests imports nothing of ours, so that a misreading
	// cannot sit on both sides of one.
	"emulator":            {"emulator/internal/*"},
	"emulator/internal/*": {},

	"internal/config":     {".", "plan", "route"},
	"internal/durable":    {},
	"internal/e2e":        {},                                                                     // tests only
	"internal/enginetest": {".", "chat", "emulator", "internal/testvocab", "tokenizer", "tokens"}, // for tests
	"internal/faultfs":    {"internal/durable"},
	"internal/memnet":     {}, // for tests
	"internal/spell":      {},
	"internal/sse":        {},
	"internal/testvocab":  {},

	"cmd/eyrie": {
		".", "chat", "dataset", "dispatch", "emulator", "engine/*", "export", "handoff", "harvest", "internal/config", "internal/durable",
		"internal/spell", "jinja", "journal", "ledger", "limit", "plan", "progress", "route", "tokenizer", "tokens",
	},
	"demo": {}, // uses the program as a person does
}

// modules says which packages may import which modules of others. Modules that
// only tests use are not here.
var modules = map[string][]string{
	"github.com/apache/arrow-go/v18": {"dataset/internal/rowfile", "export"},
	"github.com/go-json-experiment/json": {
		".", "chat", "cmd/eyrie", "dataset", "emulator", "emulator/internal/kimi", "engine/*", "engine/internal/chunk", "engine/internal/server", "engine/internal/sound", "export", "handoff",
		"internal/config", "jinja", "journal", "tokenizer", "tokenizer/internal/oracle",
	},
	"github.com/goccy/go-yaml":         {"emulator", "internal/config"},
	"github.com/klauspost/compress":    {"dataset/internal/rowfile", "export", "journal"},
	"github.com/parquet-go/parquet-go": {"dataset/internal/rowfile", "export"},
	"github.com/spf13/cobra":           {"cmd/eyrie"},
	"github.com/spf13/pflag":           {"cmd/eyrie"},
	"golang.org/x/net":                 {"engine/internal/h2"},
	"golang.org/x/sys":                 {"internal/config"},
	"golang.org/x/term":                {"cmd/eyrie"},
}

// world says which packages may import those parts of the standard library
// that reach out of the program, or that are easily used where they should not
// be. A name covers what is below it, and the longest one counts.
var world = map[string][]string{
	"C":             {},
	"unsafe":        {},
	"encoding/json": {"demo", "internal/testvocab"}, // the project's JSON is go-json-experiment's
	"io/fs":         {"chat", "cmd/eyrie", "dataset", "export", "internal/config", "internal/durable", "internal/faultfs", "journal", "tokenizer", "tokenizer/internal/oracle"},
	"io/ioutil":     {},
	"log":           {"tokenizer/internal/*", "tokenizer/internal/ucd/mktable"},
	"log/slog":      {"cmd/eyrie", "dispatch", "internal/config"},
	"math/rand":     {"dispatch", "emulator", "internal/faultfs", "tokenizer/internal/oracle"},
	"net":           {"cmd/eyrie", "demo", "emulator", "engine/*", "engine/internal/*", "internal/enginetest", "internal/memnet"},
	"net/netip":     {"engine/*", "internal/config"}, // these two only read names
	"net/url":       {"engine/*", "engine/internal/h1", "engine/internal/h2", "engine/internal/server", "internal/config"},
	"os": {
		"chat", "cmd/eyrie", "dataset", "demo", "emulator", "export", "harvest", "internal/config", "internal/durable",
		"internal/enginetest", "internal/faultfs", "internal/memnet", "internal/testvocab", "journal", "tokenizer", "tokenizer/internal/oracle", "tokenizer/internal/ucd/mktable",
	},
	"os/exec":   {"demo", "internal/testvocab", "tokenizer/internal/oracle"},
	"os/signal": {"cmd/eyrie", "demo"},
	"syscall":   {"cmd/eyrie", "demo", "engine/internal/h1", "engine/internal/stream", "internal/durable"},
}

// calls says which packages may call what. Time, chance and the environment
// are passed in everywhere else.
var calls = map[string][]string{
	"time.Now":     {"cmd/eyrie", "dispatch", "emulator", "engine/*", "engine/internal/*", "journal"},
	"time.Since":   {"cmd/eyrie", "dispatch", "emulator", "engine/*", "engine/internal/*", "journal"},
	"time.Sleep":   {}, // a wait is a select that something can end
	"os.Exit":      {"cmd/eyrie", "demo", "tokenizer/internal/oracle"},
	"log.Fatal":    {"tokenizer/internal/oracle", "tokenizer/internal/ucd/mktable"},
	"log.Fatalf":   {"tokenizer/internal/oracle", "tokenizer/internal/ucd/mktable"},
	"os.Getenv":    {"cmd/eyrie", "demo", "internal/enginetest", "internal/testvocab"},
	"os.LookupEnv": {"cmd/eyrie"},
	"os.Environ":   {"cmd/eyrie", "demo"},
}

// sourceFile is one file of Go that is not a test.
type sourceFile struct {
	pkg string // the folder, from the module's root
	ast *ast.File
}

var fileSet = token.NewFileSet()

// sources are the module's files, whatever system they are for.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found: this test does not see the project", len(files))
	}
	return files
}

// parsed parses the module once for all tests.
var parsed = sync.OnceValues(func() (files []sourceFile, err error) {
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fileSet, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, sourceFile{path.Dir(filepath.ToSlash(name)), f})
		return nil
	})
	return files, err
})

// skip passes over folders that are not the module's.
func skip(dir string) error {
	base := filepath.Base(dir)
	if dir == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// matches reports whether one of the patterns of a table is meant.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// below finds the longest name in a table that is path or above it.
func below(table map[string][]string, path string) (name string, ok bool) {
	for n := range table {
		if (path == n || strings.HasPrefix(path, n+"/")) && len(n) > len(name) {
			name, ok = n, true
		}
	}
	return name, ok
}

// row finds what a package may import of ours.
func row(pkg string) ([]string, bool) {
	if r, ok := imports[pkg]; ok {
		return r, true
	}
	for p, r := range imports {
		if matches([]string{p}, pkg) {
			return r, true
		}
	}
	return nil, false
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, spec := range f.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := objection(f.pkg, name); why != "" {
				t.Errorf("%s: %s", fileSet.Position(spec.Pos()), why)
			}
		}
	}
}

// objection says what is against an import, or "".
func objection(pkg, imported string) string {
	if own, ok := strings.CutPrefix(imported+"/", modulePath+"/"); ok {
		own = path.Clean(own)
		if may, known := row(pkg); known && !matches(may, own) {
			return fmt.Sprintf("%s may not import %s", pkg, own)
		}
		return ""
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		module, ok := below(modules, imported)
		if !ok {
			return fmt.Sprintf("%s imports %s, and no package may", pkg, imported)
		}
		if !matches(modules[module], pkg) {
			return fmt.Sprintf("%s may not import %s: only %s may", pkg, module, strings.Join(modules[module], ", "))
		}
		return ""
	}
	if part, ok := below(world, imported); ok && !matches(world[part], pkg) {
		return fmt.Sprintf("%s may not import %s", pkg, imported)
	}
	return ""
}

// TestObjections keeps the test above from passing by accident.
func TestObjections(t *testing.T) {
	for _, tt := range []struct {
		pkg, imported string
		allowed       bool
	}{
		{"ledger", modulePath, true},
		{"ledger", modulePath + "/journal", false},
		{".", modulePath + "/ledger", false},
		{"engine/openrouter", modulePath + "/engine/openai", false},
		{"engine/anything", modulePath + "/internal/sse", true},
		{"export", modulePath + "/dataset", false},
		{"emulator", modulePath, false},
		{"emulator", modulePath + "/emulator/internal/bpe", true},
		{"tokenizer", modulePath + "/tokenizer/internal/bpe", true},
		{"cmd/eyrie", modulePath + "/engine/openrouter", true},
		{"dispatch", modulePath + "/engine/openrouter", false},
		{"cmd/eyrie", "github.com/spf13/cobra", true},
		{"dispatch", "github.com/spf13/cobra", false},
		{"journal", "github.com/go-json-experiment/json/jsontext", true},
		{"ledger", "github.com/go-json-experiment/json", false},
		{"ledger", "github.com/go-json-experimental/json", false},
		{"ledger", "pgregory.net/rapid", false},
		{"limit", "time", true},
		{"limit", "net/http", false},
		{"limit", "os", false},
		{"route", "math/rand/v2", false},
		{"internal/config", "net/url", true},
		{"internal/config", "net/http", false},
		{"engine/openrouter", "net/http", true},
		{"journal", "encoding/json", false},
		{"tokenizer", "os", true},
		{"tokenizer", "os/exec", false},
		{"jinja", "osprey", true}, // not below os
	} {
		if why := objection(tt.pkg, tt.imported); (why == "") != tt.allowed {
			t.Errorf("%s importing %s: objection %q, allowed %v", tt.pkg, tt.imported, why, tt.allowed)
		}
	}
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t) {
		found[f.pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		if _, ok := row(pkg); !ok {
			t.Errorf("package %s is not in the table of imports", pkg)
		}
	}
	for p := range imports {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(pkg string) bool { return matches([]string{p}, pkg) }) {
			t.Errorf("the table of imports has a row for %s, and there is no such package", p)
		}
	}
}

// TestCalls finds calls by the names that packages are imported under, which
// here are always their own.
func TestCalls(t *testing.T) {
	for _, f := range sources(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := pkg.Name + "." + sel.Sel.Name
			if may, listed := calls[name]; listed && !matches(may, f.pkg) {
				t.Errorf("%s: %s may not use %s", fileSet.Position(sel.Pos()), f.pkg, name)
			}
			return true
		})
	}
}

// TestEveryPackageTeaches looks for the paragraph that a package opens with.
func TestEveryPackageTeaches(t *testing.T) {
	doc, clause := map[string]string{}, map[string]string{}
	for _, f := range sources(t) {
		clause[f.pkg] = f.ast.Name.Name
		if d := f.ast.Doc.Text(); d != "" {
			if doc[f.pkg] != "" {
				t.Errorf("package %s has two package comments", f.pkg)
			}
			doc[f.pkg] = d
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(clause)) {
		want := "Package " + clause[pkg] + " "
		if clause[pkg] == "main" {
			want = "Command " + path.Base(pkg) + " "
		}
		if !strings.HasPrefix(doc[pkg], want) {
			t.Errorf("package %s has no comment that begins with %q", pkg, want)
		}
	}
}

// todo finds a TODO with what would have to be true to remove it.
var (
	todo       = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	reasonable = regexp.MustCompile(`\bTODO: \S+( \S+){3,}`)
)

func TestATodoHasAReason(t *testing.T) {
	for _, f := range sources(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if todo.MatchString(c.Text) && !reasonable.MatchString(c.Text) {
					t.Errorf("%s: %q does not say what would have to be true to remove it", fileSet.Position(c.Pos()), c.Text)
				}
			}
		}
	}
}
