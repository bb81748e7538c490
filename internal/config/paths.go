package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const needTokenizer = "name the folder that holds the model's tiktoken.model or tokenizer.json"

// path reads a path and resolves it: "~/" is the home folder, and what is not
// absolute is relative to the folder of the job file.
func (r *reader) path(v value, fix string) (string, bool) {
	p, ok := r.word(v, fix)
	if !ok {
		return "", false
	}
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		switch {
		case rest != "" && rest[0] != '/' && rest[0] != filepath.Separator:
			r.refuse(v, `write the path of the other user's folder out; only "~/" is known`)
			return "", false
		case r.env.Home == "":
			r.refuse(v, "write the path out; the home folder is not known here")
			return "", false
		}
		return filepath.Join(r.env.Home, rest), true
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p), true
	}
	return filepath.Join(filepath.Dir(r.file), p), true
}

// existing reads a path and looks at what is there.
func (r *reader) existing(v value, fix string) (string, fs.FileInfo, bool) {
	p, ok := r.path(v, fix)
	if !ok {
		return "", nil, false
	}
	info, err := os.Stat(p)
	if err != nil {
		r.missing(v, p, err, fix)
		return "", nil, false
	}
	return p, info, true
}

// missing reports a path that cannot be used, with the place it was looked
// for where the file names it relative to something.
func (r *reader) missing(v value, p string, err error, fix string) {
	found := v.describe()
	if p != v.text {
		found += " (" + p + ")"
	}
	if errors.Is(err, fs.ErrNotExist) {
		found += ", which does not exist"
	} else {
		found += ", which cannot be read: " + cause(err).Error()
	}
	r.fault(v, found, fix)
}

func (r *reader) tokenizer(v value, j *Job) {
	p, info, ok := r.existing(v, needTokenizer)
	switch {
	case !ok:
		return
	case !info.IsDir():
		r.fault(v, v.describe()+", which is a file", needTokenizer)
		return
	}
	for _, name := range []string{"tiktoken.model", "tokenizer.json"} {
		if info, err := os.Stat(filepath.Join(p, name)); err == nil && info.Mode().IsRegular() {
			j.Tokenizer = p
			return
		}
	}
	r.fault(v, v.describe()+", which holds neither tiktoken.model nor tokenizer.json", needTokenizer)
}

func (r *reader) datasetPath(v value, d *Dataset) {
	d.Path, _ = r.prompts(v, "name a file of prompts that exists and can be read, or a folder or pattern of them")
}

// prompts reads the path of a file of prompts, of a folder or of a pattern.
func (r *reader) prompts(v value, fix string) (string, bool) {
	p, ok := r.path(v, fix)
	if !ok {
		return "", false
	}
	info, err := os.Stat(p)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?[") {
		if found, err := filepath.Glob(p); err != nil || len(found) == 0 {
			r.fault(v, v.describe()+", a pattern that fits no file", fix)
			return "", false
		}
		return p, true
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		r.fault(v, v.describe()+", which is "+kindOf(info), fix)
		return "", false
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(p); err == nil {
			f.Close()
		}
	}
	if err != nil {
		r.missing(v, p, err, fix)
		return "", false
	}
	return p, true
}

func (r *reader) seedFrom(v value, d *Dataset) {
	const fix = "name a run folder or a .jsonl file of rows that exists"
	p, info, ok := r.existing(v, fix)
	if !ok {
		return
	}
	if !info.IsDir() && (!info.Mode().IsRegular() || filepath.Ext(p) != ".jsonl") {
		r.fault(v, v.describe()+", which is "+kindOf(info), fix)
		return
	}
	d.SeedFrom = p
}

// output checks that the run folder is one or can become one. It makes nothing.
func (r *reader) output(v value, j *Job) {
	const fix = "name a folder, or where one can be made"
	p, ok := r.path(v, fix)
	if !ok {
		return
	}
	for at := p; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir() && !writable(at):
			r.fault(v, v.describe()+", where "+at+" is closed to writing", fix)
			return
		case err == nil && info.IsDir():
			j.Output = p
			return
		case err == nil:
			r.fault(v, v.describe()+", where "+at+" is "+kindOf(info), fix)
			return
		case errors.Is(err, fs.ErrPermission) || at == filepath.Dir(at):
			r.missing(v, at, err, fix)
			return
		}
	}
}

// kindOf names what a path leads to.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a folder"
	case info.Mode().IsRegular():
		return "a file"
	}
	return "neither a file nor a folder"
}
