package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The kinds of servers of one's own.
const (
	SGLang = "sglang"
	VLLM   = "vllm"
	OpenAI = "openai"
)

// Local is a server of the user's own: it costs nothing, and what it serves it
// says itself.
type Local struct {
	Kind        string // SGLang, VLLM or OpenAI
	BaseURL     string // without a slash or "/v1" at its end
	KeyFile     string // empty when the server wants no key
	Model       string // the name it knows the model by; empty when it is the job's
	IDs         bool   // the prompt goes as ids
	Concurrency int    // requests at once at most; 0 is the job's

	file  string
	at    value // the entry
	named map[string]value
}

// Fault says what is wrong with a field of the entry, once the server itself
// has been looked at. A field that was left out is a fault of the whole entry.
func (l *Local) Fault(field, found, fix string) error {
	v, ok := l.named[field]
	if !ok {
		v = value{l.at.node, join(l.at.field, field)}
	}
	f := Fault{File: l.file, Field: v.field, Found: found, Fix: fix}
	if v.node != nil {
		f.Line, f.Column = v.line, v.column
	}
	return &Error{Faults: []Fault{f}}
}

// Key reads the server's key, and returns none where the job names none. An
// environment's key for a vendor is never sent to another server.
func (l *Local) Key() (Key, error) {
	if l.KeyFile == "" {
		return Key{}, nil
	}
	text, err := readKeyFile(l.KeyFile)
	if err != nil {
		return Key{}, err
	}
	return checkKey(text, l.KeyFile)
}

const needBaseURL = "write the address of the server, such as http://127.0.0.1:30000"

// localConf is an entry while it is read.
type localConf struct {
	Local
	name string
}

func localFields() []field[localConf] {
	noted := func(name, need string, read func(*reader, value, *localConf)) field[localConf] {
		return field[localConf]{name, need, func(r *reader, v value, c *localConf) {
			c.named[name] = v
			read(r, v, c)
		}}
	}
	return []field[localConf]{
		noted("base_url", needBaseURL, func(r *reader, v value, c *localConf) { c.BaseURL = r.serverURL(v) }),
		noted("via", "", (*reader).via),
		noted("model", "", func(r *reader, v value, c *localConf) {
			c.Model, _ = r.word(v, "write the name that the server lists at /v1/models")
		}),
		noted("concurrency", "", func(r *reader, v value, c *localConf) {
			n, _ := r.whole(v, 1, 100_000)
			c.Concurrency = int(n)
		}),
		noted("name", "", (*reader).laneName),
		noted("key_file", "", func(r *reader, v value, c *localConf) { c.KeyFile, _ = r.path(v, "name a file that holds the key") }),
	}
}

// local reads the entry of a server of one's own.
func (r *reader) local(kind string, conf value) (*Local, string) {
	c := localConf{Local: Local{Kind: kind, file: r.file, at: conf, named: map[string]value{}}}
	if conf.kind == null {
		r.fault(value{conf.node, join(conf.field, "base_url")}, "nothing", needBaseURL)
		return &c.Local, ""
	}
	fields(r, conf, localFields(), &c)
	return &c.Local, c.name
}

// serverURL reads the address of a server of one's own. Plain http is as good
// as the network in between, which is the user's own too.
func (r *reader) serverURL(v value) string {
	text, ok := r.word(v, needBaseURL)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		r.refuse(v, needBaseURL)
		return ""
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		r.fault(v, "an address with more than host and path", needBaseURL)
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1")
}

func (r *reader) via(v value, c *localConf) {
	way, ok := r.choice(v, "chat", "ids")
	if !ok {
		return
	}
	if way == "ids" && c.Kind == OpenAI {
		r.refuse(v, "write chat: OpenAI's API returns no ids; for a server that does, use sglang or vllm")
		return
	}
	c.IDs = way == "ids"
}

// laneNames are what a lane may be called; a slash would look like an endpoint
// of a vendor.
var laneNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (r *reader) laneName(v value, c *localConf) {
	if v.kind != scalar || !laneNames.MatchString(v.text) {
		r.refuse(v, `give it a name of letters, digits, ".", "_" and "-", such as rack1`)
		return
	}
	c.name = v.text
}

// uniqueEngines reports engines that have the same name, and servers that are
// listed twice: each would believe the other's load to be its own.
func (r *reader) uniqueEngines(ats []value, j *Job) {
	byName, byURL := map[string]int{}, map[string]int{}
	for i, e := range j.Engines {
		if k, twice := byName[strings.ToLower(e.Name)]; twice {
			r.fault(ats[i], fmt.Sprintf("the name %s, which engines[%d] has too", quote(e.Name), k), "give it another name")
		}
		byName[strings.ToLower(e.Name)] = i
		if e.Local == nil || e.Local.BaseURL == "" {
			continue
		}
		if k, twice := byURL[e.Local.BaseURL]; twice {
			r.fault(e.Local.named["base_url"], fmt.Sprintf("%s, which engines[%d] has too", quote(e.Local.BaseURL), k), "list each server once")
		}
		byURL[e.Local.BaseURL] = i
	}
}

// ownOnly reports whether all engines of a job are servers of one's own, so
// that it needs no money.
func ownOnly(job value) bool {
	for _, e := range job.entries {
		if e.key.text != "engines" || e.value.kind != list || len(e.value.items) == 0 {
			continue
		}
		return !slices.ContainsFunc(e.value.items, func(item *node) bool {
			return item.kind != mapping || slices.ContainsFunc(item.entries, func(k entry) bool {
				return k.key.text != SGLang && k.key.text != VLLM && k.key.text != OpenAI
			})
		})
	}
	return false
}
