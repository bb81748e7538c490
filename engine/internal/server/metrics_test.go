package server

import (
	"math"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	for _, row := range []struct {
		name, doc string
		want      map[string]float64
	}{
		{"plain", "# HELP x y\nllamacpp:requests_processing 3\n", map[string]float64{"llamacpp:requests_processing": 3}},
		{"labels and a time", `vllm:num_requests_running{engine="0",model_name="a b"} 4.0 1700000000` + "\n", map[string]float64{"vllm:num_requests_running": 4}},
		{"engines add up", "r{engine=\"0\"} 4\nr{engine=\"1\"} 5\n", map[string]float64{"r": 9}},
		{"shares of engines are a mean", "kv_perc{engine=\"0\"} 0.4\nkv_perc{engine=\"1\"} 0.6\n", map[string]float64{"kv_perc": 0.5}},
		{"data-parallel ranks add up", "r{dp_rank=\"0\",tp_rank=\"0\"} 4\nr{dp_rank=\"1\",tp_rank=\"4\"} 5\n", map[string]float64{"r": 9}},
		{"tensor-parallel ranks are one", "r{tp_rank=\"0\"} 4\nr{tp_rank=\"1\"} 4\n", map[string]float64{"r": 4}},
		{"a brace in a label", `r{path="/{x}"} 2` + "\n", map[string]float64{"r": 2}},
		{"no number", "r NaN\nq x\n}{\n", map[string]float64{}},
		{"CRLF and no end", "r 1\r\nq 2", map[string]float64{"r": 1, "q": 2}},
		{"nothing", "", map[string]float64{}},
		{"a page", "<html>not metrics</html>", map[string]float64{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := parseMetrics([]byte(row.doc))
			if len(got) != len(row.want) {
				t.Fatalf("got %v, want %v", got, row.want)
			}
			for name, v := range row.want {
				if math.Abs(got[name]-v) > 1e-9 {
					t.Errorf("got %v, want %v", got, row.want)
				}
			}
		})
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add("# HELP x y\nvllm:num_requests_running{engine=\"0\"} 4 17\n")
	f.Add("r{a=\"}")
	f.Fuzz(func(t *testing.T, doc string) {
		for name, v := range parseMetrics([]byte(doc)) {
			if !strings.Contains(doc, name) || v != v {
				t.Errorf("%q holds %q = %v", doc, name, v)
			}
		}
	})
}

func TestSameName(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"moonshotai/Kimi-K2.5", "moonshotai/kimi-k2.5", true},
		{"/models/Kimi-K2.5/", "moonshotai/kimi-k2.5", true},
		{"kimi_k2_5", "moonshotai/kimi-k2.5", true},
		{"moonshotai/Kimi-K2.6", "moonshotai/kimi-k2.5", false},
		{"", "moonshotai/kimi-k2.5", false},
	} {
		if got := sameName(row.a, row.b); got != row.same {
			t.Errorf("%q and %q: %v", row.a, row.b, got)
		}
	}
}

// Whatever a server sends, reading it neither panics nor loops.
func FuzzOpenAI(f *testing.F) {
	for _, doc := range []string{
		`{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"x","reasoning_content":"y"},"token_ids":[1,2],"finish_reason":null}],"prompt_token_ids":[3]}`,
		`{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls","matched_stop":5}],"usage":{"prompt_tokens":1,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}}`,
		`{"choices":[{"index":0,"text":"x","meta_info":{"output_token_logprobs":[[-0.1,7,null]]}}],"sglext":{"output_ids":[[1]]}}`,
		`{"object":"error","message":"no","code":400}`, `{"error":{"message":"no","code":"x"}}`, `{"error":"no"}`, `{"detail":[{"msg":"x"}]}`,
		`{"choices":[{"index":1}]}`, `null`, `[]`, `{"choices":null,"usage":null}`,
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		d := newDraft()
		if OpenAI(d, []byte(doc)) != nil {
			return
		}
		d.finish("test")
		if errorText([]byte(doc)) == "" && strings.TrimSpace(doc) != "" && doc[0] == '<' {
			t.Error("a page without words")
		}
	})
}
