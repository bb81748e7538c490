package config

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// Frozen returns what may not change between the start of a run and its
// resumption, as canonical JSON: equal jobs give equal bytes. These are the
// fields that the key of a generation depends on. The rest of a job may change:
// a budget can be raised, engines and data sets added.
func (j *Job) Frozen() []byte {
	b, err := json.Marshal(struct {
		Model    string         `json:"model"`
		Sampling eyrie.Sampling `json:"sampling"`
	}{j.Model, j.Sampling})
	if err == nil {
		err = (*jsontext.Value)(&b).Canonicalize()
	}
	if err != nil {
		// The numbers are finite and the model is ASCII, or Load had refused it.
		panic("config: frozen fields do not encode: " + err.Error())
	}
	return b
}
