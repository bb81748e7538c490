package handoff_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/handoff"
)

// small is the config of a model that sees: what matters lies in text_config.
const small = `{
  "architectures": ["SeeingModel"], "bos_token_id": 1, "eos_token_id": [2, 3], "dtype": "bfloat16",
  "text_config": {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 12, "vocab_size": 100,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "max_position_embeddings": 4096,
    "rope_theta": 50000.0, "rope_scaling": {"type": "yarn"}, "rms_norm_eps": 1e-5, "pad_token_id": null
  }
}`

func read(t *testing.T, text string) *handoff.Model {
	t.Helper()
	m, err := handoff.ReadModel([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReadModel(t *testing.T) {
	m := read(t, small)
	if m.Architecture != "SeeingModel" || m.Hidden != 64 || m.Layers != 12 || m.Vocab != 100 || m.KVHeads != 2 || m.HeadDim != 16 ||
		!m.RopeScaled || m.BOS != 1 || m.Pad != -1 || !slices.Equal(m.EOS, []int{2, 3}) || m.DType != "bfloat16" {
		t.Errorf("read %+v", m)
	}
	if got := m.CaptureLayers(); !slices.Equal(got, []int{2, 6, 9}) {
		t.Errorf("captured layers %v", got)
	}
	if got := m.BytesPerToken(); got != 4*64*2 {
		t.Errorf("%d bytes a token", got)
	}
}

func TestKimi(t *testing.T) {
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	b, err := os.ReadFile(filepath.Join(dir, "models", "kimi-k2.5", "config.json"))
	if err != nil {
		t.Skipf("the model's config is not there: %v", err)
	}
	m := read(t, string(b))
	if m.BytesPerToken() != 57_344 || !slices.Equal(m.CaptureLayers(), []int{2, 30, 58}) || m.Vocab != 163840 || m.HeadDim != 128 ||
		!slices.Equal(m.EOS, []int{163586}) || m.BOS != 163584 || m.Pad != 163839 {
		t.Errorf("read %+v", m)
	}
}

func TestABadConfig(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", "model", "not a config.json"},
		{"a list", "[]", "not a config.json"},
		{"nothing", "{}", "it has no hidden_size\nit has no intermediate_size\nit has no num_attention_heads\nit has no num_hidden_layers\nit has no vocab_size"},
		{"a wrong type", `{"hidden_size": "64"}`, "not a config.json"},
		{"an end that is no id", strings.Replace(small, "[2, 3]", `"</s>"`, 1), `its eos_token_id is "</s>", which is neither`},
		{"no vocabulary", strings.Replace(small, `"vocab_size": 100,`, "", 1), "it has no vocab_size"},
		{"less than nothing", strings.Replace(small, `"vocab_size": 100,`, `"vocab_size": -1,`, 1), "it has no vocab_size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := handoff.ReadModel([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// letters is a tokenizer of n ids, of which the first few are special.
type letters struct{ n, special int }

func (l letters) VocabSize() int                { return l.n }
func (l letters) IsSpecial(id int32) bool       { return int(id) < l.special }
func (l letters) Token(id int32) ([]byte, bool) { return fmt.Appendf(nil, "t%d", id), int(id) < l.n }

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tok     letters
		highest int
		ends    []int32
		config  func(*handoff.Model)
		want    []string
	}{
		{"agreement", letters{90, 5}, 89, []int32{2}, nil, nil},
		{"nothing known of ends", letters{90, 5}, 89, nil, nil, nil},
		{"a larger tokenizer", letters{101, 5}, 50, nil, nil, []string{"the tokenizer has 101 ids and the config's vocab_size is 100"}},
		{"a row beyond the vocabulary", letters{90, 5}, 100, nil, nil, []string{"a row holds id 100"}},
		{"an end that is a word", letters{90, 3}, 10, nil, nil, []string{`eos_token_id is 3, which the tokenizer writes as "t3"`}},
		{"another end", letters{90, 5}, 10, []int32{4}, nil, []string{"answers end in 4 (t4), and eos_token_id is [2 3]"}},
		{"a begin beyond", letters{90, 5}, 10, nil, func(m *handoff.Model) { m.BOS = 100 }, []string{"bos_token_id is 100, beyond vocab_size 100"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := read(t, small)
			if tt.config != nil {
				tt.config(m)
			}
			got := m.Check(tt.tok, tt.highest, tt.ends)
			if len(got) != len(tt.want) {
				t.Fatalf("found %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tt.want[i]) {
					t.Errorf("found %q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestCapture(t *testing.T) {
	m := read(t, small) // 512 bytes a token
	s := m.Capture(handoff.Rows{Rows: 3, Tokens: 7_200_000, Longest: 1000}, 1e9, 1000)
	if s.Total != 3_686_400_000 || s.Shards != 4 || s.LongestRow != 512_000 || s.Hours != 2 {
		t.Errorf("%+v", s)
	}
}

func job(t *testing.T) *handoff.Job {
	m := read(t, small)
	rows := handoff.Rows{Rows: 10, Tokens: 20_000, Supervised: 9_000, Longest: 3000}
	return &handoff.Job{
		Model: m, Target: "author/model's", Name: "first run", Rows: rows, Sizes: m.Capture(rows, 1e9, 1000), DraftVocab: 50,
		Data: []string{"../export/code/train.jsonl", "../export/it's here/train.jsonl"}, Problems: []string{"a problem"},
	}
}

func TestDraft(t *testing.T) {
	b, err := job(t).Draft()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Architectures []string `json:"architectures"`
		Hidden        int      `json:"hidden_size"`
		Layers        int      `json:"num_hidden_layers"`
		Vocab         int      `json:"vocab_size"`
		Draft         int      `json:"draft_vocab_size"`
		Theta         float64  `json:"rope_theta"`
		EOS           []int    `json:"eos_token_id"`
		Eagle         struct {
			Layers []int `json:"eagle_aux_hidden_state_layer_ids"`
		} `json:"eagle_config"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Architectures, []string{"LlamaForCausalLMEagle3"}) || got.Hidden != 64 || got.Layers != 1 || got.Vocab != 100 ||
		got.Draft != 50 || got.Theta != 1e6 || !slices.Equal(got.EOS, []int{2, 3}) || !slices.Equal(got.Eagle.Layers, []int{2, 6, 9}) {
		t.Errorf("%s", b)
	}
}

// TestFiles writes everything and asks a shell and Python whether it is what
// they read.
func TestFiles(t *testing.T) {
	files, err := job(t).Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := map[string]string{}
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Text, 0o755); err != nil {
			t.Fatal(err)
		}
		text[f.Name] = string(f.Text)
	}
	for _, want := range []struct{ file, text string }{
		{"README.md", "10 rows, 20k tokens"},
		{"README.md", "- a problem"},
		{"README.md", "512 bytes: layers 2 6 9 and the last"},
		{"specforge/train.yaml", "prompts_path: all.jsonl"},
		{"specforge/train.yaml", "aux_hidden_state_layer_ids: [2, 6, 9]"},
		{"specforge/train.yaml", "max_length: 4096"},
		{"specforge/train.yaml", `run_id: "first run-eagle3"`},
		{"specforge/run.sh", "../../export/code/train.jsonl"},
		{"speculators/run.sh", `--model 'author/model'\''s'`},
		{"speculators/run.sh", "--seq-length 4096"},
	} {
		if !strings.Contains(text[want.file], want.text) {
			t.Errorf("%s does not say %s:\n%s", want.file, want.text, text[want.file])
		}
	}
	check := func(program string, args ...string) {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not there to check with", program)
			return
		}
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %v: %v\n%s", program, args, err, out)
		}
	}
	check("sh", "-n", "specforge/run.sh")
	check("sh", "-n", "speculators/run.sh")
	check("python3", "-c", "import ast; ast.parse(open('vocab/to_torch.py').read())")
}

func ExampleModel_Capture() {
	m, err := handoff.ReadModel([]byte(`{"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163840,
		"num_attention_heads": 64, "intermediate_size": 18432}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := m.Capture(handoff.Rows{Tokens: 43_000_000}, 20e9, 10_000)
	fmt.Printf("%d bytes a token, %.2f TB, %.1f hours\n", s.BytesPerToken, float64(s.Total)/1e12, s.Hours)
	// Output: 57344 bytes a token, 2.47 TB, 1.2 hours
}
