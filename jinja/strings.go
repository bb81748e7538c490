package jinja

import (
	"strings"
	"unicode"
)

// safety says what a string method does when its string is marked as safe for
// HTML.
type safety int

const (
	plain       safety = iota // the result is an ordinary string
	safeResult                // the result is marked as safe
	escapedArgs               // so is the result, and string arguments are escaped first
)

// stringMethod is the body of a method of str; s is the string, a its arguments.
type stringMethod func(in *interp, s string, a arguments) Value

func stringMethodTable() map[string]*builtin {
	m := func(name, signature string, safe safety, fn stringMethod) *builtin {
		return define(name, "/ self "+signature, safe.wrap(fn))
	}
	// These two take keyword arguments.
	k := func(name, signature string, safe safety, fn stringMethod) *builtin {
		return define(name, "self "+signature, safe.wrap(fn))
	}
	return table(
		m("capitalize", "", escapedArgs, mapText(capitalize)),
		m("casefold", "", plain, mapText(casefold)),
		m("center", "width fill=None", escapedArgs, pad(padCenter)),
		m("count", "sub start=None end=None", plain, strCount),
		m("endswith", "suffix start=None end=None", plain, affix(strings.HasSuffix)),
		k("expandtabs", "tabsize=8", escapedArgs, strExpandTabs),
		m("find", "sub start=None end=None", plain, find(strings.Index, false)),
		define("format", "/ self *", strFormat),
		define("format_map", "/ self mapping", strFormatMap),
		m("index", "sub start=None end=None", plain, find(strings.Index, true)),
		m("isalnum", "", plain, all(isAlnum)),
		m("isalpha", "", plain, all(unicode.IsLetter)),
		m("isascii", "", plain, func(_ *interp, s string, _ arguments) Value { return Bool(isASCII(s)) }),
		m("isdecimal", "", plain, all(func(r rune) bool { return unicode.Is(unicode.Nd, r) })),
		m("isdigit", "", plain, all(isDigit)),
		m("isidentifier", "", plain, func(_ *interp, s string, _ arguments) Value { return Bool(isIdentifier(s)) }),
		m("islower", "", plain, func(_ *interp, s string, _ arguments) Value { return Bool(isLower(s)) }),
		m("isnumeric", "", plain, all(isNumeric)),
		m("isprintable", "", plain, func(_ *interp, s string, _ arguments) Value {
			return Bool(s == "" || allRunes(s, unicode.IsPrint))
		}),
		m("isspace", "", plain, all(isSpace)),
		m("istitle", "", plain, func(_ *interp, s string, _ arguments) Value { return Bool(isTitle(s)) }),
		m("isupper", "", plain, func(_ *interp, s string, _ arguments) Value { return Bool(isUpper(s)) }),
		define("join", "/ self iterable", strJoin),
		m("ljust", "width fill=None", escapedArgs, pad(padRight)),
		m("lower", "", escapedArgs, mapText(lower)),
		m("lstrip", "chars=None", escapedArgs, strip(true, false)),
		m("partition", "sep", escapedArgs, strPartition),
		m("removeprefix", "prefix", plain, cutAffix(strings.TrimPrefix)),
		m("removesuffix", "suffix", plain, cutAffix(strings.TrimSuffix)),
		m("replace", "old new count=-1", escapedArgs, strReplace),
		m("rfind", "sub start=None end=None", plain, find(strings.LastIndex, false)),
		m("rindex", "sub start=None end=None", plain, find(strings.LastIndex, true)),
		m("rjust", "width fill=None", escapedArgs, pad(padLeft)),
		m("rpartition", "sep", escapedArgs, strRpartition),
		k("rsplit", "sep=None maxsplit=-1", safeResult, strRsplit),
		m("rstrip", "chars=None", escapedArgs, strip(false, true)),
		k("split", "sep=None maxsplit=-1", safeResult, strSplit),
		k("splitlines", "keepends=False", safeResult, strSplitlines),
		m("startswith", "prefix start=None end=None", plain, affix(strings.HasPrefix)),
		m("strip", "chars=None", escapedArgs, strip(true, true)),
		m("swapcase", "", escapedArgs, mapText(swapCase)),
		m("title", "", escapedArgs, mapText(titleCase)),
		m("upper", "", escapedArgs, mapText(upper)),
		m("zfill", "width", escapedArgs, strZfill),
	)
}

