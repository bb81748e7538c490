package dataset

import (
	"bytes"
	"slices"
	"strings"
)

// readTools reads a tools column: a list of tools, text that holds one, or
// nothing. It returns a JSON array without white space, or nil.
func readTools(w *walker) ([]byte, error) {
	switch w.kind() {
	case 'n':
		return nil, w.skip()
	case '[':
		return toolList(w)
	case '"':
		text, err := w.text()
		if err != nil || strings.TrimSpace(text) == "" {
			return nil, err
		}
		if tools := declarations(text); tools != nil {
			return tools, nil
		}
		if in, ok := w.literal(text); ok {
			return parseTools(in)
		}
		return parseTools(w.nested([]byte(text)))
	}
	return nil, w.wrong("a list or text")
}

// parseTools reads tools that are text.
func parseTools(w *walker) (tools []byte, err error) {
	if w.kind() == 'n' {
		err = w.skip()
	} else {
		tools, err = toolList(w)
	}
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return nil, dropf(BadTools, "text that should be a list of tools is none")
	}
	return tools, nil
}

func toolList(w *walker) ([]byte, error) {
	var tools [][]byte
	err := w.array(func() error {
		tool, err := readTool(w)
		tools = append(tools, tool)
		return err
	})
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	return slices.Concat([]byte("["), bytes.Join(tools, []byte(",")), []byte("]")), nil
}

// readTool reads one tool, wrapped as {"type": "function", "function": {...}}
// or bare, and returns it wrapped.
func readTool(w *walker) ([]byte, error) {
	raw, err := w.compact()
	if err != nil {
		return nil, err
	}
	in := w.nested(raw)
	var typ, name, inner string
	var function []byte
	err = in.object(func(key string) (err error) {
		switch key {
		case "type":
			typ, err = in.textOrNull()
		case "name":
			name, err = in.textOrNull()
		case "function":
			if function, err = in.compact(); err == nil {
				inner, err = functionName(in.nested(function))
			}
		default:
			err = in.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case typ != "" && typ != "function":
		return nil, dropf(BadTools, "a tool of type %q", clip(typ))
	case function == nil && name == "", function != nil && inner == "":
		return nil, dropf(BadTools, "a tool without a name")
	case function == nil:
		return wrapFunction(raw), nil
	case typ == "":
		return wrapFunction(function), nil
	}
	return raw, nil
}

func wrapFunction(function []byte) []byte {
	return slices.Concat([]byte(`{"type":"function","function":`), function, []byte("}"))
}

// functionName reads a function's object and returns the name in it.
func functionName(w *walker) (name string, err error) {
	err = w.object(func(key string) (err error) {
		if key == "name" {
			name, err = w.textOrNull()
			return err
		}
		return w.skip()
	})
	return name, err
}
