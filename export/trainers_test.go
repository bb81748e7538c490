package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

// This file holds a reader for each trainer, written from what the trainers'
// loaders do and not from what is exported. A reader takes one line and says
// what its loader would say against it.

// readers of lines, by format.
var trainers = map[string]struct {
	read func(object) error
	keys []string // that may be there, and no others
}{
	"specforge":               {readTokens, []string{"id", "input_ids", "loss_mask"}},
	"speculators":             {readTokens, []string{"id", "primary_id", "input_ids", "loss_mask", "text"}},
	"specforge-conversations": {readSpecForge, []string{"id", "conversations", "tools"}},
	"torchspec":               {readTorchSpec, []string{"id", "conversations"}},
	"modelopt":                {readModelOpt, []string{"conversation_id", "messages"}},
	"automodel":               {readAutomodel, []string{"messages"}},
	"deepspec":                {readDeepSpec, []string{"id", "conversations"}},
	"eagle":                   {readEagle, []string{"id", "conversations"}},
	"angelslim":               {readAngelSlim, []string{"id", "conversations"}},
	"messages":                {readMessages, []string{"id", "messages", "tools"}},
}

type object = map[string]any

// decodeObject reads one line with its numbers as they are written. Nothing in
// a row may be null, whatever the loader.
func decodeObject(line []byte) (object, error) {
	if bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) || !utf8.Valid(line) {
		return nil, errors.New("not plain UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return o, noNull(o)
}

func noNull(v any) error {
	switch v := v.(type) {
	case nil:
		return errors.New("null")
	case object:
		for k, x := range v {
			if err := noNull(x); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	case []any:
		for _, x := range v {
			if err := noNull(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// integers reads a list of whole numbers; a list of one such list is unwrapped.
func integers(v any, least, most int64) ([]int64, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("no list")
	}
	if len(list) == 1 {
		if inner, ok := list[0].([]any); ok {
			list = inner
		}
	}
	var out []int64
	for _, x := range list {
		n, ok := x.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%v is no number", x)
		}
		i, err := n.Int64()
		if err != nil || i < least || i > most {
			return nil, fmt.Errorf("%v is no whole number from %d to %d", x, least, most)
		}
		out = append(out, i)
	}
	return out, nil
}

// readTokens reads rows of ids as SpecForge and speculators do.
func readTokens(o object) error {
	ids, err := integers(o["input_ids"], 0, 1<<31-1)
	if err != nil {
		return fmt.Errorf("input_ids: %w", err)
	}
	mask, err := integers(o["loss_mask"], 0, 1)
	if err != nil {
		return fmt.Errorf("loss_mask: %w", err)
	}
	switch {
	case len(ids) == 0:
		return errors.New("empty")
	case len(ids) != len(mask):
		return fmt.Errorf("%d ids and a mask of %d", len(ids), len(mask))
	case !slices.Contains(mask, 1):
		return errors.New("nothing is supervised")
	}
	for k, v := range o {
		if _, flat := v.(string); !flat && k != "input_ids" && k != "loss_mask" {
			return fmt.Errorf("%s is not flat", k)
		}
	}
	return nil
}

// messagesOf reads a list of messages, each with a role and a string for its
// content, the last an assistant's.
func messagesOf(v any) ([]object, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("no list of messages")
	}
	var out []object
	for i, x := range list {
		m, ok := x.(object)
		if !ok {
			return nil, fmt.Errorf("message %d is no object", i)
		}
		if role, _ := m["role"].(string); !slices.Contains([]string{"system", "user", "assistant", "tool"}, role) {
			return nil, fmt.Errorf("message %d has the role %v", i, m["role"])
		}
		if _, ok := m["content"].(string); !ok {
			return nil, fmt.Errorf("message %d has the content %v", i, m["content"])
		}
		if err := calls(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out = append(out, m)
	}
	if out[len(out)-1]["role"] != "assistant" {
		return nil, errors.New("it does not end with an answer")
	}
	return out, nil
}

// calls looks at a message's tool calls: an id, and a function with a name and
// arguments, which are text.
func calls(m object) error {
	v, there := m["tool_calls"]
	if !there {
		return nil
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		return errors.New("tool_calls without a call")
	}
	for _, x := range list {
		c, _ := x.(object)
		f, _ := c["function"].(object)
		_, id := c["id"].(string)
		_, name := f["name"].(string)
		_, arguments := f["arguments"].(string)
		if !id || !name || !arguments {
			return fmt.Errorf("the call %v", x)
		}
	}
	return nil
}

// turns wants an optional system message, then user and assistant in turn;
// where tools are known, results may follow an answer or each other, and an
// answer may follow results.
func turns(ms []object, tools bool) error {
	before := "start"
	for i, m := range ms {
		role := m["role"].(string)
		ok := map[string]bool{
			"system":    i == 0,
			"user":      before == "start" || before == "system" || before == "assistant",
			"assistant": before == "user" || tools && before == "tool",
			"tool":      tools && (before == "assistant" || before == "tool"),
		}[role]
		if !ok {
			return fmt.Errorf("message %d: %s after %s", i, role, before)
		}
		before = role
	}
	return nil
}

func onlyKeys(ms []object, keys ...string) error {
	for i, m := range ms {
		for k := range m {
			if !slices.Contains(keys, k) {
				return fmt.Errorf("message %d has %s", i, k)
			}
		}
	}
	return nil
}

func said(ms []object) error {
	for i, m := range ms {
		if strings.TrimSpace(m["content"].(string)) == "" {
			return fmt.Errorf("message %d is empty", i)
		}
	}
	return nil
}

// thinking wants think blocks whole, at the beginning of the last answer and
// nowhere else.
func thinking(ms []object) error {
	for i, m := range ms {
		if m["role"] != "assistant" {
			continue
		}
		text := m["content"].(string)
		opens, closes := strings.Count(text, "<think>"), strings.Count(text, "</think>")
		switch {
		case opens != closes || opens > 1:
			return fmt.Errorf("message %d has %d <think> and %d </think>", i, opens, closes)
		case opens == 1 && i != len(ms)-1:
			return fmt.Errorf("message %d thinks and is not the last", i)
		case opens == 1 && !strings.HasPrefix(text, "<think>"):
			return fmt.Errorf("message %d does not begin with its thinking", i)
		}
	}
	return nil
}

func idOf(o object, key string) error {
	switch o[key].(type) {
	case string, json.Number:
		return nil
	}
	return fmt.Errorf("%s is %v", key, o[key])
}

func readSpecForge(o object) error {
	ms, err := messagesOf(o["conversations"])
	if err != nil {
		return err
	}
	if tools, there := o["tools"]; there {
		text, ok := tools.(string)
		var list []any
		if !ok || json.Unmarshal([]byte(text), &list) != nil {
			return fmt.Errorf("tools is %v", tools)
		}
	}
	return errors.Join(turns(ms, true), idOf(o, "id"))
}

func readTorchSpec(o object) error {
	ms, err := messagesOf(o["conversations"])
	if err != nil {
		return err
	}
	return errors.Join(onlyKeys(ms, "role", "name", "content", "tool_calls", "tool_call_id"), thinking(ms), idOf(o, "id"))
}

// fileName is what the dump scripts make a file's name of.
var fileName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func readModelOpt(o object) error {
	_, err := messagesOf(o["messages"])
	if id, ok := o["conversation_id"].(string); err == nil && (!ok || !fileName.MatchString(id)) {
		err = fmt.Errorf("conversation_id %v cannot name a file", o["conversation_id"])
	}
	return err
}

func readAutomodel(o object) error {
	_, err := messagesOf(o["messages"])
	return err
}

func readDeepSpec(o object) error {
	ms, err := messagesOf(o["conversations"])
	if err != nil {
		return err
	}
	return errors.Join(turns(ms, false), onlyKeys(ms, "role", "content"), said(ms), thinking(ms), idOf(o, "id"))
}

func readAngelSlim(o object) error { return readDeepSpec(o) }

func readEagle(o object) error {
	list, _ := o["conversations"].([]any)
	if len(list) == 0 || len(list)%2 != 0 {
		return fmt.Errorf("%d messages", len(list))
	}
	for i, x := range list {
		m, _ := x.(object)
		text, ok := m["value"].(string)
		if len(m) != 2 || !ok || strings.TrimSpace(text) == "" || m["from"] != []string{"human", "gpt"}[i%2] {
			return fmt.Errorf("message %d is %v", i, x)
		}
	}
	return idOf(o, "id")
}

func readMessages(o object) error {
	if tools, there := o["tools"]; there {
		if list, ok := tools.([]any); !ok || len(list) == 0 {
			return fmt.Errorf("tools is %v", tools)
		}
	}
	_, err := messagesOf(o["messages"])
	return errors.Join(err, idOf(o, "id"))
}

// unified looks at what Arrow's reader would make of rows together: a key that
// only some assistant messages have is null in the others.
func unified(rows []object) error {
	with, without := 0, 0
	for _, o := range rows {
		ms, _ := o["messages"].([]any)
		cs, _ := o["conversations"].([]any)
		for _, x := range slices.Concat(ms, cs) {
			if m := x.(object); m["role"] == "assistant" {
				if _, ok := m["reasoning_content"]; ok {
					with++
				} else {
					without++
				}
			}
		}
	}
	if with > 0 && without > 0 {
		return fmt.Errorf("%d answers have reasoning_content and %d have not", with, without)
	}
	return nil
}

// load reads an export as its trainer would.
func load(t *testing.T, format, dir string, m *export.Manifest) []object {
	t.Helper()
	trainer := trainers[format]
	var rows []object
	for _, file := range rowFiles(dir, m) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			o, err := decodeObject(line)
			if err == nil {
				err = trainer.read(o)
			}
			if err == nil {
				for k := range o {
					if !slices.Contains(trainer.keys, k) {
						err = fmt.Errorf("the key %s", k)
					}
				}
			}
			if err != nil {
				t.Fatalf("%s: the loader says: %v\nof %s", format, err, line)
			}
			rows = append(rows, o)
		}
	}
	if len(rows) != m.Rows {
		t.Fatalf("%s: %d rows are there and the manifest says %d", format, len(rows), m.Rows)
	}
	if slices.Contains([]string{"specforge-conversations", "modelopt", "automodel"}, format) {
		if err := unified(rows); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	return rows
}

// said makes a row of messages and an answer.
func talk(id string, answer eyrie.Message, ms ...eyrie.Message) *export.Row {
	r := row(id, eyrie.KnownCounted, 3, 4)
	r.Meta.Prompt = strings.TrimSuffix(id, "/t0/s0")
	r.Messages, r.Answer = ms, answer
	r.Answer.Role = eyrie.Assistant
	return r
}

func user(text string) eyrie.Message { return eyrie.Message{Role: eyrie.User, Content: text} }

var weather = eyrie.ToolCall{ID: "functions.weather:0", Name: "weather", Arguments: `{"city": "Köln"}`}

// conversations are rows of every kind that is asked and answered.
func conversations() map[string]*export.Row {
	system := eyrie.Message{Role: eyrie.System, Content: "Be brief."}
	call := eyrie.Message{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{weather}}
	thoughtful := call
	thoughtful.Reasoning = "I must look."
	result := eyrie.Message{Role: eyrie.ToolRole, ToolCallID: weather.ID, Content: "12°C"}
	tools := func(r *export.Row) *export.Row {
		r.Tools = []byte(`[{"type":"function","function":{"name":"weather","parameters":{"b":1,"a":1.0}}}]`)
		return r
	}
	long := talk("long/t0/s0", eyrie.Message{Content: "It goes on and"}, user("Tell"))
	long.Meta.FinishReason = eyrie.FinishLength
	return map[string]*export.Row{
		"plain":    talk("plain/t0/s0", eyrie.Message{Content: "4"}, user("2+2?")),
		"thinking": talk("thinking/t0/s0", eyrie.Message{Reasoning: "2+2\nis 4", Content: "4"}, user("2+2?")),
		"system":   talk("system/t0/s0", eyrie.Message{Content: "4"}, system, user("2+2?")),
		"turns":    talk("turns/t1/s0", eyrie.Message{Content: "8"}, user("2+2?"), eyrie.Message{Role: eyrie.Assistant, Content: "4"}, user("4+4?")),
		"declared": tools(talk("declared/t0/s0", eyrie.Message{Content: "No."}, user("Rain?"))),
		"calls":    tools(talk("calls/t0/s0", call, user("Rain?"))),
		"called":   talk("called/t1/s0", eyrie.Message{Content: "Cold."}, user("Rain?"), call, result),
		"loop":     talk("loop/t1/s0", eyrie.Message{Content: "Cold."}, user("Rain?"), thoughtful, result),
		"cut":      long,
		"silent":   talk("silent/t0/s0", eyrie.Message{}, user("Hm?")),
		"musing":   talk("musing/t0/s0", eyrie.Message{Reasoning: "Nothing to say."}, user("Hm?")),
		"spelled":  talk("spelled/t0/s0", eyrie.Message{Content: "write <think> first"}, user("How?")),
		"twice":    talk("twice/t0/s0", eyrie.Message{Content: "Yes."}, user("a"), user("b")),
		"late":     talk("late/t0/s0", eyrie.Message{Content: "Yes."}, user("a"), system),
		"named":    talk("named/t0/s0", eyrie.Message{Content: "Hi."}, eyrie.Message{Role: eyrie.User, Name: "Ann", Content: "Hi"}),
		"strange":  talk("../ü|\"\n/t0/s0", eyrie.Message{Content: "a\u2028b\x00c\xffd\r\n"}, user("\ud7ff\U0010ffff \\ \" \x7f")),
		"blank":    talk("blank/t0/s0", eyrie.Message{Content: "?"}, user(" \n")),
	}
}

// TestEveryTrainerLoadsItsExport also says which rows each trainer cannot take.
func TestEveryTrainerLoadsItsExport(t *testing.T) {
	for format, out := range map[string]string{
		"specforge":               "",
		"speculators":             "",
		"messages":                "",
		"specforge-conversations": "cut silent twice late",
		"torchspec":               "cut silent declared calls loop spelled",
		"modelopt":                "cut silent declared calls",
		"automodel":               "cut silent declared calls",
		"deepspec":                "cut silent declared calls called loop spelled twice late blank",
		"angelslim":               "cut silent declared calls called loop spelled twice late blank",
		"eagle":                   "cut silent declared calls called loop spelled twice late blank system",
	} {
		t.Run(format, func(t *testing.T) {
			root, dir := openRoot(t)
			all := conversations()
			var rs []*export.Row
			names := map[string]string{}
			for _, name := range slices.Sorted(mapsKeys(all)) {
				rs = append(rs, all[name])
				names[all[name].ID] = name
			}
			o := export.Options{Thinks: true, Decode: func(dst []byte, ids []int32) ([]byte, error) { return fmt.Append(dst, ids), nil }}
			var err error
			if o.Format, err = export.Lookup(format); err != nil {
				t.Fatal(err)
			}
			m := mustExport(t, root, o, rs...)
			load(t, format, dir, m)
			var refused []string
			for _, r := range decodeLines[struct{ ID, Reason string }](t, folder(t, dir)["out/code/refused.jsonl"]) {
				refused = append(refused, names[r.ID])
				if r.Reason == "" {
					t.Errorf("%s is refused without a reason", names[r.ID])
				}
			}
			want := strings.Fields(out)
			slices.Sort(want)
			slices.Sort(refused)
			if !slices.Equal(refused, want) {
				t.Errorf("refused are %q, want %q", refused, want)
			}
		})
	}
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestReasoningStandsWhereTheLoaderLooks, and nowhere else.
func TestReasoningStandsWhereTheLoaderLooks(t *testing.T) {
	for format, want := range map[string]string{
		"specforge-conversations": `"content":"4","reasoning_content":"2+2\nis 4"}],"tools":"[]"}`,
		"modelopt":                `"content":"4","reasoning_content":"2+2\nis 4"}]}`,
		"automodel":               `"content":"4","reasoning_content":"2+2\nis 4"}]}`,
		"messages":                `"content":"4","reasoning_content":"2+2\nis 4"}]}`,
		"torchspec":               `"content":"<think>2+2\nis 4</think>4"}]}`,
		"deepspec":                `"content":"<think>2+2\nis 4</think>4"}]}`,
		"angelslim":               `"content":"<think>2+2\nis 4</think>4"}]}`,
		"eagle":                   `{"from":"gpt","value":"<think>2+2\nis 4</think>4"}]}`,
	} {
		root, dir := openRoot(t)
		o := export.Options{}
		o.Format, _ = export.Lookup(format)
		mustExport(t, root, o, conversations()["thinking"])
		if got := folder(t, dir)["out/code/train.jsonl"]; !strings.HasSuffix(got, want+"\n") {
			t.Errorf("%s: the row is %s, want its end to be %s", format, got, want)
		}
	}
}

// TestLoadersTakeWhateverIsExported: conversations at random, in every format.
func TestLoadersTakeWhateverIsExported(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"", " ", "a", "<think>", "</think>b", "\n\n漢", "\u2028", "\xc3\x28", strings.Repeat("x", 300)}
	pick := func() string { return texts[rng.IntN(len(texts))] }
	message := func() eyrie.Message {
		m := eyrie.Message{Role: []eyrie.Role{eyrie.System, eyrie.User, eyrie.User, eyrie.Assistant, eyrie.ToolRole}[rng.IntN(5)], Content: pick()}
		if m.Role == eyrie.Assistant && rng.IntN(3) == 0 {
			m.Reasoning = pick()
		}
		if m.Role == eyrie.Assistant && rng.IntN(4) == 0 {
			m.ToolCalls = []eyrie.ToolCall{weather, {Name: pick(), Arguments: pick()}}
		}
		return m
	}
	var rs []*export.Row
	for i := range 400 {
		r := talk(fmt.Sprintf("%s%d/t0/s0", pick(), i), message())
		for range 1 + rng.IntN(4) {
			r.Messages = append(r.Messages, message())
		}
		if rng.IntN(5) == 0 {
			r.Tools = []byte(`[{"type":"function"}]`)
		}
		rs = append(rs, r)
	}
	for _, f := range export.Formats() {
		if _, ok := trainers[f.Name]; !ok {
			continue // not of lines
		}
		root, dir := openRoot(t)
		m := mustExport(t, root, export.Options{Format: f, Thinks: true}, rs...)
		load(t, f.Name, dir, m)
		if m.Rows == 0 {
			t.Errorf("%s: nothing is exported", f.Name)
		}
	}
}

// rejects are rows that a loader of ids must refuse, and why.
var rejects = map[string]string{
	"no mask":            `{"input_ids":[1,2]}`,
	"no ids":             `{"loss_mask":[1]}`,
	"unequal":            `{"input_ids":[1,2,3],"loss_mask":[0,1]}`,
	"mask of two":        `{"input_ids":[1,2],"loss_mask":[0,2]}`,
	"float":              `{"input_ids":[1.0,2],"loss_mask":[0,1]}`,
	"boolean":            `{"input_ids":[true,2],"loss_mask":[0,1]}`,
	"empty":              `{"input_ids":[],"loss_mask":[]}`,
	"two rows in one":    `{"input_ids":[[1],[2]],"loss_mask":[[0],[1]]}`,
	"negative":           `{"input_ids":[-1,2],"loss_mask":[0,1]}`,
	"nothing supervised": `{"input_ids":[1,2],"loss_mask":[0,0]}`,
	"null":               `{"id":null,"input_ids":[1],"loss_mask":[1]}`,
	"nested beside":      `{"id":"a","meta":{"x":1},"input_ids":[1],"loss_mask":[1]}`,
}

// TestTheReadersRefuse keeps the tests above from passing by accident.
func TestTheReadersRefuse(t *testing.T) {
	refuse := func(format, line string) {
		t.Helper()
		o, err := decodeObject([]byte(line))
		if err == nil {
			err = trainers[format].read(o)
		}
		if err == nil {
			t.Errorf("the loader of %s takes %s", format, line)
		}
	}
	for _, line := range rejects {
		refuse("specforge", line)
		refuse("speculators", line)
	}
	answer := `{"role":"assistant","content":"b"}`
	for _, c := range []struct{ format, line string }{
		{"specforge-conversations", `{"id":"a","conversations":[{"role":"user","content":"a"},{"role":"user","content":"a"},` + answer + `]}`},
		{"specforge-conversations", `{"id":"a","conversations":[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":null}]}`},
		{"specforge-conversations", `{"id":"a","conversations":[{"role":"user","content":"a"},` + answer + `],"tools":[]}`},
		{"torchspec", `{"id":"a","conversations":[{"role":"user","content":"a"},{"role":"assistant","content":"x</think>b"}]}`},
		{"torchspec", `{"id":"a","conversations":[{"role":"user","content":"a"},{"role":"assistant","content":"<think>x</think>b"},{"role":"user","content":"a"},` + answer + `]}`},
		{"modelopt", `{"conversation_id":"a/b","messages":[{"role":"user","content":"a"},` + answer + `]}`},
		{"modelopt", `{"conversation_id":"a","messages":[{"role":"user","content":"a"}]}`},
		{"automodel", `{"messages":[]}`},
		{"deepspec", `{"id":"a","conversations":[{"role":"user","content":"a"},{"role":"tool","content":"a"},` + answer + `]}`},
		{"angelslim", `{"conversations":[{"role":"user","content":"a"},` + answer + `]}`},
		{"eagle", `{"id":"a","conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"b"}]}`},
		{"messages", `{"id":"a","messages":[{"role":"robot","content":"a"}]}`},
	} {
		refuse(c.format, c.line)
	}
}

// TestSharedExamples: the examples of each trainer's form are taken, and the
// rows that must be refused are.
func TestSharedExamples(t *testing.T) {
	dir := filepath.Join(sharedData(t), "datasets", "export_examples")
	read := func(name string) [][]byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("no shared example: %v", err)
		}
		return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	}
	for name, format := range map[string]string{
		"specforge_pretokenized.jsonl": "specforge", "speculators_rows.jsonl": "speculators",
		"specforge_conversations.jsonl": "specforge-conversations", "torchspec_kimi_k25.jsonl": "torchspec",
		"model_optimizer_messages.jsonl": "modelopt", "nemo_automodel_messages.jsonl": "automodel",
		"deepspec.jsonl": "deepspec", "eagle_sharegpt.jsonl": "eagle", "angelslim.jsonl": "angelslim",
	} {
		for _, line := range read(name) {
			o, err := decodeObject(line)
			if err == nil {
				err = trainers[format].read(o)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, line := range read("specforge_pretokenized_rejects.jsonl") {
		var reject struct {
			Why  string
			Line json.RawMessage
		}
		if err := json.Unmarshal(line, &reject); err != nil {
			t.Fatal(err)
		}
		o, err := decodeObject(reject.Line)
		if err == nil {
			err = readTokens(o)
		}
		if err == nil {
			t.Errorf("%s: the loader takes %s", reject.Why, reject.Line)
		}
	}
}

// sharedData is where larger data lies that is not part of the project.
func sharedData(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("EYRIE_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared")
}
