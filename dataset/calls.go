package dataset

import (
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// readCalls reads the tool calls of a message: a list, or null.
func readCalls(w *walker) ([]eyrie.ToolCall, error) {
	if w.kind() == 'n' {
		return nil, w.skip()
	}
	var calls []eyrie.ToolCall
	err := w.array(func() (err error) {
		calls, err = appendCall(w, calls)
		return err
	})
	return calls, err
}

// callsIn reads a tool call, or a list of them, that a message has as text.
func callsIn(w *walker, text string) ([]eyrie.ToolCall, error) {
	in, ok := w.literal(text)
	if !ok {
		return nil, dropf(BadCall, "text that should be a tool call is none")
	}
	return parseCalls(in)
}

// parseCalls is [callsIn] with w at the text's beginning.
func parseCalls(w *walker) (calls []eyrie.ToolCall, err error) {
	if w.kind() == '[' {
		calls, err = readCalls(w)
	} else {
		calls, err = appendCall(w, nil)
	}
	if err == nil {
		err = w.end()
	}
	if err != nil || len(calls) == 0 {
		return nil, dropf(BadCall, "text that should be a tool call is none")
	}
	return calls, nil
}

// appendCall reads one call: {"name", "arguments"}, or that under "function"
// beside an "id". Null is no call.
func appendCall(w *walker, calls []eyrie.ToolCall) ([]eyrie.ToolCall, error) {
	if w.kind() == 'n' {
		return calls, w.skip()
	}
	var c eyrie.ToolCall
	var read func(key string) error
	read = func(key string) (err error) {
		switch key {
		case "id":
			c.ID, err = w.textOrNull()
		case "function":
			err = w.object(read)
		case "name":
			c.Name, err = w.text()
		case "arguments", "parameters":
			c.Arguments, err = readArguments(w)
		default:
			err = w.skip()
		}
		return err
	}
	if err := w.object(read); err != nil {
		return calls, err
	}
	if strings.TrimSpace(c.Name) == "" {
		return calls, dropf(BadCall, "a tool call without a name")
	}
	return append(calls, c), nil
}

// readArguments reads the arguments of a call: text as it is, an object as
// compact JSON, null as nothing.
func readArguments(w *walker) (string, error) {
	switch w.kind() {
	case 'n':
		return "", w.skip()
	case '"':
		return w.text()
	case '{':
		b, err := w.compact()
		return string(b), err
	}
	return "", w.wrong("text or an object")
}
