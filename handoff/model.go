package handoff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Model is what a target model's config.json says, as far as a drafter needs it.
type Model struct {
	Architecture string
	Hidden       int // hidden_size
	Layers       int // num_hidden_layers
	Vocab        int // vocab_size
	Heads        int
	KVHeads      int
	HeadDim      int
	Intermediate int
	Positions    int // max_position_embeddings
	RopeTheta    float64
	RopeScaled   bool
	NormEps      float64
	Activation   string
	DType        string
	BOS, Pad     int   // -1 where there is none
	EOS          []int // one or several
}

// fields are the keys of a config.json, which may lie at its top or, in models
// that also see, under text_config.
type fields struct {
	Architectures []string       `json:"architectures"`
	Hidden        int            `json:"hidden_size"`
	Layers        int            `json:"num_hidden_layers"`
	Vocab         int            `json:"vocab_size"`
	Heads         int            `json:"num_attention_heads"`
	KVHeads       int            `json:"num_key_value_heads"`
	HeadDim       int            `json:"head_dim"`
	VHeadDim      int            `json:"v_head_dim"`
	Intermediate  int            `json:"intermediate_size"`
	Positions     int            `json:"max_position_embeddings"`
	RopeTheta     float64        `json:"rope_theta"`
	RopeScaling   jsontext.Value `json:"rope_scaling"`
	NormEps       float64        `json:"rms_norm_eps"`
	Activation    string         `json:"hidden_act"`
	DType         string         `json:"dtype"`
	TorchDType    string         `json:"torch_dtype"`
	BOS           *int           `json:"bos_token_id"`
	Pad           *int           `json:"pad_token_id"`
	EOS           jsontext.Value `json:"eos_token_id"`
}

// ReadModel reads a config.json.
func ReadModel(b []byte) (*Model, error) {
	var top struct {
		fields `json:",inline"`
		Text   *fields `json:"text_config"`
	}
	if err := json.Unmarshal(b, &top); err != nil {
		return nil, fmt.Errorf("not a config.json: %w", err)
	}
	f := &top.fields
	if top.Text != nil {
		f = top.Text
		f.inherit(&top.fields)
	}
	var missing []error
	for name, v := range map[string]int{
		"hidden_size": f.Hidden, "num_hidden_layers": f.Layers, "vocab_size": f.Vocab, "num_attention_heads": f.Heads, "intermediate_size": f.Intermediate,
	} {
		if v <= 0 {
			missing = append(missing, fmt.Errorf("it has no %s", name))
		}
	}
	eos, err := ids(f.EOS)
	if err != nil {
		missing = append(missing, err)
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, func(a, b error) int { return slices.Compare([]byte(a.Error()), []byte(b.Error())) })
		return nil, errors.Join(missing...)
	}
	return f.model(eos), nil
}

// inherit takes what a text_config leaves out from the config around it.
func (f *fields) inherit(top *fields) {
	if len(top.Architectures) > 0 {
		f.Architectures = top.Architectures
	}
	if f.BOS == nil {
		f.BOS = top.BOS
	}
	if f.Pad == nil {
		f.Pad = top.Pad
	}
	if len(f.EOS) == 0 {
		f.EOS = top.EOS
	}
	if f.DType == "" {
		f.DType = top.DType
	}
	if f.TorchDType == "" {
		f.TorchDType = top.TorchDType
	}
	if f.Vocab == 0 {
		f.Vocab = top.Vocab
	}
}

// ids reads a token id, or a list of them.
func ids(raw jsontext.Value) ([]int, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one int
	if json.Unmarshal(raw, &one) == nil {
		return []int{one}, nil
	}
	var many []int
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, fmt.Errorf("its eos_token_id is %.40s, which is neither an id nor a list of ids", raw)
	}
	return many, nil
}

func (f *fields) model(eos []int) *Model {
	m := &Model{
		Hidden: f.Hidden, Layers: f.Layers, Vocab: f.Vocab, Heads: f.Heads, KVHeads: f.KVHeads, HeadDim: f.HeadDim,
		Intermediate: f.Intermediate, Positions: f.Positions, RopeTheta: f.RopeTheta,
		RopeScaled: len(f.RopeScaling) > 0 && string(f.RopeScaling) != "null",
		NormEps:    f.NormEps, Activation: f.Activation, DType: f.DType, BOS: -1, Pad: -1, EOS: eos,
	}
	if len(f.Architectures) > 0 {
		m.Architecture = f.Architectures[0]
	}
	if f.BOS != nil {
		m.BOS = *f.BOS
	}
	if f.Pad != nil {
		m.Pad = *f.Pad
	}
	if m.KVHeads == 0 {
		m.KVHeads = m.Heads
	}
	if m.HeadDim == 0 { // attention over a latent names the width of its values
		m.HeadDim = f.VHeadDim
	}
	if m.HeadDim == 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	if m.NormEps == 0 {
		m.NormEps = 1e-6
	}
	if m.Activation == "" {
		m.Activation = "silu"
	}
	if m.DType == "" {
		m.DType = f.TorchDType
	}
	if m.DType == "" {
		m.DType = "bfloat16"
	}
	return m
}

// CaptureLayers are the layers whose states an EAGLE-3 drafter sees beside the
// last: an early one, the middle, and a late one, as SpecForge and speculators
// choose them.
func (m *Model) CaptureLayers() []int {
	return []int{min(2, m.Layers-1), m.Layers / 2, max(0, m.Layers-3)}
}

// BytesPerToken is what the captured states of a token take.
func (m *Model) BytesPerToken() int64 { return int64(len(m.CaptureLayers())+1) * int64(m.Hidden) * 2 }

// Tokenizer is what the check needs of a tokenizer.
type Tokenizer interface {
	VocabSize() int
	IsSpecial(id int32) bool
	Token(id int32) ([]byte, bool)
}

// Check holds the config against the tokenizer and the ids that rows hold, of
// which highest is the largest. ends are the tokens that end the model's answers,
// by the template. What it finds are sentences; nothing means that they agree.
func (m *Model) Check(tok Tokenizer, highest int, ends []int32) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if n := tok.VocabSize(); n > m.Vocab {
		say("the tokenizer has %d ids and the config's vocab_size is %d: this is the config of another model", n, m.Vocab)
	}
	if highest >= m.Vocab {
		say("a row holds id %d, and the config's vocab_size is %d", highest, m.Vocab)
	}
	named := func(what string, id int) {
		switch text, known := tok.Token(int32(id)); {
		case id < 0 || id >= m.Vocab:
			say("%s is %d, beyond vocab_size %d", what, id, m.Vocab)
		case known && !tok.IsSpecial(int32(id)):
			say("%s is %d, which the tokenizer writes as %q: no special token", what, id, text)
		}
	}
	if m.BOS >= 0 {
		named("bos_token_id", m.BOS)
	}
	for _, id := range m.EOS {
		named("eos_token_id", id)
	}
	for _, id := range ends {
		if len(m.EOS) > 0 && !slices.Contains(m.EOS, int(id)) {
			text, _ := tok.Token(id)
			say("answers end in %d (%s), and eos_token_id is %v: the trainer's server has to stop there too", id, text, m.EOS)
		}
	}
	return problems
}
