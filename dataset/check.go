package dataset

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
)

// checkBytes looks at a row before it is read as JSON.
func checkBytes(raw []byte) *drop {
	if bytes.IndexByte(raw, 0) >= 0 {
		return dropf(NulByte, "a NUL byte")
	}
	if !utf8.Valid(raw) {
		return dropf(BadUTF8, "bytes that are not UTF-8")
	}
	return nil
}

// check holds the messages of a prompt against the rules.
func check(p *eyrie.Prompt) *drop {
	var before eyrie.Role
	started, users := false, 0
	var first *drop
	note := func(d *drop, i int) {
		if first == nil {
			d.at = index("messages", i)
			first = d
		}
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Role != eyrie.System && !started {
			started = true
			if m.Role != eyrie.User {
				note(dropf(StartsWrong, "the conversation starts with %s", m.Role), i)
			}
		}
		if m.Role == eyrie.Assistant && before == eyrie.Assistant {
			note(dropf(TwoAssistants, "the assistant speaks twice in a row"), i)
		}
		if m.Role == eyrie.User {
			users++
			if strings.TrimSpace(m.Content) == "" {
				note(dropf(EmptyUser, "the user says nothing"), i)
			}
		}
		before = m.Role
	}
	if users == 0 {
		return dropf(NoUser, "no message of the user")
	}
	return first
}

// checkText looks for text that cannot be sent as it is: a NUL anywhere, and a
// control token in what is sent.
func checkText(p *eyrie.Prompt, raw []byte, special func(string) bool) *drop {
	// An escape is the only way for a NUL to get this far, so most rows need
	// not be searched.
	if bytes.Contains(raw, []byte(`\u0000`)) && anyText(p, true, hasNul) {
		return dropf(NulByte, "an escaped NUL")
	}
	if special != nil && anyText(p, false, special) {
		return dropf(Special, "text that spells a control token")
	}
	return nil
}

func hasNul(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// anyText reports whether bad holds for any text of the prompt, with or
// without what the assistant says; what it says counts in any case where it is
// given.
func anyText(p *eyrie.Prompt, assistant bool, bad func(string) bool) bool {
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Role == eyrie.Assistant && !assistant && !p.Given {
			continue
		}
		if bad(m.Content) || bad(m.Reasoning) || bad(m.Name) || bad(m.ToolCallID) {
			return true
		}
		for _, c := range m.ToolCalls {
			// Templates print arguments anew, and then escapes hide nothing.
			if bad(c.ID) || bad(c.Name) || bad(c.Arguments) || anyString([]byte(c.Arguments), bad) {
				return true
			}
		}
	}
	return p.Tools != nil && anyString(p.Tools, bad)
}
