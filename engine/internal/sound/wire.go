package sound

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads what models and data sets write.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// isObject reports whether the arguments of a call are an object. Models write
// nothing for a tool without parameters.
func isObject(s string) bool {
	if strings.TrimSpace(s) == "" {
		return true
	}
	v := jsontext.Value(s)
	return v.Kind() == '{' && v.IsValid(lenient)
}

// toolNames lists the functions that a request's tools declare.
func toolNames(tools []byte) map[string]bool {
	var list []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(tools, &list, lenient) != nil {
		return nil // tools that cannot be read offer nothing
	}
	names := make(map[string]bool, len(list))
	for _, t := range list {
		names[t.Function.Name] = true
	}
	return names
}
