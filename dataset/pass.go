package dataset

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// pass is what one reading of a set knows so far.
type pass struct {
	set    *Set
	reader reader
	rules  rules
	report Report
	file   *file // that is being read
	number int   // of that file
	seen   map[eyrie.Digest]spot
	ids    map[eyrie.Digest]int32 // digests of ids, with the last suffix given out
	near   *nearIndex             // nil where near duplicates are kept
}

// spot is where a row stands, in a form of which there may be millions.
type spot struct {
	file, line, group, index int32
	kept                     bool
}

func newPass(s *Set) *pass {
	p := &pass{
		set:    s,
		rules:  s.rules,
		report: Report{Set: s.src.Set, Path: s.src.Path, Layout: s.files[0].layout.name, Passed: s.passed},
		seen:   map[eyrie.Digest]spot{},
		ids:    map[eyrie.Digest]int32{},
	}
	p.reader.walker.rules = &p.rules
	p.report.Content.Exact = s.opts.Count != nil
	if s.opts.NearDuplicates > 0 {
		p.near = newNearIndex(s.opts.NearDuplicates)
	}
	return p
}

// open goes on with the next file.
func (p *pass) open(f *file) {
	p.file, p.reader.table = f, f.table
	p.report.Files = append(p.report.Files, FileReport{Path: f.path, Format: f.rows.String(), Layout: f.layout.name})
	p.number = len(p.report.Files) - 1
}

// row turns a row into a prompt, or counts why not and returns nil. An error
// ends the pass.
func (p *pass) row(r rowfile.Row) (*eyrie.Prompt, error) {
	p.report.Rows++
	p.report.Files[p.number].Rows++
	prompt, d, err := p.keep(r)
	if err != nil {
		return nil, err
	}
	if d != nil {
		p.report.drop(p.file.path, r.Place, d)
		return nil, nil
	}
	prompt.Set, prompt.Ordinal = p.set.src.Set, p.report.Kept
	p.report.Kept++
	p.report.Files[p.number].Kept++
	p.report.Turns += prompt.Turns()
	return prompt, nil
}

// keep reads a row and holds it against the rules, against the rows before it
// and against what is wanted.
func (p *pass) keep(r rowfile.Row) (*eyrie.Prompt, *drop, error) {
	prompt, d, err := p.read(r)
	if d != nil || err != nil {
		return nil, d, err
	}
	digest := asks(prompt)
	if d := p.twice(digest); d != nil {
		return nil, d, nil
	}
	at := spot{file: int32(p.number), line: int32(r.Line), group: int32(r.Group), index: int32(r.Index)}
	p.seen[digest] = at
	facts, d := p.set.look(prompt)
	if d == nil && p.near != nil {
		d = p.alike(prompt, at)
	}
	if d == nil {
		d = p.set.chosen(digest)
	}
	if d != nil {
		return nil, d, nil
	}
	at.kept = true
	p.seen[digest] = at
	p.name(prompt, prompt.Digest())
	p.set.divide(prompt, digest)
	p.report.Content.add(prompt, facts, p.rules.skipped, Example{Path: p.file.path, Line: r.Line, Group: r.Group, Row: r.Index})
	return prompt, nil, nil
}

// read turns the JSON of a row into a prompt that keeps the rules.
func (p *pass) read(r rowfile.Row) (*eyrie.Prompt, *drop, error) {
	switch {
	case r.Fault != nil && r.Fault.TooLong:
		return nil, dropf(TooLong, "%s", r.Fault.Detail), nil
	case r.Fault != nil:
		return nil, dropf(BadRecord, "%s", r.Fault.Detail), nil
	case r.Torn && !isJSON(r.JSON):
		return nil, dropf(Torn, "the file ends inside this line"), nil
	}
	if d := checkBytes(r.JSON); d != nil {
		return nil, d, nil
	}
	p.rules.skipped = 0
	draft, err := p.reader.row(r.JSON)
	if refused, ok := errors.AsType[*refusal](err); ok {
		return nil, nil, refused
	}
	if err != nil {
		return nil, explain(r.JSON, err), nil
	}
	prompt, d := draft.conversation()
	if d != nil && d.reason == NoMessages {
		d.detail += p.looksLike(r.JSON)
	}
	if d == nil {
		d = check(prompt)
	}
	if d == nil {
		prompt = prompt.Only(p.set.opts.Turns)
		d = checkText(prompt, r.JSON, p.set.opts.Special)
	}
	return prompt, d, nil
}

// looksLike says which layout a row without a conversation has, where it has
// another one than its file.
func (p *pass) looksLike(raw []byte) string {
	if p.report.Dropped[NoMessages].N >= maxExamples {
		return "" // nobody will read it
	}
	var w walker
	cols, err := w.columns(raw)
	if err != nil {
		return ""
	}
	for _, l := range layouts() {
		if l.name != p.file.layout.name && l.fits(cols) {
			return fmt.Sprintf("; the row looks like layout %s and the file is read as %s", l.name, p.file.layout.name)
		}
	}
	return ""
}

// asks identifies what a prompt asks. The answer that a conversation may end in
// is not part of it: with and without one the same is asked.
func asks(p *eyrie.Prompt) eyrie.Digest {
	q := *p
	if last := len(q.Messages) - 1; q.Messages[last].Role == eyrie.Assistant && !q.Given {
		q.Messages = q.Messages[:last]
	}
	return q.Digest()
}

// twice finds the row that says the same, in this set or in one before it.
func (p *pass) twice(digest eyrie.Digest) *drop {
	if at, ok := p.seen[digest]; ok {
		return dropf(Duplicate, "says the same as %s", p.spotText(at))
	}
	for _, before := range p.set.opts.After {
		if before.has(digest) {
			return dropf(Duplicate, "says the same as a row of the set %s", before.src.Set)
		}
	}
	return nil
}

// spotText names a row that was read before.
func (p *pass) spotText(s spot) string {
	at := fmt.Sprintf("line %d", s.line)
	if s.line == 0 {
		at = fmt.Sprintf("row %d of group %d", s.index, s.group)
	}
	if int(s.file) != p.number {
		at += " of " + p.report.Files[s.file].Path
	}
	return at
}

// name gives the prompt an id that no earlier one has.
func (p *pass) name(prompt *eyrie.Prompt, content eyrie.Digest) {
	if prompt.ID == "" {
		prompt.ID = "row-" + content.String()[:12]
	}
	id := idDigest(prompt.ID)
	last, taken := p.ids[id]
	if !taken {
		p.ids[id] = 1
		return
	}
	p.report.Renamed++
	for {
		last++
		name := fmt.Sprintf("%s-%d", prompt.ID, last)
		if _, taken := p.ids[idDigest(name)]; !taken {
			p.ids[id], p.ids[idDigest(name)] = last, 1
			prompt.ID = name
			return
		}
	}
}

// idDigest stands for an id in memory, of which there may be millions.
func idDigest(id string) eyrie.Digest {
	sum := sha256.Sum256([]byte(id))
	return eyrie.Digest(sum[:16])
}