// wrap adds the handling of strings marked as safe, and the accounting.
func (safe safety) wrap(fn stringMethod) func(*interp, arguments) Value {
	return func(in *interp, a arguments) Value {
		s := text(a.v[0])
		in.charge(len(s))
		_, marked := a.v[0].(markup)
		a.v = a.v[1:]
		for _, v := range a.v {
			if t, ok := peekText(v); ok {
				in.charge(len(t))
			}
		}
		if !marked || safe == plain {
			return fn(in, s, a)
		}
		if safe == escapedArgs {
			for i, v := range a.v {
				if t, ok := v.(String); ok {
					a.v[i] = String(escapeHTML(string(t)))
				}
			}
		}
		return markSafe(fn(in, s, a))
	}
}

// markSafe marks a string, or the strings of a list or tuple.
func markSafe(v Value) Value {
	if items, ok := sequence(v); ok {
		for i, item := range items {
			items[i] = markSafe(item)
		}
	}
	if s, ok := v.(String); ok {
		return markup(s)
	}
	return v
}

func mapText(fn func(string) string) stringMethod {
	return func(in *interp, s string, _ arguments) Value { return String(in.made(fn(s))) }
}

func casefold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	raise(NotSupported, "str.casefold of text that is not ASCII")
	return ""
}

// needText reads an argument that must be a string.
func needText(v Value, what string) string {
	s, ok := asText(v)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined && what == "" {
			u.fail()
		}
		raise(TypeError, "%s must be str, not %s", what, v.typeName())
	}
	return s
}

func allRunes(s string, is func(rune) bool) bool {
	for len(s) > 0 {
		r, n := decodeRune(s)
		if !is(r) {
			return false
		}
		s = s[n:]
	}
	return true
}

func all(is func(rune) bool) stringMethod {
	return func(_ *interp, s string, _ arguments) Value { return Bool(s != "" && allRunes(s, is)) }
}

// isLower tells whether s has letters with case and all of them are lower case.
func isLower(s string) bool {
	cased := false
	return allRunes(s, func(r rune) bool {
		cased = cased || isLowerRune(r)
		return !isUpperRune(r) && !unicode.IsTitle(r)
	}) && cased
}

func isUpper(s string) bool {
	cased := false
	return allRunes(s, func(r rune) bool {
		cased = cased || isUpperRune(r)
		return !isLowerRune(r) && !unicode.IsTitle(r)
	}) && cased
}

