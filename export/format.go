package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Format is what one loader takes.
type Format struct {
	Name string
	// Loader says whose format it is, Example shows a row.
	Loader, Example string
	// Hand says what is handed to the loader, below the folder of a data set.
	Hand string

	conversations bool // made of messages, not of ids
	dir, ext      string
	numbered      bool // files have numbers even where there is one
	savedToDisk   bool // files have the names of Hugging Face's save_to_disk
	shardBytes    int64
	blockTokens   int
	unfit         func(*Row) string // why the loader could not take a row
	coder         func(*Options) coder
}

// Conversations reports whether the format is made of messages, not of ids.
func (f *Format) Conversations() bool { return f.conversations }

// Formats lists the formats, those of ids first. The first is the [Default].
func Formats() []*Format { return formats }

// Default is the format that is written where none is named: rows of ids and
// masks that SpecForge and speculators load as they are.
func Default() *Format { return formats[0] }

// Lookup finds a format by its name. The error names those that there are.
func Lookup(name string) (*Format, error) {
	i := slices.IndexFunc(formats, func(f *Format) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no format is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return formats[i], nil
}

// Names lists the formats' names.
func Names() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Sizes of blocks, in ids. A block of Parquet is a row group, one of Arrow a
// record batch.
const (
	lineBlock  = 1 << 18
	arrowBlock = 1 << 20
	groupBlock = 1 << 22
)

var formats = []*Format{
	{
		Name: "specforge", Loader: "SpecForge, online training",
		Example: `{"id":"q1/t0/s0","input_ids":[163587,…,163586],"loss_mask":[0,…,1]}`,
		Hand:    "train.jsonl", ext: ".jsonl", blockTokens: lineBlock, coder: lines(tokenLine),
	},
	{
		Name: "speculators", Loader: "vLLM speculators, prepare_data.py",
		Example: `{"id":"q1/t0/s0","primary_id":"q1","input_ids":[…],"loss_mask":[…],"text":"<|im_user|>…"}`,
		Hand:    "data/", dir: "data", ext: ".jsonl", blockTokens: lineBlock, coder: lines(speculatorsLine),
	},
	{
		Name: "arrow", Loader: "vLLM speculators, training; load_from_disk",
		Example: `input_ids list<int32>, loss_mask list<uint8>, seq_len int64; as tensors of int64 when loaded`,
		Hand:    "the folder", ext: ".arrow", numbered: true, savedToDisk: true, shardBytes: 500e6, blockTokens: arrowBlock, coder: newArrow,
	},
	{
		Name: "parquet", Loader: "Hugging Face load_dataset, DuckDB",
		Example: `id string, input_ids list<int32>, loss_mask list<uint8>`,
		Hand:    "the folder", dir: "data", ext: ".parquet", numbered: true, shardBytes: 500e6, blockTokens: groupBlock, coder: newParquet,
	},
	{
		Name: "specforge-conversations", Loader: "SpecForge, offline preparation",
		Example: `{"id":"q1/t0/s0","conversations":[…,{"role":"assistant","content":"4","reasoning_content":"2+2"}],"tools":"[]"}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, alternates(eyrie.ToolRole)), coder: lines(specforgeLine),
	},
	{
		Name: "torchspec", Loader: "TorchSpec",
		Example: `{"id":"q1/t0/s0","conversations":[…,{"role":"assistant","content":"<think>2+2</think>4"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools, reasonedBefore, thinkTags), coder: lines(torchspecLine),
	},
	{
		Name: "modelopt", Loader: "NVIDIA Model-Optimizer",
		Example: `{"conversation_id":"q1_t0_s0","messages":[…,{"role":"assistant","content":"4","reasoning_content":"2+2"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools), coder: lines(modeloptLine),
	},
	{
		Name: "automodel", Loader: "NeMo Automodel",
		Example: `{"messages":[…,{"role":"assistant","content":"4","reasoning_content":"2+2"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools), coder: lines(automodelLine),
	},
	{
		Name: "deepspec", Loader: "DeepSpec",
		Example: `{"id":"q1/t0/s0","conversations":[…,{"role":"assistant","content":"<think>2+2</think>4"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools, alternates(), reasonedBefore, thinkTags, empty), coder: lines(plainLine),
	},
	{
		Name: "eagle", Loader: "EAGLE, traineagle3",
		Example: `{"id":"q1/t0/s0","conversations":[{"from":"human","value":"2+2?"},{"from":"gpt","value":"4"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools, ownSystem, alternates(), reasonedBefore, thinkTags, empty), coder: lines(eagleLine),
	},
	{
		Name: "angelslim", Loader: "AngelSlim",
		Example: `{"id":"q1/t0/s0","conversations":[…,{"role":"assistant","content":"<think>2+2</think>4"}]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock,
		unfit: anyOf(cutShort, declaresTools, alternates(), reasonedBefore, thinkTags, empty), coder: lines(plainLine),
	},
	{
		Name: "messages", Loader: "your own scripts",
		Example: `{"id":"q1/t0/s0","messages":[…,{"role":"assistant","content":"","tool_calls":[…]}],"tools":[…]}`,
		Hand:    "train.jsonl", conversations: true, ext: ".jsonl", blockTokens: lineBlock, coder: lines(messagesLine),
	},
}
