package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// The files of a run directory beside the journal.
const (
	jobFile      = "job.yaml"
	manifestFile = "manifest.json"
	catalogueDir = "catalogue"
	exportDir    = "export"
)

// runManifest says what a run is made of. What is in Frozen may not change
// when the run goes on.
type runManifest struct {
	Version int         `json:"version"`
	Frozen  frozen      `json:"frozen"`
	Folder  string      `json:"tokenizer_folder"`
	Sets    []setInfo   `json:"sets"`
	Budget  eyrie.Money `json:"budget"`
}

type frozen struct {
	Model     string         `json:"model"`
	Sampling  eyrie.Sampling `json:"sampling"`
	Mix       *eyrie.Mix     `json:"mix,omitzero"` // nil where every row has Sampling
	Tokenizer string         `json:"tokenizer_digest"`
	Template  string         `json:"template_digest"`
}

// setInfo is a data set as the latest run knew it.
type setInfo struct {
	Name   string `json:"name"`
	Target int64  `json:"target"`
	Seeded int64  `json:"seeded,omitzero"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitzero"`
	// Removed is set where the job file does not have it any more. Its answers
	// stay in the run and are exported.
	Removed bool `json:"removed,omitzero"`
}

const runVersion = 1

// openRunDir opens a run directory that is there.
func openRunDir(path string) (*os.Root, *runManifest, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: no run there yet; start one with eyrie run", path)
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := readManifest(root)
	if err == nil && m == nil {
		err = fmt.Errorf("%s: not a run folder: it has no %s", path, manifestFile)
	}
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, m, nil
}

func readManifest(root *os.Root) (*runManifest, error) {
	b, err := fs.ReadFile(root.FS(), manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(runManifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(root.Name(), manifestFile), err)
	}
	if m.Version != runVersion {
		return nil, fmt.Errorf("%s: format %d, and this program reads format %d (use a newer eyrie)", filepath.Join(root.Name(), manifestFile), m.Version, runVersion)
	}
	return m, nil
}

// makeRunDir opens or makes the run directory of a job. Where the folder was
// made for a job that asked something else, changed says what; that forbids the
// run only once it has begun.
func makeRunDir(job *config.Job, now *runManifest) (root *os.Root, changed, err error) {
	if err := durable.MkdirAll(job.Output); err != nil {
		return nil, nil, &exitError{exitConfig, fmt.Errorf("%s: output: %s cannot be made: %w; name a folder that you may write to", job.File, job.Output, err)}
	}
	if root, err = os.OpenRoot(job.Output); err != nil {
		return nil, nil, &exitError{exitConfig, fmt.Errorf("%s: output: %w; name a folder that you may write to", job.File, err)}
	}
	old, err := readManifest(root)
	if err == nil && old != nil {
		changed = old.Frozen.same(&now.Frozen, job)
	}
	if err == nil && old == nil {
		// From here on the folder is a run's, whatever happens next.
		if err = emptyDir(root); err == nil {
			err = now.save(root, nil)
		}
	}
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, changed, nil
}

// emptyDir refuses to start a run in a folder that holds something else.
func emptyDir(root *os.Root) error {
	ents, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range ents {
		switch e.Name() {
		case jobFile, jobFile + ".partial", manifestFile + ".partial", catalogueDir:
		default:
			return &exitError{exitConfig, fmt.Errorf("output: %s holds %s and no run; name an empty or a new folder", root.Name(), e.Name())}
		}
	}
	return nil
}

// same says what differs, with both values and the way out.
func (f *frozen) same(now *frozen, job *config.Job) error {
	var errs []error
	differ := func(field, was, is string) {
		errs = append(errs, fmt.Errorf("%s: the run in %s has %s: %s, and the job file now has %s; put it back, or name another output folder",
			job.File, job.Output, field, was, is))
	}
	if f.Model != now.Model {
		differ("model", f.Model, now.Model)
	}
	if a, b := describe(f.Sampling), describe(now.Sampling); a != b {
		differ("sampling", a, b)
	}
	if a, b := describe(f.Mix), describe(now.Mix); a != b {
		differ("mix", a, b)
	}
	if f.Tokenizer != now.Tokenizer {
		differ("tokenizer (digest)", f.Tokenizer, now.Tokenizer)
	}
	if f.Template != now.Template {
		differ("chat template (digest)", f.Template, now.Template)
	}
	if errs == nil {
		return nil
	}
	return &exitError{exitConfig, errors.Join(errs...)}
}

// hasSet reports whether one of the data sets has a name.
func hasSet(sets []setInfo, name string) bool {
	return slices.ContainsFunc(sets, func(s setInfo) bool { return s.Name == name })
}

// carry takes over the data sets that the run had and the job file has no more,
// and returns those that it had until now.
func (m *runManifest) carry(old *runManifest) (removed []string) {
	for _, was := range old.Sets {
		if hasSet(m.Sets, was.Name) {
			continue
		}
		if !was.Removed {
			removed = append(removed, was.Name)
		}
		was.Removed, was.Target = true, 0
		m.Sets = append(m.Sets, was)
	}
	return removed
}

// removed reports whether the job file has a data set of the run no more.
func (m *runManifest) removed(set string) bool {
	return slices.ContainsFunc(m.Sets, func(s setInfo) bool { return s.Name == set && s.Removed })
}

// renamed refuses a data set that is one of the run's under another name: its
// answers would be bought again.
func (m *runManifest) renamed(old *runManifest, job string) error {
	for _, was := range old.Sets {
		for _, is := range m.Sets {
			if was.SHA256 != "" && was.SHA256 == is.SHA256 && !hasSet(m.Sets, was.Name) && !hasSet(old.Sets, is.Name) {
				return &exitError{exitConfig, fmt.Errorf("%s: data set %s is the file that this run knows as %s, and under a new name its answers would be bought again; call it %s, or name another output folder",
					job, is.Name, was.Name, was.Name)}
			}
		}
	}
	return nil
}

func describe(s any) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	if string(b) == "null" {
		return "none"
	}
	return string(b)
}

// save writes the manifest, and the job file where it is given, as they now
// are. An unchanged file is not written again.
func (m *runManifest) save(root *os.Root, job []byte) error {
	b, err := json.Marshal(m, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if job != nil {
		if err := writeChanged(root, jobFile, job); err != nil {
			return err
		}
	}
	return writeChanged(root, manifestFile, append(b, '\n'))
}

func writeChanged(root *os.Root, name string, b []byte) error {
	if old, err := fs.ReadFile(root.FS(), name); err == nil && bytes.Equal(old, b) {
		return nil
	}
	return durable.WriteBytes(root, name, b)
}