func isTitle(s string) bool {
	cased, inWord := false, false
	return allRunes(s, func(r rune) bool {
		switch {
		case isUpperRune(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			cased, inWord = true, true
		case isLowerRune(r):
			if !inWord {
				return false
			}
			cased = true
		default:
			inWord = false
		}
		return true
	}) && cased
}

type padding int

const (
	padLeft padding = iota
	padRight
	padCenter
)

func pad(side padding) stringMethod {
	return func(in *interp, s string, a arguments) Value {
		fill := " "
		if a.v[1] != None {
			if fill = needText(a.v[1], "The fill character"); runeCount(fill) != 1 {
				raise(TypeError, "The fill character must be exactly one character long")
			}
		}
		return String(in.pad(s, smallInteger(a.v[0]), fill, side))
	}
}

// pad fills s up to a width. Centred text with an odd rest leans as in CPython.
func (in *interp) pad(s string, width int, fill string, side padding) string {
	n := width - runeCount(s)
	if n <= 0 {
		return s
	}
	in.reserve(len(s) + n*len(fill))
	left := 0
	switch side {
	case padLeft:
		left = n
	case padCenter:
		left = n/2 + n&width&1
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left)
}

func strZfill(in *interp, s string, a arguments) Value {
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	return String(sign + in.pad(s, smallInteger(a.v[0])-len(sign), "0", padLeft))
}

// window cuts s to the part that start and end leave, and returns how many code
// points and bytes came before. ok is false if start lies behind the end of s,
// where not even an empty string is found.
func window(s string, start, end Value) (part string, runes, bytes int, ok bool) {
	if start == None && end == None {
		return s, 0, 0, true
	}
	n := runeCount(s)
	first, last, _ := sliceBounds(n, start, end, None)
	if start != None && sliceIndex(start, 0) > n || first > last {
		return "", 0, 0, false
	}
	from := byteOffset(s, first)
	return s[from : from+byteOffset(s[from:], last-first)], first, from, true
}

func find(search func(s, sub string) int, mustFind bool) stringMethod {
	return func(_ *interp, s string, a arguments) Value {
		sub := needText(a.v[0], "argument 1")
		part, runes, _, ok := window(s, a.v[1], a.v[2])
		at := -1
		if ok {
			at = search(part, sub)
		}
		switch {
		case at >= 0:
			return Int(runes + runeCount(part[:at]))
		case mustFind:
			raise(ValueError, "substring not found")
		}
		return Int(-1)
	}
}

func strCount(_ *interp, s string, a arguments) Value {
	sub := needText(a.v[0], "argument 1")
	part, _, _, ok := window(s, a.v[1], a.v[2])
	switch {
	case !ok:
		return Int(0)
	case sub == "":
		return Int(runeCount(part) + 1)
	}
	return Int(strings.Count(part, sub))
}

// affix is startswith or endswith, for one string or any of a tuple.
func affix(has func(s, affix string) bool) stringMethod {
	return func(_ *interp, s string, a arguments) Value {
		part, _, _, ok := window(s, a.v[1], a.v[2])
		if t, isTuple := a.v[0].(*tuple); isTuple {
			for _, item := range t.items {
				if ok && has(part, needText(item, "each item of the tuple")) {
					return Bool(true)
				}
			}
			return Bool(false)
		}
		x, isText := asText(a.v[0])
		if !isText {
			raise(TypeError, "first arg must be str or a tuple of str, not %s", a.v[0].typeName())
		}
		return Bool(ok && has(part, x))
	}
}

func cutAffix(cut func(s, affix string) string) stringMethod {
	return func(_ *interp, s string, a arguments) Value {
		return String(cut(s, needText(a.v[0], "argument")))
	}
}

// strip removes whitespace, or the given characters, from the chosen ends.
func strip(left, right bool) stringMethod {
	return func(_ *interp, s string, a arguments) Value {
		if a.v[0] == None {
			return String(stripText(s, isSpace, left, right))
		}
		chars, ok := asText(a.v[0])
		if !ok {
			raise(TypeError, "strip arg must be None or str")
		}
		set := make(map[rune]bool)
		for _, r := range runesOf(chars) {
			set[r] = true
		}
		return String(stripText(s, func(r rune) bool { return set[r] }, left, right))
	}
}

func stripText(s string, drop func(rune) bool, left, right bool) string {
	for left && s != "" {
		r, n := decodeRune(s)
		if !drop(r) {
			break
		}
		s = s[n:]
	}
	for right && s != "" {
		r, n := decodeLastRune(s)
		if !drop(r) {
			break
		}
		s = s[:len(s)-n]
	}
	return s
}

func strPartition(_ *interp, s string, a arguments) Value {
	sep := separator(a.v[0])
	before, after, ok := strings.Cut(s, sep)
	if !ok {
		sep = ""
	}
	return newTuple(String(before), String(sep), String(after))
}

func strRpartition(_ *interp, s string, a arguments) Value {
	sep := separator(a.v[0])
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return newTuple(String(""), String(""), String(s))
	}
	return newTuple(String(s[:i]), String(sep), String(s[i+len(sep):]))
}

func separator(v Value) string {
	sep := needText(v, "separator")
	if sep == "" {
		raise(ValueError, "empty separator")
	}
	return sep
}

func strReplace(in *interp, s string, a arguments) Value {
	old, with := needText(a.v[0], "replace() argument 1"), needText(a.v[1], "replace() argument 2")
	return String(in.replace(s, old, with, smallInteger(a.v[2])))
}

