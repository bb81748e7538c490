package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
)

// secret is a vendor that charges the key more than its bills say.
type secret struct {
	http.Handler
	more  float64 // dollars
	asked bool    // for an answer
}

func (s *secret) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = s.asked || strings.HasSuffix(r.URL.Path, "/chat/completions")
	if !s.asked || !strings.HasSuffix(r.URL.Path, "/key") {
		s.Handler.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	s.Handler.ServeHTTP(rec, r)
	var doc struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	doc.Data["usage"] = doc.Data["usage"].(float64) + s.more
	w.Header().Set("Content-Type", "application/json")
	json.MarshalWrite(w, doc)
}

// TestAChargeThatNobodySpokeOf is found in the key's usage and said; an honest
// vendor's run says nothing of the kind.
func TestAChargeThatNobodySpokeOf(t *testing.T) {
	vocab, err := os.ReadFile(testvocab.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []float64{0, 0.25} {
		dir := t.TempDir()
		srv, err := emulator.New(emulator.Config{Vocabulary: vocab, Seed: 1, Keys: []string{"sk-good"}})
		if err != nil {
			t.Fatal(err)
		}
		api := httptest.NewServer(&secret{Handler: srv, more: more})
		files := map[string]string{
			"prompts.jsonl":        `{"messages":[{"role":"user","content":"What is a kestrel?"}]}` + "\n",
			"model/tiktoken.model": string(vocab),
			"job.yaml": fmt.Sprintf("model: moonshotai/kimi-k2.5\ntokenizer: ./model\nbudget: 1\noutput: ./run\nconcurrency: 1\nsampling: {max_tokens: 64}\n"+
				"datasets: [{name: set, path: prompts.jsonl, tokens: 50, samples: 9}]\nengines:\n  - openrouter: {base_url: %q, quantization: [int4]}\n", api.URL+"/api/v1"),
		}
		if err := os.Mkdir(filepath.Join(dir, "model"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var out, errOut bytes.Buffer
		env := func(name string) string { return map[string]string{"OPENROUTER_API_KEY": "sk-good"}[name] }
		code := run(context.Background(), []string{"run", filepath.Join(dir, "job.yaml"), "--bill-patience", "10s"}, env, strings.NewReader(""), &out, &errOut)
		api.Close()
		srv.Close()
		if code != exitDone {
			t.Fatalf("exit code %d\n%s%s", code, &out, &errOut)
		}
		said := strings.Contains(errOut.String(), "the key was charged $0.25 more than the bills of this run explain")
		if said != (more > 0) {
			t.Errorf("charged %v in secret, and the run says:\n%s", more, &errOut)
		}
	}
}
