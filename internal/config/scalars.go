package config

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/eyrie-ai/eyrie"
)

// word reads text of one line that is not blank.
func (r *reader) word(v value, fix string) (string, bool) {
	ok := v.kind == scalar && strings.TrimSpace(v.text) != "" && !strings.ContainsFunc(v.text, unicode.IsControl)
	if !ok {
		r.refuse(v, fix)
		return "", false
	}
	return v.text, true
}

// boolean reads true or false.
func (r *reader) boolean(v value) (bool, bool) {
	if v.kind != scalar || v.quoted || (v.text != "true" && v.text != "false") {
		r.refuse(v, "write true or false")
		return false, false
	}
	return v.text == "true", true
}

// whole reads a whole number between low and high.
func (r *reader) whole(v value, low, high int64) (int64, bool) {
	n, err := strconv.ParseInt(ungroup(v.text), 10, 64)
	if v.kind == scalar && !v.quoted && err == nil && n >= low && n <= high {
		return n, true
	}
	r.unfit(v, fmt.Sprintf("a whole number from %d to %d", low, high))
	return 0, false
}

// number reads a number between low and high.
func (r *reader) number(v value, low, high float64) (float64, bool) {
	f, err := strconv.ParseFloat(v.text, 64)
	if v.kind == scalar && !v.quoted && err == nil && plainNumber(v.text) && f >= low && f <= high {
		return f, true
	}
	r.unfit(v, fmt.Sprintf("a number from %v to %v", low, high))
	return 0, false
}

// unfit refuses a value that is no number, or not the one that is wanted.
func (r *reader) unfit(v value, want string) {
	if v.quoted {
		r.fault(v, v.describe()+" in quotes", "write "+want+" without quotes")
		return
	}
	r.refuse(v, "write "+want)
}

// plainNumber reports whether s is written in decimal: Go would also take
// hexadecimal digits, underscores, "inf" and "nan".
func plainNumber(s string) bool {
	return strings.Trim(s, "0123456789.eE+-") == ""
}

// ungroup takes the underscores out that stand between two digits, so that
// 10_000_000 reads as a number and 1__0 or _1 do not.
func ungroup(s string) string {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '_' && digit(i-1) && digit(i+1) {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// duration reads a time with its unit between low and high.
func (r *reader) duration(v value, low, high time.Duration, fix string) (time.Duration, bool) {
	d, err := time.ParseDuration(v.text)
	if v.kind != scalar || err != nil || d < low || d > high {
		r.refuse(v, fix)
		return 0, false
	}
	return d, true
}

// money reads an amount of dollars above zero from the text of the file.
func (r *reader) money(v value, fix string) (eyrie.Money, bool) {
	m, err := eyrie.ParseMoney(v.text)
	if v.kind != scalar || err != nil || m <= 0 {
		r.refuse(v, fix)
		return 0, false
	}
	return m, true
}

// choice reads one of the given words.
func (r *reader) choice(v value, words ...string) (string, bool) {
	if v.kind == scalar && slices.Contains(words, v.text) {
		return v.text, true
	}
	fix := "allowed are " + strings.Join(words, ", ")
	if v.kind == scalar {
		if near := nearest(v.text, words); near != "" {
			fix = fmt.Sprintf("did you mean %q? %s", near, fix)
		}
	}
	r.refuse(v, fix)
	return "", false
}

// list reports whether the value is a list of one or more.
func (r *reader) list(v value, fix string) bool {
	switch {
	case v.kind != list:
		r.refuse(v, fix)
	case len(v.items) == 0:
		r.fault(v, "an empty list", fix)
	default:
		return true
	}
	return false
}

// words reads a list of one or more different words, each of them with read.
func (r *reader) words(v value, fix string, read func(value) (string, bool)) []string {
	if !r.list(v, fix) {
		return nil
	}
	var out []string
	for i := range v.items {
		w, ok := read(v.item(i))
		switch {
		case !ok:
		case slices.ContainsFunc(out, func(o string) bool { return strings.EqualFold(o, w) }):
			r.fault(v.item(i), quote(w)+" a second time", "keep one of the two")
		default:
			out = append(out, w)
		}
	}
	return out
}

// maxTokens bounds the tokens wanted from a data set: a trillion.
const maxTokens = 1_000_000_000_000

// parseTokens reads a number of tokens such as 10_000_000, 500k, 1.5M or 2B.
func parseTokens(s string) (int64, bool) {
	digits, unit := s, int64(1)
	switch {
	case strings.HasSuffix(s, "k"):
		digits, unit = strings.TrimSuffix(s, "k"), 1_000
	case strings.HasSuffix(s, "M"):
		digits, unit = strings.TrimSuffix(s, "M"), 1_000_000
	case strings.HasSuffix(s, "B"):
		digits, unit = strings.TrimSuffix(s, "B"), 1_000_000_000
	}
	digits = ungroup(digits)
	const longest = 30 // keeps a fraction of absurd length from being worked out
	if digits == "" || len(digits) > longest || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	n, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, false
	}
	n.Mul(n, new(big.Rat).SetInt64(unit))
	if !n.IsInt() || n.Sign() <= 0 || n.Cmp(new(big.Rat).SetInt64(maxTokens)) > 0 {
		return 0, false
	}
	return n.Num().Int64(), true
}
