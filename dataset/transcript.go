package dataset

import (
	"regexp"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// speaker finds where someone begins to speak in a transcript.
var speaker = regexp.MustCompile(`(?m)^[ \t]*(SYSTEM|System|USER|User|HUMAN|Human|ASSISTANT|Assistant|GPT|FUNCTION RESPONSE|TOOL):[ \t]*`)

// endOfText is what some transcripts put behind each answer.
const endOfText = "<|endoftext|>"

// spoken is a transcript as messages. A call stands in what the assistant says
// behind <functioncall>.
func (d *draft) spoken() ([]eyrie.Message, *drop) {
	text := unfenced(d.transcript)
	starts := speaker.FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		return nil, dropf(NoMessages, "a transcript in which nobody is named")
	}
	if before := strings.TrimSpace(text[:starts[0][0]]); before != "" && strings.TrimSpace(d.system) == "" {
		d.system = before
	}
	d.glaiveSystem()
	w := walker{rules: new(rules)}
	var messages []eyrie.Message
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		said := strings.TrimSpace(text[at[1]:end])
		m := spoken{Message: eyrie.Message{Role: speakers[strings.ToLower(text[at[2]:at[3]])], Content: said}}
		if m.Role == eyrie.Assistant {
			m.Content = strings.TrimSpace(strings.ReplaceAll(said, endOfText, ""))
			m.Content, m.ToolCalls = taggedCalls(&w, m.Content)
			if err := glaiveCall(&w, &m.Message); err != nil {
				return nil, err
			}
		}
		messages = appendSpoken(messages, m)
	}
	return messages, nil
}

// speakers are the names of a transcript, in lower case.
var speakers = map[string]eyrie.Role{
	"system": eyrie.System, "user": eyrie.User, "human": eyrie.User, "assistant": eyrie.Assistant, "gpt": eyrie.Assistant,
	"function response": eyrie.ToolRole, "tool": eyrie.ToolRole,
}

// unfenced takes a transcript out of the code fence around it.
func unfenced(text string) string {
	trimmed := strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(trimmed, "```"); ok {
		if inside, ok = strings.CutSuffix(inside, "```"); ok {
			return inside
		}
	}
	return text
}

// glaiveSystem reads a system column of Glaive: it begins with SYSTEM: and
// declares tools at its end, which become the row's.
func (d *draft) glaiveSystem() {
	text, ok := strings.CutPrefix(strings.TrimSpace(d.system), "SYSTEM:")
	if !ok {
		return
	}
	d.system = strings.TrimSpace(text)
	at := strings.IndexByte(d.system, '{')
	if at < 0 || d.tools != nil {
		return
	}
	tools, rest := leadingTools(d.system[at:])
	if tools != nil && strings.TrimSpace(rest) == "" {
		d.tools, d.system = tools, strings.TrimRight(d.system[:at], " -\r\n\t")
	}
}

// functionCallTag stands before a call in a transcript of Glaive.
const functionCallTag = "<functioncall>"

// glaiveCall takes the call out of what the assistant says. Its arguments are
// JSON in single quotes, which no JSON has.
func glaiveCall(w *walker, m *eyrie.Message) *drop {
	before, call, ok := strings.Cut(m.Content, functionCallTag)
	if !ok {
		return nil
	}
	call = strings.TrimSpace(call)
	for _, raw := range []string{call, singleQuoted(call)} {
		if calls, err := callsIn(w, raw); err == nil {
			m.Content, m.ToolCalls = strings.TrimSpace(before), append(m.ToolCalls, calls...)
			return nil
		}
	}
	return dropf(BadCall, "text after %s that is no call", functionCallTag)
}

// singleQuoted turns arguments in single quotes into the object that they
// quote. An apostrophe inside them is not escaped, so the quotes are the first
// before a brace and the last after one.
func singleQuoted(call string) string {
	const open, end = "'{", "}'"
	i, j := strings.Index(call, open), strings.LastIndex(call, end)
	if i < 0 || j < i {
		return call
	}
	return call[:i] + call[i+1:j+1] + call[j+len(end):]
}
