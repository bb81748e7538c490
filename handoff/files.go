package handoff

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed templates
var templates embed.FS

// Job is what the files are written for.
type Job struct {
	Model      *Model
	Target     string // the target model, as the trainers' --model takes it
	Name       string // of the run
	Rows       Rows
	Sizes      Sizes
	DraftVocab int
	// Data are the files of token rows of the train split, and Prepared the
	// folders in the form that speculators trains on, as seen from the folder
	// that the files are written to.
	Data     []string
	Problems []string // what Model.Check found
}

// File is a file to be written.
type File struct {
	Name string
	Text []byte
	Run  bool // it is a program
}

// Files returns everything but the vocabulary files.
func (j *Job) Files() ([]File, error) {
	draft, err := j.Draft()
	if err != nil {
		return nil, err
	}
	out := []File{{Name: "specforge/draft.json", Text: draft}}
	for _, f := range []struct {
		name string
		run  bool
	}{
		{"README.md", false}, {"specforge/train.yaml", false}, {"specforge/run.sh", true},
		{"speculators/run.sh", true}, {"vocab/to_torch.py", true},
	} {
		text, err := j.render(f.name)
		if err != nil {
			return nil, err
		}
		out = append(out, File{f.name, text, f.run})
	}
	return out, nil
}

func (j *Job) render(name string) ([]byte, error) {
	t, err := template.New(path.Base(name)+".tmpl").Funcs(template.FuncMap{
		"q": shellQuote, "yaml": quote, "gb": gigabytes, "count": count, "join": func(v []int) string {
			return strings.Trim(fmt.Sprint(v), "[]")
		},
	}).ParseFS(templates, "templates/"+name+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, j); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Length is the sequence length to train with: the longest row, rounded up,
// and no more than the target takes.
func (j *Job) Length() int {
	n := 1024
	for n < j.Rows.Longest {
		n *= 2
	}
	if j.Model.Positions > 0 {
		n = min(n, j.Model.Positions)
	}
	return n
}

// Layers are the layers to capture, with the last one, as vLLM names them.
func (j *Job) Layers() []int { return append(j.Model.CaptureLayers(), j.Model.Layers) }

// Draft is the configuration of a drafter of one layer, in the form that
// SpecForge reads.
func (j *Job) Draft() ([]byte, error) {
	m := j.Model
	theta := cmp.Or(m.RopeTheta, 10000)
	if m.RopeScaled { // without the target's scaling its base is too short for long rows
		theta = max(theta, 1e6)
	}
	config := map[string]any{
		"architectures": []string{"LlamaForCausalLMEagle3"}, "model_type": "llama", "dtype": m.DType,
		"hidden_size": m.Hidden, "intermediate_size": m.Intermediate, "num_hidden_layers": 1,
		"num_attention_heads": m.Heads, "num_key_value_heads": m.KVHeads, "head_dim": m.HeadDim,
		"hidden_act": m.Activation, "rms_norm_eps": m.NormEps, "initializer_range": 0.02,
		"max_position_embeddings": max(j.Length(), min(m.Positions, 131072)), "rope_theta": theta, "rope_scaling": nil,
		"vocab_size": m.Vocab, "draft_vocab_size": j.DraftVocab, "tie_word_embeddings": false, "use_cache": true,
		"attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false,
		"eagle_config": map[string]any{"use_aux_hidden_state": true, "eagle_aux_hidden_state_layer_ids": m.CaptureLayers()},
	}
	if m.BOS >= 0 {
		config["bos_token_id"] = m.BOS
	}
	if m.Pad >= 0 {
		config["pad_token_id"] = m.Pad
	}
	switch len(m.EOS) {
	case 0:
	case 1:
		config["eos_token_id"] = m.EOS[0]
	default:
		config["eos_token_id"] = m.EOS
	}
	b, err := json.Marshal(config, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(b, '\n'), err
}

// shellQuote quotes a word for a shell, where it needs it.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:+=@%", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quote writes a string of YAML, of which JSON's are a part.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string always has a form
	return string(b)
}

func gigabytes(n int64) string {
	if n >= 1e12 {
		return fmt.Sprintf("%.1f TB", float64(n)/1e12)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func count(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
