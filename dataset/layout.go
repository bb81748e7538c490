package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Layout names how a row holds a conversation.
type Layout string

// The layouts, in the order in which they are tried.
const (
	Auto        Layout = "auto"         // whichever fits the first rows
	Messages    Layout = "messages"     // a list of "role" and "content"
	ShareGPT    Layout = "sharegpt"     // a list of "from" and "value"
	Trajectory  Layout = "trajectory"   // an agent's list of messages, in "history" or "trajectory"
	InputOutput Layout = "input-output" // a list of messages in "input", their answer in "output"
	Transcript  Layout = "transcript"   // one text in which USER: and ASSISTANT: take turns
	Instruction Layout = "instruction"  // "instruction", perhaps "input", and an answer
	Pair        Layout = "pair"         // two columns: what is asked and what is answered
	Turns       Layout = "turns"        // "turns", a list of what the user says
	Prompt      Layout = "prompt"       // one column: what is asked
)

// Layouts lists the layouts that a set can be told to have.
func Layouts() []Layout {
	names := []Layout{Auto}
	for _, l := range layouts() {
		if !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	return names
}

// Field is what a column of a row holds.
type Field string

// The fields.
const (
	FieldID         Field = "id"
	FieldMessages   Field = "messages"
	FieldSystem     Field = "system"
	FieldTools      Field = "tools"
	FieldPrompt     Field = "prompt"
	FieldInput      Field = "input"   // goes below the prompt
	FieldOptions    Field = "options" // so do these, the choices of a question
	FieldAnswer     Field = "answer"
	FieldReasoning  Field = "reasoning"
	FieldCalls      Field = "calls" // tool calls that are the answer
	FieldTurns      Field = "turns"
	FieldTranscript Field = "transcript"
	FieldHistory    Field = "history" // earlier pairs of what was asked and answered
	FieldImages     Field = "images"
	FieldSplit      Field = "split"
	FieldLicence    Field = "license"
	FieldSource     Field = "source"
	FieldCategory   Field = "category"
	FieldLanguage   Field = "language"
)

// Fields lists the fields whose columns can be told.
func Fields() []Field {
	return []Field{
		FieldID, FieldMessages, FieldSystem, FieldTools, FieldPrompt, FieldInput, FieldOptions, FieldAnswer, FieldReasoning,
		FieldCalls, FieldTurns, FieldTranscript, FieldHistory, FieldImages, FieldSplit, FieldLicence, FieldSource,
		FieldCategory, FieldLanguage,
	}
}

// columns are the names that a field goes by, the likeliest first.
type columns struct {
	field Field
	names []string
}

// common are the columns that mean the same in every layout.
var common = []columns{
	{FieldID, []string{"id", "conversation_id", "prompt_id", "uuid", "question_id", "trajectory_id", "traj_id", "instance_id"}},
	{FieldSystem, []string{"system", "system_prompt"}},
	{FieldTools, []string{"tools", "functions"}},
	{FieldImages, []string{"images", "image", "videos", "audios"}},
	{FieldSplit, []string{"split"}},
	{FieldLicence, []string{"license", "licence"}},
	{FieldSource, []string{"source", "dataset"}},
	{FieldCategory, []string{"category", "domain"}},
	{FieldLanguage, []string{"language"}},
}

// layout turns the JSON of a row into a draft.
type layout struct {
	name Layout
	// own are the columns of this layout, besides the common ones.
	own []columns
	// fits looks at the columns of a row.
	fits func(row []column) bool
}

// pairs are the columns of what is asked and what is answered, as public sets
// name them.
var pairs = [][2]string{
	{"prompt", "response"}, {"prompt", "completion"}, {"prompt", "answer"}, {"prompt", "output"}, {"prompt", "chosen"},
	{"problem", "solution"}, {"problem", "response"}, {"problem", "answer"},
	{"question", "answer"}, {"question", "response"}, {"question", "correct_answer"},
	{"Problem", "Rationale"}, {"message_1", "message_2"}, {"query", "answers"}, {"query", "response"}, {"input", "output"},
}

// questions are the columns of a lone prompt.
var questions = []string{"prompt", "question", "instruction", "query", "problem", "Problem"}

// transcripts are the columns that a transcript may stand in.
var transcripts = []string{"chat", "transcript", "conversation", "example", "text", "chosen"}

// layouts are tried in order. Lists of messages come first: sets that have one
// repeat its beginning in other columns.
func layouts() []layout {
	all := []layout{
		conversation(Messages, "role", "messages", "conversations", "conversation", "dialogue", "dialog", "chat"),
		conversation(ShareGPT, "from", "conversations", "conversation", "messages", "dialogue", "dialog", "chat"),
		conversation(Trajectory, "role", "history"),
		conversation(Trajectory, "role", "trajectory"),
		{
			InputOutput, []columns{{FieldMessages, []string{"input"}}, {FieldAnswer, []string{"output"}}},
			func(row []column) bool { return listed(row, []string{"input"}, "role", "from") },
		},
		{Transcript, []columns{{FieldTranscript, transcripts}}, hasTranscript},
		{
			Instruction,
			[]columns{
				{FieldPrompt, []string{"instruction"}}, {FieldInput, []string{"input"}}, {FieldHistory, []string{"history"}},
				{FieldAnswer, []string{"output", "response", "completion", "answer"}},
			},
			func(row []column) bool {
				return has(row, "instruction") && (has(row, "output") || has(row, "response") || has(row, "completion") || has(row, "answer"))
			},
		},
	}
	for _, p := range pairs {
		all = append(all, pair(p[0], p[1]))
	}
	return append(all,
		layout{Turns, []columns{{FieldTurns, []string{"turns"}}}, func(row []column) bool { return has(row, "turns") }},
		layout{
			Prompt, []columns{{FieldPrompt, questions}},
			func(row []column) bool {
				return slices.ContainsFunc(questions, func(q string) bool { return has(row, q) })
			},
		},
	)
}

// conversation is the layout of rows with a list of messages, which is
// recognised by the key of their speakers. Either spelling of a message can be
// read in any list.
func conversation(name Layout, speaker string, in ...string) layout {
	return layout{name, []columns{{FieldMessages, in}}, func(row []column) bool { return listed(row, in, speaker) }}
}

// pair is the layout of two columns.
func pair(asked, answered string) layout {
	own := []columns{
		{FieldPrompt, []string{asked}}, {FieldAnswer, []string{answered}},
		{FieldReasoning, []string{"thinking", "reasoning_content"}}, {FieldOptions, []string{"options"}},
	}
	if answered == "answers" {
		own[1].field = FieldCalls
	}
	return layout{Pair, own, func(row []column) bool { return has(row, asked) && has(row, answered) }}
}

// slot is what a column is read as. A column of a lower rank wins.
type slot struct {
	field Field
	rank  int
}

// table says of every column that is read what it holds. What was told comes
// instead of the names that the layout knows.
func (l layout) table(told map[Field]string) map[string]slot {
	t := map[string]slot{}
	for _, c := range slices.Concat(l.own, common) {
		if _, ok := told[c.field]; ok {
			continue
		}
		for rank, name := range c.names {
			if _, taken := t[name]; !taken {
				t[name] = slot{c.field, rank}
			}
		}
	}
	for field, name := range told {
		t[name] = slot{field, 0}
	}
	return t
}

// candidates returns the layouts that the caller allows.
func candidates(opts *Options) ([]layout, error) {
	all := layouts()
	if err := checkColumns(opts.Columns); err != nil {
		return nil, err
	}
	if opts.Layout == "" || opts.Layout == Auto {
		if l, ok := toldLayout(opts.Columns); ok {
			return []layout{l}, nil
		}
		return all, nil
	}
	var allowed []layout
	for _, c := range all {
		if c.name == opts.Layout {
			allowed = append(allowed, c)
		}
	}
	if allowed == nil {
		return nil, fmt.Errorf("layout %q is not known; there are %s", opts.Layout, joined(Layouts(), ", "))
	}
	if l, ok := toldLayout(opts.Columns); ok && l.name == opts.Layout || len(allowed) == 1 && len(opts.Columns) > 0 {
		if !ok {
			l = allowed[0]
		}
		return []layout{l}, nil
	}
	return allowed, nil
}

// checkColumns refuses fields that there are not.
func checkColumns(told map[Field]string) error {
	for field := range told {
		if !slices.Contains(Fields(), field) {
			return fmt.Errorf("columns: field %q is not known; there are %s", field, joined(Fields(), ", "))
		}
	}
	return nil
}

// toldLayout is the layout that the told columns make, if they say where the
// conversation stands.
func toldLayout(told map[Field]string) (layout, bool) {
	for _, c := range []struct {
		field Field
		name  Layout
	}{{FieldMessages, Messages}, {FieldTranscript, Transcript}, {FieldTurns, Turns}, {FieldPrompt, Prompt}} {
		in, ok := told[c.field]
		if !ok {
			continue
		}
		l := layout{name: c.name, fits: func(row []column) bool { return has(row, in) }}
		if _, answered := told[FieldAnswer]; answered && c.name == Prompt {
			l.name = Pair
		}
		if _, answered := told[FieldAnswer]; answered && c.name == Messages {
			l.name = InputOutput
		}
		return l, true
	}
	return layout{}, false
}

// sniffRows is how many rows may pass before one fits a layout.
const sniffRows = 100

// errNoRows is the error of a file without a row to look at.
var errNoRows = errors.New("holds no rows")

// maxColumns is how many columns an error names.
const maxColumns = 20

func columnNames(cols []column) []string {
	names := []string{}
	for _, c := range cols[:min(len(cols), maxColumns)] {
		names = append(names, clip(c.name))
	}
	return names
}

// joined lists names.
func joined[T ~string](names []T, sep string) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, sep)
}

// layoutNames lists the names of layouts, each once.
func layoutNames(ls []layout) string {
	var names []Layout
	for _, l := range ls {
		if !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	return joined(names, " or ")
}
