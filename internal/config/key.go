package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// KeyVariable is the environment variable that holds the key of OpenRouter
// when the job names no key file.
const KeyVariable = "OPENROUTER_API_KEY"

// Key is an API key that does not show itself: however it is printed, logged
// or encoded, "[key]" comes out. The zero value is no key.
type Key struct {
	// A pointer, because fmt does not call the methods of unexported fields:
	// in a struct that is printed whole this shows an address, not the key.
	secret *string
}

const hidden = "[key]"

// NewKey wraps a key.
func NewKey(secret string) Key { return Key{&secret} }

// Reveal returns the key itself, for the one header that carries it.
func (k Key) Reveal() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.Reveal() == "" }

// String returns "[key]".
func (k Key) String() string { return hidden }

// GoString returns "[key]".
func (k Key) GoString() string { return hidden }

// Format prints "[key]" under every verb.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// MarshalText writes "[key]".
func (k Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON writes "[key]" as a JSON string.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// LogValue returns "[key]".
func (k Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// Key reads the key: from the key file when the job names one, else from the
// environment. A file that others may read or write is refused. No error of
// Key contains any part of what was read.
func (o *OpenRouter) Key(env Env) (Key, error) {
	if o.KeyFile == "" {
		text := env.getenv(KeyVariable)
		if strings.TrimSpace(text) == "" {
			return Key{}, keyError(KeyVariable, errors.New("not set"), "set it, or name a key_file in the job")
		}
		return checkKey(text, KeyVariable)
	}
	text, err := readKeyFile(o.KeyFile)
	if err != nil {
		return Key{}, err
	}
	return checkKey(text, o.KeyFile)
}

// maxKey bounds a key with the white space around it.
const maxKey = 4096

// readKeyFile reads a key file that belongs to its owner alone. It judges the
// open file, so that nobody can swap it in between.
func readKeyFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "write the key into it, then chmod 600 " + path
		}
		return "", keyError(path, cause(err), hint)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", keyError(path, cause(err), "")
	}
	const others = 0o077
	// Windows makes these bits up.
	if perm := info.Mode().Perm(); perm&others != 0 && runtime.GOOS != "windows" {
		return "", keyError(path, fmt.Errorf("mode %04o opens it to others", perm), "chmod 600 "+path)
	}
	if !info.Mode().IsRegular() {
		return "", keyError(path, errors.New("not a file"), "")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", keyError(path, cause(err), "")
	}
	return string(b), nil
}

// checkKey trims a key and refuses what cannot be one: it has to fit into a
// header as it is.
func checkKey(text, source string) (Key, error) {
	key := strings.TrimSpace(text)
	printable := !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if key == "" || len(text) > maxKey || !printable {
		return Key{}, keyError(source, errors.New("not a key"), "it must hold one key and nothing else: one line, without spaces")
	}
	return NewKey(key), nil
}

func keyError(source string, err error, hint string) error {
	return &eyrie.Error{Op: "config: key", Subject: source, Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Err: err, Hint: hint}
}
