package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// Source is where a set comes from.
type Source struct {
	Set string // the set's name, which every prompt carries
	// Path is a file, a folder or a pattern such as "data/train-*.parquet". Of
	// a folder that Hugging Face's save_to_disk wrote the shards are read that it
	// lists; of another one all files, also in folders below, whose names look
	// like files of rows.
	Path string
	// Open opens the one file anew for each pass. Nil opens what Path names.
	// Parquet needs a file that can be read anywhere.
	Open func() (io.ReadCloser, error)
}

// input is one file of a source.
type input struct {
	path string
	open func() (io.ReadCloser, error)
}

// inputs finds the files of a source, and names those that it passes over.
func (s Source) inputs() (files []input, passed []string, err error) {
	if s.Open != nil {
		return []input{{s.Path, s.Open}}, nil, nil
	}
	paths, passed, err := s.paths()
	for _, p := range paths {
		files = append(files, input{p, func() (io.ReadCloser, error) { return os.Open(p) }})
	}
	return files, passed, err
}

func (s Source) paths() (paths, passed []string, err error) {
	info, err := os.Stat(s.Path)
	switch {
	case err == nil && info.IsDir():
		return folder(s.Path)
	case err == nil:
		return []string{s.Path}, nil, nil
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(s.Path, "*?["):
		return nil, nil, err
	}
	paths, err = filepath.Glob(s.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("is no pattern: %w", err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		info, err := os.Stat(p)
		return err == nil && info.IsDir()
	})
	if len(paths) == 0 {
		return nil, nil, errors.New("is a pattern that fits no file")
	}
	return paths, nil, nil
}

// The files by which a folder of save_to_disk is known.
const (
	hfState = "state.json"        // of one set; lists its shards
	hfDict  = "dataset_dict.json" // of several, one a split
)

// folder finds the files of a folder.
func folder(dir string) (paths, passed []string, err error) {
	if b, err := os.ReadFile(filepath.Join(dir, hfDict)); err == nil {
		return nil, nil, severalSplits(dir, b)
	}
	if b, err := os.ReadFile(filepath.Join(dir, hfState)); err == nil {
		return savedShards(dir, b)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch hidden := p != dir && strings.HasPrefix(d.Name(), "."); {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
		case rowfile.IsName(d.Name()) && !companion(d.Name()):
			paths = append(paths, p)
		default:
			passed = append(passed, p)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		return nil, passed, errors.New("is a folder without a file of rows: none ends in .jsonl, .json, .parquet, .arrow, .csv, .txt or these with .gz or .zst")
	}
	return paths, passed, oneSplit(paths)
}

// companion reports whether a file stands beside rows and holds none.
func companion(name string) bool {
	switch strings.ToLower(name) {
	case hfState, hfDict, "dataset_info.json", "dataset_infos.json", "config.json", "readme.txt", "license.txt", "licence.txt":
		return true
	}
	return false
}

// severalSplits is the error of a folder that holds a set for each split.
func severalSplits(dir string, b []byte) error {
	var dict struct {
		Splits []string `json:"splits"`
	}
	if err := json.Unmarshal(b, &dict); err != nil || len(dict.Splits) == 0 {
		return fmt.Errorf("holds a %s that lists no splits", hfDict)
	}
	return fmt.Errorf("holds the splits %s; name one, such as %s", strings.Join(dict.Splits, ", "), filepath.Join(dir, dict.Splits[0]))
}

// savedShards are the shards of a folder of save_to_disk, in their order.
func savedShards(dir string, b []byte) (paths, passed []string, err error) {
	var state struct {
		Files []struct {
			Filename string `json:"filename"`
		} `json:"_data_files"`
	}
	if err := json.Unmarshal(b, &state); err != nil {
		return nil, nil, fmt.Errorf("holds a %s that cannot be read: %w", hfState, err)
	}
	for _, f := range state.Files {
		if !filepath.IsLocal(f.Filename) {
			return nil, nil, fmt.Errorf("holds a %s that names %q, which is not in the folder", hfState, f.Filename)
		}
		paths = append(paths, filepath.Join(dir, f.Filename))
	}
	if paths == nil {
		return nil, nil, fmt.Errorf("holds a %s that lists no shards", hfState)
	}
	return paths, nil, nil
}

// splitName finds the split in the name of a shard.
var splitName = regexp.MustCompile(`^(train|test|validation|valid|val|dev|eval)\b`)

// oneSplit refuses shards of several splits: training on a set's test split is
// nothing to do by accident.
func oneSplit(paths []string) error {
	seen := map[string]string{}
	for _, p := range paths {
		if m := splitName.FindString(strings.ToLower(filepath.Base(p))); m != "" {
			seen[m] = cmp.Or(seen[m], p)
		}
	}
	if len(seen) < 2 {
		return nil
	}
	var names []string
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	first := seen[names[0]]
	return fmt.Errorf("holds files of the splits %s; name one with a pattern, such as %s",
		strings.Join(names, ", "), filepath.Join(filepath.Dir(first), names[len(names)-1]+"*"))
}
