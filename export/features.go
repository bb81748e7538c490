package export

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"
)

// feature is a column as Hugging Face's datasets describes it. Versions before
// 4 know a list as Sequence only, and later ones still do.
type feature struct {
	Feature *feature `json:"feature,omitzero"`
	Dtype   string   `json:"dtype,omitzero"`
	Type    string   `json:"_type"`
}

func value(dtype string) *feature { return &feature{Dtype: dtype, Type: "Value"} }
func list(dtype string) *feature  { return &feature{Feature: value(dtype), Type: "Sequence"} }

// features are columns by name. Their order is that of the file's schema.
type features map[string]*feature

var (
	parquetFeatures = features{"id": value("string"), "input_ids": list("int32"), "loss_mask": list("uint8")}
	arrowFeatures   = features{"input_ids": list("int32"), "loss_mask": list("uint8"), "seq_len": value("int64")}
)

// huggingFace is the key of the schema's metadata in which datasets keeps the
// features.
const huggingFace = "huggingface"

// metadata is the value under that key.
func (f features) metadata() string {
	b, err := json.Marshal(map[string]any{"info": map[string]any{"features": f}}, json.Deterministic(true))
	if err != nil {
		panic(err) // strings and maps of them
	}
	return string(b)
}

// fingerprint names content by its digests, as datasets names what it caches.
func fingerprint(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:8])
}
