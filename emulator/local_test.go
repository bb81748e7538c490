package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
)

// startLocal serves a server of one's own on the loopback.
func startLocal(t *testing.T, config emulator.LocalConfig) (*emulator.Local, string) {
	t.Helper()
	config.VocabularyPath = testvocab.Path(t)
	l, err := emulator.NewLocal(config)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return l, s.URL
}

// postTo sends a body and returns the status and the answer; an answer that was
// cut off is an error.
func postTo(url, body string) (int, string, error) {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

const hello = `"messages":[{"role":"user","content":"Hello"}],"max_tokens":40`

// What the sources of the servers say they answer.
func TestLocalAnswers(t *testing.T) {
	for _, row := range []struct {
		name, kind, path, body string
		config                 emulator.LocalConfig
		status                 int
		want                   []string
		not                    []string
	}{
		{"SGLang's chat in one piece", emulator.SGLang, "/v1/chat/completions", `{"model":"x",` + hello + `,"return_token_ids":true,"return_prompt_token_ids":true}`, emulator.LocalConfig{}, 200,
			[]string{`"token_ids":[`, `"prompt_token_ids":[163587,`, `"reasoning_content":"`, `"matched_stop":`}, nil},
		{"SGLang refuses ids in a stream", emulator.SGLang, "/v1/chat/completions", `{"model":"x","stream":true,` + hello + `,"return_token_ids":true}`, emulator.LocalConfig{}, 400,
			[]string{"not supported with streaming on /v1/chat/completions", `"object":"error"`}, nil},
		{"an SGLang that does not know the field", emulator.SGLang, "/v1/chat/completions", `{"model":"x",` + hello + `,"return_token_ids":true}`,
			emulator.LocalConfig{Lacks: []string{"return_token_ids"}}, 200, []string{`"finish_reason"`}, []string{"token_ids"}},
		{"SGLang's ids among the logprobs", emulator.SGLang, "/v1/chat/completions", `{"model":"x",` + hello + `,"logprobs":true,"return_meta_info":true}`, emulator.LocalConfig{}, 200,
			[]string{`"meta_info":{"output_token_logprobs":[[-0.25,`}, []string{`"token_ids"`}},
		{"SGLang's generate", emulator.SGLang, "/generate", `{"input_ids":[163587,2482,163586],"sampling_params":{"max_new_tokens":8}}`, emulator.LocalConfig{}, 200,
			[]string{`"output_ids":[`, `"finish_reason":{"length":8,"type":"length"}`, `"prompt_tokens":3`, `"completion_tokens":8`}, nil},
		{"generate without a prompt", emulator.SGLang, "/generate", `{}`, emulator.LocalConfig{}, 400, []string{"input_ids"}, nil},
		{"vLLM's stream", emulator.VLLM, "/v1/chat/completions", `{"model":"kimi","stream":true,` + hello + `,"return_token_ids":true}`, emulator.LocalConfig{Model: "kimi"}, 200,
			[]string{`data: {"choices":[{"delta":{"`, `"prompt_token_ids":[163587,`, `"token_ids":[`, "data: [DONE]"}, nil},
		{"vLLM does not know the model", emulator.VLLM, "/v1/chat/completions", `{"model":"x",` + hello + `}`, emulator.LocalConfig{Model: "kimi"}, 404, []string{"does not exist"}, nil},
		{"vLLM's completions", emulator.VLLM, "/v1/completions", `{"model":"kimi","prompt":[163587,2482],"max_tokens":8,"return_token_ids":true}`, emulator.LocalConfig{Model: "kimi"}, 200,
			[]string{`"prompt_token_ids":[163587,2482]`, `"finish_reason":"length"`}, nil},
		{"no room", emulator.VLLM, "/v1/completions", `{"model":"kimi","prompt":[1,2],"max_tokens":100}`, emulator.LocalConfig{Model: "kimi", Context: 50}, 400, []string{"maximum context length is 50"}, nil},
		{"llama.cpp returns text", emulator.LlamaCPP, "/v1/chat/completions", `{"model":"x",` + hello + `,"return_token_ids":true}`, emulator.LocalConfig{}, 200, []string{`"reasoning_content"`}, []string{"token_ids"}},
		{"without a reasoning parser", emulator.VLLM, "/v1/chat/completions", `{"model":"kimi","messages":[{"role":"user","content":"Hello"}]}`,
			emulator.LocalConfig{Model: "kimi", Lacks: []string{"reasoning_parser"}}, 200, []string{`"reasoning_content":null`, "</think>"}, nil},
		{"a key is wanted", emulator.VLLM, "/v1/chat/completions", `{}`, emulator.LocalConfig{Key: "k"}, 401, []string{"Unauthorized"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.config.Kind = row.kind
			_, url := startLocal(t, row.config)
			status, body, err := postTo(url+row.path, row.body)
			if err != nil || status != row.status {
				t.Fatalf("%d %v: %s", status, err, body)
			}
			for _, w := range row.want {
				if !strings.Contains(body, w) {
					t.Errorf("no %s in %.600s", w, body)
				}
			}
			for _, w := range row.not {
				if strings.Contains(body, w) {
					t.Errorf("%s in %.600s", w, body)
				}
			}
		})
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.After(5 * time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("never: %s", what)
		}
	}
}

func TestLocalQueuesAndCrashes(t *testing.T) {
	l, url := startLocal(t, emulator.LocalConfig{Kind: emulator.VLLM, Model: "kimi", Slots: 2, Rate: 1})
	ended := make(chan error, 5)
	for i := range 5 {
		go func() {
			_, _, err := postTo(url+"/v1/completions", fmt.Sprintf(`{"model":"kimi","prompt":[%d],"max_tokens":500}`, i+1))
			ended <- err
		}()
	}
	eventually(t, "two run and three wait", func() bool { r, w := l.Busy(); return r == 2 && w == 3 })
	resp, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	figures, _ := io.ReadAll(resp.Body)
	for _, want := range []string{"vllm:num_requests_running{engine=\"0\",model_name=\"kimi\"} 2", "vllm:num_requests_waiting{engine=\"0\",model_name=\"kimi\"} 3"} {
		if !strings.Contains(string(figures), want) {
			t.Errorf("no %s in\n%s", want, figures)
		}
	}
	l.SetDown(true)
	for range 5 {
		if err := <-ended; err == nil {
			t.Error("an answer came from a server that went away")
		}
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("a server that is away is healthy")
	}
	l.SetDown(false)
	eventually(t, "nothing runs", func() bool { r, w := l.Busy(); return r == 0 && w == 0 })
	if resp, err := http.Get(url + "/health"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
}

func TestLocalIsTheSameEveryTime(t *testing.T) {
	truths := func(seed uint64) []emulator.LocalAnswer {
		l, url := startLocal(t, emulator.LocalConfig{Kind: emulator.SGLang, Seed: seed})
		for i := range 6 {
			if _, _, err := postTo(url+"/generate", fmt.Sprintf(`{"input_ids":[%d,163606],"sampling_params":{"max_new_tokens":300}}`, 1+i/2)); err != nil {
				t.Fatal(err)
			}
		}
		return l.Truths()
	}
	one, again, other := truths(1), truths(1), truths(2)
	if !reflect.DeepEqual(one, again) {
		t.Error("the same seed writes something else")
	}
	if reflect.DeepEqual(one[0].CompletionIDs, other[0].CompletionIDs) || reflect.DeepEqual(one[0].CompletionIDs, one[1].CompletionIDs) {
		t.Error("another seed, or another sample, writes the same")
	}
}

func TestLocalRefusesNonsense(t *testing.T) {
	_, err := emulator.NewLocal(emulator.LocalConfig{Kind: "tgi", Lacks: []string{"legs"}, Quirks: []string{"odd"}, Rate: -1, VocabularyPath: os.DevNull + "/none"})
	for _, want := range []string{`kind "tgi"`, `lacks "legs"`, `quirk "odd"`, "0 or more", "vocabulary"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in %v", want, err)
		}
	}
}
