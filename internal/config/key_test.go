package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
)

// sample looks like a key and is none.
const sample = "sk-or-v1-not-a-real-key"

func TestKeyFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write(t, path, "\n  "+sample+" \r\n", 0o600)
	o := config.OpenRouter{KeyFile: path}
	// The file wins over the environment.
	key, err := o.Key(config.Env{Getenv: func(string) string { return "other" }})
	if err != nil {
		t.Fatal(err)
	}
	if key.Reveal() != sample {
		t.Error("another key came out than went in")
	}
}

func TestKeyFromEnvironment(t *testing.T) {
	var asked []string
	env := config.Env{Getenv: func(name string) string {
		asked = append(asked, name)
		return sample + "\n"
	}}
	key, err := new(config.OpenRouter).Key(env)
	if err != nil {
		t.Fatal(err)
	}
	if key.Reveal() != sample {
		t.Error("another key came out than went in")
	}
	if fmt.Sprint(asked) != "[OPENROUTER_API_KEY]" {
		t.Errorf("asked for %v", asked)
	}
}

func TestNoKey(t *testing.T) {
	for _, env := range []config.Env{{}, {Getenv: func(string) string { return " \n" }}} {
		key, err := new(config.OpenRouter).Key(env)
		const want = "config: key: OPENROUTER_API_KEY: not set (set it, or name a key_file in the job)"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if !key.IsZero() {
			t.Error("a key without a source")
		}
	}
}

func TestKeyFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	path := filepath.Join(t.TempDir(), "key")
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		write(t, path, sample, mode)
		if _, err := (&config.OpenRouter{KeyFile: path}).Key(config.Env{}); err != nil {
			t.Errorf("mode %04o: %v", mode, err)
		}
		os.Remove(path)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o666, 0o777} {
		write(t, path, sample, mode)
		_, err := (&config.OpenRouter{KeyFile: path}).Key(config.Env{})
		want := fmt.Sprintf("config: key: %s: mode %04o opens it to others (chmod 600 %s)", path, mode, path)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		os.Remove(path)
	}
}

func TestKeyFileMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := (&config.OpenRouter{KeyFile: "key"}).Key(config.Env{})
	const want = "config: key: key: no such file or directory (write the key into it, then chmod 600 key)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if e, ok := eyrie.AsError(err); !ok || e.Kind != eyrie.StopRun {
		t.Error("a missing key does not stop the run")
	}
}

func TestKeyFileIsAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("key", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := (&config.OpenRouter{KeyFile: "key"}).Key(config.Env{}); err == nil {
		t.Error("a folder is a key")
	}
}

func TestWhatIsNoKey(t *testing.T) {
	texts := map[string]string{
		"empty":           "",
		"two lines":       sample + "\n" + sample,
		"a space":         "sk or",
		"not ASCII":       "sk-ör",
		"control":         "sk-\x01",
		"a whole file":    strings.Repeat("k", 5000),
		"mostly a margin": sample + strings.Repeat(" ", 5000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			write(t, path, text, 0o600)
			_, err := (&config.OpenRouter{KeyFile: path}).Key(config.Env{})
			if err == nil {
				t.Fatal("it was taken")
			}
			if len(text) > 1 && strings.Contains(err.Error(), text[:2]) && strings.HasPrefix(text, "sk") {
				t.Errorf("the error shows what it read: %v", err)
			}
		})
	}
}

// TestKeyStaysHidden prints a key in every way there is, alone and inside
// other values, exported or not.
func TestKeyStaysHidden(t *testing.T) {
	key := config.NewKey(sample)
	type client struct{ key config.Key }
	type public struct{ Key config.Key }
	values := []any{key, &key, client{key}, &client{key}, public{key}, []config.Key{key}, map[string]config.Key{"k": key}, map[config.Key]int{key: 1}}
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%t"}
	var shown []string
	for _, v := range values {
		for _, verb := range verbs {
			shown = append(shown, fmt.Sprintf(verb, v))
		}
		v1, err := json.Marshal(v)
		shown = append(shown, string(v1), fmt.Sprint(err))
		v2, err := jsonv2.Marshal(v)
		shown = append(shown, string(v2), fmt.Sprint(err))
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("text", "key", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "key", v)
		shown = append(shown, log.String())
	}
	shown = append(shown, key.String(), key.GoString(), fmt.Errorf("request: %v", key).Error(), errors.Join(fmt.Errorf("%w: %s", os.ErrClosed, key)).Error())
	hexed := fmt.Sprintf("%x", sample)
	for _, s := range shown {
		if strings.Contains(s, sample) || strings.Contains(strings.ToLower(s), hexed) {
			t.Errorf("the key shows in %s", strings.ReplaceAll(s, sample, "(the key)"))
		}
	}
	if got := fmt.Sprintf("%v %s %q %#v", key, key, key, key); got != "[key] [key] [key] [key]" {
		t.Errorf("a key prints as %s", got)
	}
}
