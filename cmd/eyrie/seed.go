package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/progress"
)

// seedTokens counts the output tokens that a data set brings along: those of
// its namesake in an earlier run folder (or of the whole run, when that has
// only one set), or those of a file of rows.
func seedTokens(path, set string) (int64, error) {
	if path == "" {
		return 0, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("seed_from: %w", err)
	}
	if info.IsDir() {
		return runTokens(path, set)
	}
	return rowTokens(path)
}

func runTokens(dir, set string) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("seed_from: %w", err)
	}
	defer root.Close()
	st := progress.New()
	for e, err := range journal.Outline(root) {
		if err != nil {
			return 0, fmt.Errorf("seed_from: %s: %w", dir, err)
		}
		st.Apply(e)
	}
	sets := st.Sets()
	for _, s := range sets {
		if s.Name == set {
			return s.CompletionTokens, nil
		}
	}
	if len(sets) == 1 {
		return sets[0].CompletionTokens, nil
	}
	return 0, fmt.Errorf("seed_from: the run in %s has no set named %s", dir, set)
}

// rowTokens adds up the supervised tokens of a file of rows: the ones in
// loss_mask, or completion_tokens where a line has no mask.
func rowTokens(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("seed_from: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var total int64
	for line := 1; ; line++ {
		b, err := r.ReadBytes('\n')
		if len(b) > 1 {
			n, rowErr := rowLine(b)
			if rowErr != nil {
				return 0, fmt.Errorf("seed_from: %s:%d: %w", filepath.Clean(path), line, rowErr)
			}
			total += n
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return 0, fmt.Errorf("seed_from: %s: %w", path, err)
		}
	}
}

func rowLine(b []byte) (int64, error) {
	var m struct {
		LossMask         []int  `json:"loss_mask"`
		CompletionTokens *int64 `json:"completion_tokens"`
	}
	if err := json.Unmarshal(b, &m, jsontext.AllowInvalidUTF8(true)); err != nil {
		return 0, err
	}
	switch {
	case m.LossMask != nil:
		var n int64
		for _, v := range m.LossMask {
			if v != 0 {
				n++
			}
		}
		return n, nil
	case m.CompletionTokens != nil:
		return *m.CompletionTokens, nil
	}
	return 0, errors.New("neither loss_mask nor completion_tokens: not a row")
}
