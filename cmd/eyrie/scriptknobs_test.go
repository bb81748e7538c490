package main

import (
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// knobsCmd changes how the vendor behaves: knobs YAML.
func knobsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: knobs YAML")
	}
	resp, err := http.Post(ts.Getenv("CONTROL")+"/knobs", "application/yaml", strings.NewReader(args[0]))
	ts.Check(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		ts.Fatalf("knobs: %s", resp.Status)
	}
}
