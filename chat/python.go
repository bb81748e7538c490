package chat

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JSONStyle chooses the separators of printed JSON.
type JSONStyle uint8

const (
	// Spaced is the default of Python's json.dumps: ", " and ": ".
	Spaced JSONStyle = iota
	// Compact has no spaces: "," and ":".
	Compact
)

// AppendJSON parses src, one JSON value, and appends it to dst as Python's
// json.dumps(…, ensure_ascii=False) prints it: key order kept, floats by their
// shortest digits, nothing escaped that need not be.
func AppendJSON(dst, src []byte, style JSONStyle) ([]byte, error) {
	v, err := parseValue(src)
	if err != nil {
		return dst, fmt.Errorf("chat: arguments: %w", err)
	}
	return appendJSON(dst, &v, style), nil
}

func appendJSON(dst []byte, v *value, style JSONStyle) []byte {
	comma, colon := ", ", ": "
	if style == Compact {
		comma, colon = ",", ":"
	}
	switch v.kind {
	case boolean:
		return strconv.AppendBool(dst, v.truth)
	case integer:
		return append(dst, v.text...)
	case float:
		switch {
		case math.IsInf(v.num, 1):
			return append(dst, "Infinity"...)
		case math.IsInf(v.num, -1):
			return append(dst, "-Infinity"...)
		}
		return appendFloat(dst, v.num)
	case text:
		return appendJSONString(dst, v.text)
	case list:
		dst = append(dst, '[')
		for i := range v.items {
			if i > 0 {
				dst = append(dst, comma...)
			}
			dst = appendJSON(dst, &v.items[i], style)
		}
		return append(dst, ']')
	case dict:
		dst = append(dst, '{')
		for i := range v.items {
			if i > 0 {
				dst = append(dst, comma...)
			}
			dst = appendJSONString(dst, v.keys[i])
			dst = append(dst, colon...)
			dst = appendJSON(dst, &v.items[i], style)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

const hexDigits = "0123456789abcdef"

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\b':
			dst = append(dst, '\\', 'b')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendFloat prints f as Python's repr: the shortest digits that read back as
// f, with an exponent below 1e-4 and from 1e16 on.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !strings.Contains(string(dst[n:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendStr prints v as Python's str.
func appendStr(dst []byte, v *value) []byte {
	if v.kind == text {
		return append(dst, v.text...)
	}
	return appendRepr(dst, v)
}

// appendRepr prints v as Python's repr.
func appendRepr(dst []byte, v *value) []byte {
	switch v.kind {
	case boolean:
		if v.truth {
			return append(dst, "True"...)
		}
		return append(dst, "False"...)
	case integer:
		return append(dst, v.text...)
	case float:
		return appendFloat(dst, v.num)
	case text:
		return appendReprString(dst, v.text)
	case list:
		dst = append(dst, '[')
		for i := range v.items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendRepr(dst, &v.items[i])
		}
		return append(dst, ']')
	case dict:
		dst = append(dst, '{')
		for i := range v.items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendReprString(dst, v.keys[i])
			dst = append(dst, ": "...)
			dst = appendRepr(dst, &v.items[i])
		}
		return append(dst, '}')
	}
	return append(dst, "None"...)
}

// appendReprString quotes s with ' unless it holds a ' and no ", and escapes
// what Python holds to be unprintable.
func appendReprString(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, quote)
}