func (in *interp) replace(s, old, with string, count int) string {
	n := strings.Count(s, old)
	if old == "" {
		n = runeCount(s) + 1
	}
	if count >= 0 {
		n = min(n, count)
	}
	in.reserve(len(s) + n*max(0, len(with)-len(old)))
	if old == "" {
		return interleave(s, with, n)
	}
	return strings.Replace(s, old, with, n)
}

// interleave puts with before each of the first n characters of s, its end
// counting as one.
func interleave(s, with string, n int) string {
	var b strings.Builder
	for ; n > 0; n-- {
		b.WriteString(with)
		_, size := decodeRune(s)
		b.WriteString(s[:size])
		s = s[size:]
	}
	b.WriteString(s)
	return b.String()
}

func strSplit(in *interp, s string, a arguments) Value {
	limit := smallInteger(a.v[1])
	if a.v[0] == None {
		return in.strings(splitSpace(s, limit))
	}
	sep := separator(a.v[0])
	if limit < 0 {
		return in.strings(strings.Split(s, sep))
	}
	return in.strings(strings.SplitN(s, sep, limit+1))
}

// splitSpace splits at runs of whitespace, at most limit times if limit is not
// negative.
func splitSpace(s string, limit int) []string {
	var out []string
	for s = stripText(s, isSpace, true, false); s != ""; s = stripText(s, isSpace, true, false) {
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			end = len(s)
		}
		if limit >= 0 && len(out) == limit {
			return append(out, s) // blanks at the end stay
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

func strRsplit(in *interp, s string, a arguments) Value {
	limit := smallInteger(a.v[1])
	var parts []string
	if a.v[0] == None {
		parts = rsplitSpace(s, limit)
	} else {
		sep := separator(a.v[0])
		for limit < 0 || len(parts) < limit {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[i+len(sep):])
			s = s[:i]
		}
		parts = append(parts, s)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return in.strings(parts)
}

// rsplitSpace is splitSpace from the right; the parts come last to first.
func rsplitSpace(s string, limit int) []string {
	var out []string
	for s = stripText(s, isSpace, false, true); s != ""; s = stripText(s, isSpace, false, true) {
		if limit >= 0 && len(out) == limit {
			return append(out, s)
		}
		start := 0
		if i := strings.LastIndexFunc(s, isSpace); i >= 0 {
			_, n := decodeRune(s[i:])
			start = i + n
		}
		out = append(out, s[start:])
		s = s[:start]
	}
	return out
}

func strSplitlines(in *interp, s string, a arguments) Value {
	return in.strings(splitLines(s, truth(a.v[0])))
}

// strings makes a list of strings.
func (in *interp) strings(parts []string) Value {
	in.chargeItems(len(parts))
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = String(p)
	}
	return &List{items}
}

// strJoin is str.join. A separator marked as safe escapes what it joins.
func strJoin(in *interp, a arguments) Value {
	_, safe := a.v[0].(markup)
	if !iterable(a.v[1]) {
		raise(TypeError, "can only join an iterable")
	}
	var parts []Value
	for i, v := range in.collect(a.v[1]) {
		switch _, isText := asString(v); {
		case safe:
			v = in.escape(v)
		case !isText:
			raise(TypeError, "sequence item %d: expected str instance, %s found", i, v.typeName())
		}
		if i > 0 {
			parts = append(parts, a.v[0])
		}
		parts = append(parts, v)
	}
	joined := in.joinText(parts...)
	if safe {
		return markup(text(joined))
	}
	return joined
}

// escape marks a value as safe, after escaping it unless it is marked already.
func (in *interp) escape(v Value) Value {
	if m, ok := v.(markup); ok {
		return m
	}
	return markup(in.made(escapeHTML(in.str(v))))
}

func strExpandTabs(in *interp, s string, a arguments) Value {
	size := smallInteger(a.v[0])
	in.reserve(len(s) + strings.Count(s, "\t")*max(0, min(size, in.opts.MaxOutput)))
	var b strings.Builder
	column := 0
	for _, r := range runesOf(s) {
		switch {
		case r == '\t' && size > 0:
			n := size - column%size
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case r == '\t':
		default:
			b.Write(appendRune(nil, r))
			if column++; r == '\n' || r == '\r' {
				column = 0
			}
		}
	}
	return String(b.String())
}
