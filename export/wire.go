package export

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// Meta is everything about a row that is not for the trainer.
type Meta struct {
	ID               string             `json:"id"`
	Set              string             `json:"set"`
	Prompt           string             `json:"prompt"`
	Turn             int                `json:"turn"`
	Sample           int                `json:"sample"`
	Key              eyrie.Key          `json:"key"`
	Known            eyrie.Known        `json:"known"`
	Reason           string             `json:"reason,omitzero"`
	PromptTokens     int                `json:"prompt_tokens"`
	CompletionTokens int                `json:"completion_tokens"`
	FinishReason     eyrie.FinishReason `json:"finish_reason"`
	Model            string             `json:"model"`
	Provider         string             `json:"provider"`
	Lane             string             `json:"lane"`
	GenerationID     string             `json:"generation_id,omitzero"`
	Cost             eyrie.Money        `json:"cost"`
	Charged          eyrie.Charged      `json:"charged"`
	Usage            eyrie.Usage        `json:"usage"`
	Sampling         eyrie.Sampling     `json:"sampling"`
	TTFTMS           int64              `json:"ttft_ms,omitzero"`
	ElapsedMS        int64              `json:"elapsed_ms,omitzero"`
}

// appendTrain appends the trainer's line.
func appendTrain(dst []byte, r *Row) []byte {
	dst = append(dst, `{"id":`...)
	dst, _ = jsontext.AppendQuote(dst, r.ID)
	dst = append(dst, `,"input_ids":[`...)
	for _, part := range [][]int32{r.IDs.PromptIDs, r.IDs.CompletionIDs} {
		for _, id := range part {
			dst = append(strconv.AppendInt(dst, int64(id), 10), ',')
		}
	}
	dst = append(dst[:len(dst)-1], `],"loss_mask":[`...) // a row has a completion, and so a last comma
	for range r.IDs.PromptIDs {
		dst = append(dst, "0,"...)
	}
	for range r.IDs.CompletionIDs {
		dst = append(dst, "1,"...)
	}
	return append(dst[:len(dst)-1], "]}"...)
}

// appendMeta appends the line that goes with a row.
func appendMeta(dst []byte, r *Row) ([]byte, error) {
	m := r.Meta
	m.ID, m.Known, m.Reason = r.ID, r.IDs.Known, r.IDs.Reason
	m.PromptTokens, m.CompletionTokens = len(r.IDs.PromptIDs), len(r.IDs.CompletionIDs)
	return marshalTo(dst, &m)
}

// appendRefused appends the line of a row that is left out.
func appendRefused(dst []byte, r *Row, why string) ([]byte, error) {
	type refused struct {
		ID     string      `json:"id"`
		Key    eyrie.Key   `json:"key"`
		Known  eyrie.Known `json:"known,omitzero"`
		Reason string      `json:"reason"`
		Lane   string      `json:"lane"`
		Cost   eyrie.Money `json:"cost"`
	}
	return marshalTo(dst, &refused{r.ID, r.Meta.Key, r.IDs.Known, why, r.Meta.Lane, r.Meta.Cost})
}

func marshalTo(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	return append(dst, b...), err
}

// manifestVersion is the version of the manifest's format.
const manifestVersion = 1

// Manifest says what an export holds.
type Manifest struct {
	Version          int             `json:"version"`
	Set              string          `json:"set"`
	Run              RunInfo         `json:"run"`
	Files            []File          `json:"files"`
	Rows             int             `json:"rows"`
	Tokens           int64           `json:"tokens"`            // all input_ids
	SupervisedTokens int64           `json:"supervised_tokens"` // those with loss_mask 1
	Known            map[string]int  `json:"known"`             // rows by how their ids are known
	Lanes            map[string]Lane `json:"lanes"`
	Refused          int             `json:"refused"`
	RefusedKnown     map[string]int  `json:"refused_known,omitzero"`
	// Surveys says what was assumed of each lane of the run, when ids were made
	// from text.
	Surveys map[string]Survey `json:"surveys,omitzero"`
}

// Survey is what the answers of a lane told about it. Habits are shares of the
// answers to which the assumption could apply; those not listed have the share
// of a lane of which nothing is known.
type Survey struct {
	Answers int                `json:"answers"` // that were surveyed and said something
	Habits  map[string]float64 `json:"habits,omitzero"`
}

// RunInfo says which run an export is of.
type RunInfo struct {
	Program         string `json:"program"`
	Model           string `json:"model"`
	TokenizerDigest string `json:"tokenizer_digest"`
	TemplateDigest  string `json:"template_digest"`
	Template        string `json:"template"`
	// Confidence is how sure a row of text had to be to be certified.
	Confidence float64 `json:"confidence,omitzero"`
}

// File is one file of an export.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Lane is what one lane gave to an export. Cost is that of the exported rows.
type Lane struct {
	Provider         string      `json:"provider"`
	Rows             int         `json:"rows"`
	SupervisedTokens int64       `json:"supervised_tokens"`
	Cost             eyrie.Money `json:"cost"`
}

func newManifest(set string, o Options) *Manifest {
	return &Manifest{
		Version: manifestVersion, Set: set, Run: o.Run,
		Known: map[string]int{}, Lanes: map[string]Lane{}, RefusedKnown: map[string]int{}, Surveys: o.Surveys,
	}
}

func (m *Manifest) add(r *Row) {
	m.Rows++
	m.Tokens += int64(len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs))
	m.SupervisedTokens += int64(len(r.IDs.CompletionIDs))
	m.Known[r.IDs.Known.String()]++
	l := m.Lanes[r.Meta.Lane]
	l.Provider = r.Meta.Provider
	l.Rows++
	l.SupervisedTokens += int64(len(r.IDs.CompletionIDs))
	l.Cost = l.Cost.Add(r.Meta.Cost)
	m.Lanes[r.Meta.Lane] = l
}

func (m *Manifest) refuse(r *Row) {
	m.Refused++
	class := "no ids"
	if r.Err == nil {
		class = r.IDs.Known.String()
	}
	m.RefusedKnown[class]++
}

func (m *Manifest) marshal() ([]byte, error) {
	b, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

func parseManifest(b []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if m.Version != manifestVersion {
		return nil, fmt.Errorf("version %d", m.Version)
	}
	return m, nil
}
