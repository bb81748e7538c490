package export

import (
	"cmp"
	"fmt"

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
	// Split is the part of the set that the conversation is in, Origin what its
	// row in the data set said of itself.
	Split  string       `json:"split,omitzero"`
	Origin eyrie.Origin `json:"origin,omitzero"`
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
	Version int    `json:"version"`
	Set     string `json:"set"`
	// Format names the format of the rows; a manifest without it is of the
	// [Default].
	Format string  `json:"format,omitzero"`
	Run    RunInfo `json:"run"`
	// Files are all files of the export but the manifest, with those of rows in
	// their order.
	Files            []File `json:"files"`
	Splits           []Part `json:"splits,omitzero"`
	Rows             int    `json:"rows"`
	Tokens           int64  `json:"tokens"`            // all input_ids
	SupervisedTokens int64  `json:"supervised_tokens"` // those with loss_mask 1
	// OnPolicy is the share of the supervised tokens that are of answers which
	// the target model gave in this run.
	OnPolicy  float64         `json:"on_policy"`
	Known     map[string]int  `json:"known"` // rows by how their ids are known; "text" are those without ids
	Lanes     map[string]Lane `json:"lanes"`
	Providers map[string]int  `json:"providers,omitzero"` // rows by who answered
	Licences  map[string]int  `json:"licences,omitzero"`  // rows by the licence that the prompt's row states
	Finish    map[string]int  `json:"finish_reasons,omitzero"`
	Lengths   *Lengths        `json:"lengths,omitzero"`
	// Vocabulary tells of the supervised tokens; it is nil where there are none.
	Vocabulary   *Vocabulary    `json:"vocabulary,omitzero"`
	Refused      int            `json:"refused"`
	RefusedKnown map[string]int `json:"refused_known,omitzero"`
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

// File is one file of an export. Rows, Tokens and Split are of files of rows.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Split  string `json:"split,omitzero"`
	Rows   int    `json:"rows,omitzero"`
	Tokens int64  `json:"tokens,omitzero"`
}

// Part is one split of the set.
type Part struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// Lane is what one lane gave to an export. Cost is that of the exported rows.
type Lane struct {
	Provider         string      `json:"provider"`
	Rows             int         `json:"rows"`
	SupervisedTokens int64       `json:"supervised_tokens"`
	Cost             eyrie.Money `json:"cost"`
}

// notStated is the licence of prompts whose row names none.
const notStated = "not stated"

func newManifest(set string, o Options) *Manifest {
	return &Manifest{
		Version: manifestVersion, Set: set, Format: o.Format.Name, Run: o.Run,
		Known: map[string]int{}, Lanes: map[string]Lane{}, Providers: map[string]int{}, Licences: map[string]int{}, Finish: map[string]int{},
		RefusedKnown: map[string]int{}, Surveys: o.Surveys,
	}
}

func (m *Manifest) add(r *Row) {
	supervised := int64(len(r.IDs.CompletionIDs))
	m.Rows++
	m.Tokens += int64(len(r.IDs.PromptIDs)) + supervised
	m.SupervisedTokens += supervised
	m.Known[class(r)]++
	m.Providers[r.Meta.Provider]++
	m.Licences[cmp.Or(r.Meta.Origin.Licence, notStated)]++
	m.Finish[string(r.Meta.FinishReason)]++
	l := m.Lanes[r.Meta.Lane]
	l.Provider = r.Meta.Provider
	l.Rows++
	l.SupervisedTokens += supervised
	l.Cost = l.Cost.Add(r.Meta.Cost)
	m.Lanes[r.Meta.Lane] = l
}

// class is how a row's ids are known.
func class(r *Row) string {
	if r.Err != nil {
		return "text"
	}
	return r.IDs.Known.String()
}

func (m *Manifest) refuse(r *Row) {
	m.Refused++
	class := "no ids"
	if r.Err == nil {
		class = r.IDs.Known.String()
	}
	m.RefusedKnown[class]++
}

// Path is what is handed to the loader, below the export's folder: the first
// file of rows, or the folder that holds them.
func (m *Manifest) Path() string {
	f, err := Lookup(cmp.Or(m.Format, Default().Name))
	switch {
	case err != nil || f.savedToDisk || f.numbered || len(m.Files) == 0:
		return ""
	case f.dir != "":
		return f.dir
	}
	return m.Files[0].Name
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
