package tokenizer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Load reads the vocabulary in a model folder: tiktoken.model (Kimi),
// tokenizer.json or tokenizer.json.gz (byte-level BPE of Hugging Face), or one
// of OpenAI's files under its usual name, such as o200k_base.tiktoken. When
// there are several the first of these counts. tokenizer_config.json is read
// where it is present.
//
// Load returns an error for whatever it could not reproduce exactly. The error
// names the file, the place in it, and what is wrong or not supported.
func Load(dir string) (*Tokenizer, error) {
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, fmt.Errorf("tokenizer: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("tokenizer: %s is a file: name the folder it is in", dir)
	}
	return LoadFS(os.DirFS(dir))
}

// LoadFS is [Load] for the root of a file system.
func LoadFS(fsys fs.FS) (*Tokenizer, error) {
	r, err := readRecipe(fsys)
	if err != nil {
		return nil, err
	}
	m, err := r.build()
	if err != nil {
		return nil, err
	}
	return &Tokenizer{model: m}, nil
}

// vocabularyFile is a kind of file that Load looks for.
type vocabularyFile struct {
	name string
	read func(name string, data []byte, config *configFile) (*recipe, error)
}

// vocabularyFiles are the files Load looks for, in this order.
func vocabularyFiles() []vocabularyFile {
	files := []vocabularyFile{
		{"tiktoken.model", readKimi},
		{"tokenizer.json", readHF},
		{"tokenizer.json.gz", readHF},
	}
	for name := range openAI {
		files = append(files, vocabularyFile{name, readOpenAI})
	}
	slices.SortFunc(files[3:], func(a, b vocabularyFile) int { return strings.Compare(a.name, b.name) })
	return files
}

func readRecipe(fsys fs.FS) (*recipe, error) {
	config, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range vocabularyFiles() {
		names = append(names, f.name)
		data, err := fs.ReadFile(fsys, f.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && strings.HasSuffix(f.name, ".gz") {
			data, err = gunzip(data)
		}
		if err != nil {
			return nil, fmt.Errorf("tokenizer: %s: %w", f.name, err)
		}
		return f.read(f.name, data, config)
	}
	return nil, fmt.Errorf("tokenizer: no vocabulary in the folder: want one of %s", strings.Join(names, ", "))
}

// configName is the file beside the vocabulary that names added tokens.
const configName = "tokenizer_config.json"

// readConfig returns nil when the folder has no configuration.
func readConfig(fsys fs.FS) (*configFile, error) {
	data, err := fs.ReadFile(fsys, configName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	config := new(configFile)
	return config, decodeJSON(configName, data, config)
}

func gunzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
