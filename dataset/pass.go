package dataset

import (
	"crypto/sha256"
	"fmt"

	"github.com/eyrie-ai/eyrie"
)

// pass is what one reading of a file knows so far.
type pass struct {
	set    *Set
	walker walker
	report Report
	seen   map[eyrie.Digest]int   // contents, with the line of each
	ids    map[eyrie.Digest]int32 // digests of ids, with the last suffix given out
}

func newPass(s *Set) *pass {
	return &pass{
		set:    s,
		report: Report{Set: s.src.Set, Path: s.src.Path, Layout: s.layout.name},
		seen:   map[eyrie.Digest]int{},
		ids:    map[eyrie.Digest]int32{},
	}
}

// row turns a row into a prompt, or counts why not and returns nil.
func (p *pass) row(r row) *eyrie.Prompt {
	p.report.Rows++
	prompt, d := p.read(r)
	if d != nil {
		p.report.drop(r.line, d)
		return nil
	}
	digest := prompt.Digest()
	if line, twice := p.seen[digest]; twice {
		p.report.drop(r.line, dropf(Duplicate, "says the same as line %d", line))
		return nil
	}
	p.seen[digest] = r.line
	p.name(prompt, digest)
	prompt.Set, prompt.Ordinal = p.set.src.Set, p.report.Kept
	p.report.Kept++
	p.report.Turns += prompt.Turns()
	return prompt
}

// read turns the JSON of a row into a prompt that keeps the rules.
func (p *pass) read(r row) (*eyrie.Prompt, *drop) {
	if r.torn && !isJSON(r.raw) {
		return nil, dropf(Torn, "the file ends inside this line")
	}
	if d := checkBytes(r.raw); d != nil {
		return nil, d
	}
	dr, err := p.walker.row(r.raw, p.set.layout.read)
	if err != nil {
		return nil, explain(r.raw, err)
	}
	prompt, d := dr.prompt()
	if d == nil {
		d = check(prompt)
	}
	if d == nil {
		prompt = prompt.Only(p.set.opts.Turns)
		d = checkText(prompt, r.raw, p.set.opts.Special)
	}
	if d != nil {
		return nil, d
	}
	return prompt, nil
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
