package journal

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// The outline of a record is the record without its text: everything that
// money, progress and order are folded from, and a hundredth of the bytes.

// promptOutline and endedOutline read a record without the members that hide
// the record's own.
type promptOutline struct {
	*eyrie.PromptRecord
	Messages skipped `json:"messages"`
	Tools    skipped `json:"tools"`
}

type endedOutline struct {
	*eyrie.EndedRecord
	Reasoning     skipped `json:"reasoning"`
	Content       skipped `json:"content"`
	ToolCalls     skipped `json:"tool_calls"`
	PromptIDs     skipped `json:"prompt_ids"`
	CompletionIDs skipped `json:"completion_ids"`
	FinalFrame    skipped `json:"final_frame"`
	Logprobs      skipped `json:"logprobs"`
}

// skipped takes the place of a member that is not wanted.
type skipped struct{}

func (*skipped) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// decodeOutline is decodeLine for the outline.
func decodeOutline(line []byte, kind string) (eyrie.Record, time.Time, error) {
	r := newRecord(kind)
	switch p := r.(type) {
	case *eyrie.PromptRecord:
		return decodeInto(line, kind, r, &promptOutline{PromptRecord: p})
	case *eyrie.EndedRecord:
		return decodeInto(line, kind, r, &endedOutline{EndedRecord: p})
	}
	return decodeInto(line, kind, r, r)
}
