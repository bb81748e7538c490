package chat

import (
	"errors"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// namedCall reads an object with the name of a function and, under the given
// key, its arguments, which are returned as servers print them.
func namedCall(src, key string) (name, arguments string, err error) {
	v, err := parseValue([]byte(src))
	if err != nil {
		return "", "", err
	}
	n, ok := v.get("name")
	args, given := v.get(key)
	if !ok || n.kind != text || n.text == "" || !given {
		return "", "", errors.New("a call is an object with a name and " + key)
	}
	if args.kind == text {
		return n.text, args.text, nil
	}
	return n.text, string(appendJSON(nil, args, Spaced)), nil
}

// appendObject prints pairs as an object. A value that is JSON stays as it is,
// any other is a string.
func appendObject(dst []byte, pairs iter.Seq2[string, string]) []byte {
	dst = append(dst, '{')
	first := true
	for key, value := range pairs {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(appendJSONString(dst, key), ": "...)
		if raw := jsontext.Value(strings.TrimSpace(value)); raw.IsValid() {
			dst = append(dst, raw...)
		} else {
			dst = appendJSONString(dst, value)
		}
	}
	return append(dst, '}')
}
