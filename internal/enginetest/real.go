package enginetest

import (
	"cmp"
	"os"
	"testing"
)

// Real is a server that the environment names.
type Real struct {
	URL, Tokenizer, Model, Key string
}

// RealServer returns the server in the named variable, and skips the test when
// there is none.
func RealServer(t *testing.T, variable string) Real {
	t.Helper()
	r := Real{
		URL: os.Getenv(variable), Tokenizer: os.Getenv("EYRIE_SERVER_TOKENIZER"), Key: os.Getenv("EYRIE_SERVER_KEY"),
		Model: cmp.Or(os.Getenv("EYRIE_SERVER_MODEL"), "moonshotai/kimi-k2.5"),
	}
	if r.URL == "" {
		t.Skipf("%s names no server", variable)
	}
	if r.Tokenizer == "" {
		t.Fatalf("%s is set; set EYRIE_SERVER_TOKENIZER too, to the folder of its model's tokenizer", variable)
	}
	return r
}
