package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/eyrie-ai/eyrie/jinja"
)

// Raw is a template that takes conversations as JSON, the way transformers'
// apply_chat_template does: nothing is normalised on the way, so that it also
// says what a [Conversation] cannot. It always runs the template's source. It is
// immutable and safe for concurrent use.
type Raw struct {
	g *general
}

// RawConversation is the input of a [Raw].
type RawConversation struct {
	// Messages is a JSON array of messages in whatever form the template reads.
	Messages []byte
	// Tools is a JSON array of tool declarations; nil, null and [] mean that
	// there are none.
	Tools []byte
	// Variables is a JSON object of further variables, and of those to put in
	// the place of the usual ones. The usual ones are the names of control
	// tokens, tools, and add_generation_prompt, which is true; for templates of
	// the Kimi family tools are sorted by key, and tools_ts_str is their
	// TypeScript. nil and null mean that there are none.
	Variables []byte
	// Date is what templates print that print the date.
	Date time.Time
}

// ErrNoSource is returned for a model folder whose template is only known as
// one that is built in.
var ErrNoSource = errors.New("the folder holds no template source")

// LoadRaw finds the source of a model folder's template where [Load] does.
func LoadRaw(dir string) (*Raw, error) {
	return LoadRawFS(os.DirFS(dir), dir)
}

// LoadRawFS is [LoadRaw] for a file system. name is the folder's in errors.
func LoadRawFS(fsys fs.FS, name string) (*Raw, error) {
	src, file, config, err := source(fsys)
	if err == nil && src == "" {
		err = ErrNoSource
	}
	if err != nil {
		return nil, fmt.Errorf("chat: %s: %w", name, err)
	}
	g, err := compile(src, controlTokens(&config))
	if err != nil {
		return nil, fmt.Errorf("chat: %s: %s: %w", name, file, err)
	}
	return &Raw{g}, nil
}

// Render appends the text of c to dst.
func (r *Raw) Render(dst []byte, c RawConversation) ([]byte, error) {
	vars := jinja.NewDict()
	for name, literal := range r.g.tokens {
		vars.Set(name, jinja.String(literal))
	}
	if err := r.g.setTools(vars, c.Tools); err != nil {
		return dst, err
	}
	messages, err := jinja.FromJSON(c.Messages)
	if err != nil {
		return dst, fmt.Errorf("chat: messages: %w", err)
	}
	if _, ok := messages.(*jinja.List); !ok {
		return dst, errors.New("chat: messages: want a JSON array")
	}
	vars.Set("messages", messages)
	vars.Set("add_generation_prompt", jinja.Bool(true))
	if err := setVariables(vars, c.Variables); err != nil {
		return dst, err
	}
	res, err := r.g.tmpl.Render(vars, jinja.Options{Now: c.Date})
	if err != nil {
		return dst, err
	}
	return append(dst, res.Text...), nil
}

// setVariables sets the members of a JSON object.
func setVariables(vars *jinja.Dict, object []byte) error {
	if len(object) == 0 {
		return nil
	}
	v, err := jinja.FromJSON(object)
	if err != nil {
		return fmt.Errorf("chat: variables: %w", err)
	}
	d, ok := v.(*jinja.Dict)
	switch {
	case v == jinja.None:
		return nil
	case !ok:
		return errors.New("chat: variables: want a JSON object")
	}
	for name, value := range d.All() {
		vars.Set(string(name.(jinja.String)), value)
	}
	return nil
}
