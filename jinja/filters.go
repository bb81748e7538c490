package jinja

import (
	"html"
	"math"
	"math/big"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filterTable holds the filters by name. It is filled in init, see methods.go.
var filterTable map[string]*builtin

func filters() map[string]*builtin {
	t := table(
		define("abs", "/ x", filterAbs),
		define("attr", "obj name", filterAttr),
		define("batch", "value linecount fill_with=None", filterBatch),
		define("capitalize", "s", viaMethod("capitalize")),
		define("center", "value width=80", viaMethod("center")),
		define("default", "value default_value='' boolean=False", filterDefault),
		define("dictsort", "value case_sensitive=False by='key' reverse=False", filterDictsort),
		define("escape", "s", func(in *interp, a arguments) Value { return in.escape(a.v[0]) }),
		define("filesizeformat", "value binary=False", filterFilesize),
		define("first", "seq", filterFirst),
		define("float", "value default=0.0", filterFloat),
		define("forceescape", "value", func(in *interp, a arguments) Value { return markup(escapeHTML(in.str(a.v[0]))) }),
		define("format", "value *", filterFormat),
		define("groupby", "value attribute default=None case_sensitive=False", filterGroupby),
		define("indent", "s width=4 first=False blank=False", filterIndent),
		define("int", "value default=0 base=10", filterInt),
		define("items", "value", filterItems),
		define("join", "value d='' attribute=None", filterJoin),
		define("last", "seq", filterLast),
		define("length", "/ obj", filterLength),
		define("list", "value", func(in *interp, a arguments) Value { return &List{in.collect(a.v[0])} }),
		define("lower", "s", viaMethod("lower")),
		define("map", "value *", filterMap),
		define("max", "value case_sensitive=False attribute=None", extreme(">")),
		define("min", "value case_sensitive=False attribute=None", extreme("<")),
		define("pprint", "value", unsupportedFilter("pprint")),
		define("random", "seq", unsupportedFilter("random")),
		define("reject", "value *", filterSelect(false, false)),
		define("rejectattr", "value *", filterSelect(false, true)),
		define("replace", "s old new count=None", filterReplace),
		define("reverse", "value", filterReverse),
		define("round", "value precision=0 method='common'", filterRound),
		define("safe", "value", func(in *interp, a arguments) Value { return markup(in.str(a.v[0])) }),
		define("select", "value *", filterSelect(true, false)),
		define("selectattr", "value *", filterSelect(true, true)),
		define("slice", "value slices fill_with=None", filterSlice),
		define("sort", "value reverse=False case_sensitive=False attribute=None", filterSort),
		define("string", "s", func(in *interp, a arguments) Value { return in.softStr(a.v[0]) }),
		define("striptags", "value", filterStriptags),
		define("sum", "iterable attribute=None start=0", filterSum),
		define("title", "s", filterTitle),
		define("tojson", "value ensure_ascii=False indent=None separators=None sort_keys=False", filterTojson),
		define("trim", "value chars=None", viaMethod("strip")),
		define("truncate", "s length=255 killwords=False end='...' leeway=None", filterTruncate),
		define("unique", "value case_sensitive=False attribute=None", filterUnique),
		define("upper", "s", viaMethod("upper")),
		define("urlencode", "value", filterURLEncode),
		define("urlize", "value *", unsupportedFilter("urlize")),
		define("wordcount", "s", filterWordcount),
		define("wordwrap", "s *", unsupportedFilter("wordwrap")),
		define("xmlattr", "d autospace=True", filterXMLAttr),
	)
	t["d"], t["e"], t["count"] = t["default"], t["escape"], t["length"]
	return t
}

func unsupportedFilter(name string) func(*interp, arguments) Value {
	return func(*interp, arguments) Value {
		raise(NotSupported, "the filter %s", name)
		return nil
	}
}

// softStr makes a string of v, keeping the mark of being safe.
func (in *interp) softStr(v Value) Value {
	if _, ok := asString(v); ok {
		return v
	}
	return String(in.str(v))
}

// viaMethod makes a filter of a string method; further arguments are passed on.
func viaMethod(name string) func(*interp, arguments) Value {
	return func(in *interp, a arguments) Value {
		return stringMethods[name].call(in, append([]Value{in.softStr(a.v[0])}, a.v[1:]...), nil)
	}
}

// attributeGetter returns a function that looks up an attribute path such as
// "a.0.b". A default other than None replaces what is undefined on the way.
func (in *interp) attributeGetter(attribute, def Value) func(Value) Value {
	path := attributePath(attribute)
	return func(v Value) Value {
		for _, part := range path {
			v = in.item(v, part)
			if _, missing := v.(*undefined); missing && def != None {
				v = def
			}
		}
		return v
	}
}

func attributePath(attribute Value) []Value {
	s, ok := asText(attribute)
	if !ok {
		if attribute == None {
			return nil
		}
		return []Value{attribute}
	}
	var path []Value
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(part); err == nil && unicode.IsDigit(rune(part[0])) {
			path = append(path, Int(n))
		} else {
			path = append(path, String(part))
		}
	}
	return path
}

// sortKey returns what the sorting filters compare: an attribute, with the case of
// strings ignored unless asked for.
func (in *interp) sortKey(attribute, def, caseSensitive Value) func(Value) Value {
	get := in.attributeGetter(attribute, def)
	return func(v Value) Value {
		v = get(v)
		if s, ok := asText(v); ok && !truth(caseSensitive) {
			return String(lower(s))
		}
		return v
	}
}

// sorted sorts stably by key, as Python's sorted does.
func (in *interp) sorted(items []Value, key func(Value) Value, reverse bool) []Value {
	type pair struct{ key, item Value }
	pairs := make([]pair, len(items))
	for i, item := range items {
		pairs[i] = pair{key(item), item}
	}
	if reverse {
		slices.Reverse(pairs) // keeps equal items in order after the second Reverse
	}
	// Not slices.SortStableFunc: Python asks only "<", which need not be a total order.
	sort.SliceStable(pairs, func(i, j int) bool { return in.ordered("<", pairs[i].key, pairs[j].key) })
	if reverse {
		slices.Reverse(pairs)
	}
	out := make([]Value, len(pairs))
	for i, p := range pairs {
		out[i] = p.item
	}
	return out
}

func filterAbs(in *interp, a arguments) Value {
	x, ok := asNumber(a.v[0])
	switch {
	case !ok:
		raise(TypeError, "bad operand type for abs(): %s", quote(a.v[0].typeName()))
	case x.n == nil:
		return Float(math.Abs(x.f))
	}
	return newInt(new(big.Int).Abs(x.n))
}

func filterAttr(in *interp, a arguments) Value {
	name, ok := asText(a.v[1])
	if !ok {
		raise(TypeError, "attribute name must be string, not %s", quote(a.v[1].typeName()))
	}
	if v := in.ownAttribute(a.v[0], name); v != nil {
		return v
	}
	return &undefined{parent: a.v[0], name: a.v[1]}
}

func filterBatch(in *interp, a arguments) Value {
	return lazily(func() iterator {
		next := in.iterate(a.v[0])
		var ahead Value
		return func() (Value, bool) {
			var row []Value
			if ahead != nil {
				row, ahead = append(row, ahead), nil
			}
			for v, ok := next(); ok; v, ok = next() {
				if len(row) > 0 && in.equal(Int(len(row)), a.v[1]) {
					ahead = v
					return &List{row}, true
				}
				row = append(row, v)
			}
			if len(row) == 0 {
				return nil, false
			}
			return &List{in.fill(row, a.v[1], a.v[2])}, true
		}
	})
}

// fill completes the last row of a batch.
func (in *interp) fill(row []Value, count, with Value) []Value {
	if with == None {
		return row
	}
	n := smallInteger(count) - len(row)
	in.chargeItems(max(n, 0))
	for range n {
		row = append(row, with)
	}
	return row
}

func filterDefault(_ *interp, a arguments) Value {
	_, missing := a.v[0].(*undefined)
	if missing || truth(a.v[2]) && !truth(a.v[0]) {
		return a.v[1]
	}
	return a.v[0]
}

// mapping reads an argument on which Python calls items().
func mapping(v Value) *Dict {
	d, ok := v.(*Dict)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined {
			u.fail()
		}
		raise(AttributeError, "%s object has no attribute 'items'", quote(v.typeName()))
	}
	return d
}

func filterDictsort(in *interp, a arguments) Value {
	by, _ := asText(a.v[2])
	pos := Int(0)
	switch by {
	case "key":
	case "value":
		pos = 1
	default:
		raise(FilterArgumentError, `You can only sort by either "key" or "value"`)
	}
	items := in.collect(&dictView{mapping(a.v[0]), viewItems})
	return &List{in.sorted(items, in.sortKey(pos, None, a.v[1]), truth(a.v[3]))}
}

func filterFilesize(in *interp, a arguments) Value {
	n := in.toFloat(a.v[0])
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if truth(a.v[1]) {
		base, units = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case n == 1:
		return String("1 Byte")
	case n < base:
		return String(toInt(number{f: n}).String() + " Bytes")
	}
	unit := base * base
	for i, name := range units {
		if n < unit || i == len(units)-1 {
			return String(strconv.FormatFloat(base*n/unit, 'f', 1, 64) + " " + name)
		}
		unit *= base
	}
	return nil
}

func filterFirst(in *interp, a arguments) Value {
	if v, ok := in.iterate(a.v[0])(); ok {
		return v
	}
	return undefinedHint("No first item, sequence was empty.")
}

func filterLast(in *interp, a arguments) Value {
	v, ok := in.reversed(a.v[0])
	if !ok {
		raise(TypeError, "%s object is not reversible", quote(a.v[0].typeName()))
	}
	if len(v) == 0 {
		return undefinedHint("No last item, sequence was empty.")
	}
	return v[0]
}

// reversed returns the items of v from the last to the first, if v is a sequence.
func (in *interp) reversed(v Value) ([]Value, bool) {
	switch v.(type) {
	case *generator, *loopValue:
		return nil, false
	}
	if !iterable(v) {
		return nil, false
	}
	items := in.collect(v)
	slices.Reverse(items)
	return items, true
}

func filterReverse(in *interp, a arguments) Value {
	v := a.v[0]
	if s, ok := asText(v); ok {
		rs := runesOf(in.made(s))
		slices.Reverse(rs)
		return sameType(v, stringOf(rs))
	}
	items, ok := in.reversed(v)
	if ok {
		return &generator{reversedName(v), in.indexed(len(items), func(i int) Value { return items[i] })}
	}
	if !iterable(v) {
		raise(FilterArgumentError, "argument must be iterable")
	}
	items = in.collect(v)
	slices.Reverse(items)
	return &List{items}
}

// reversedName is the Python type of reversed(v).
func reversedName(v Value) string {
	switch v := v.(type) {
	case *List:
		return "list_reverseiterator"
	case *Dict:
		return "dict_reversekeyiterator"
	case *dictView:
		return [...]string{"dict_reversekeyiterator", "dict_reversevalueiterator", "dict_reverseitemiterator"}[v.what]
	case rangeValue:
		return "range_iterator"
	}
	return "reversed"
}

func filterFormat(in *interp, a arguments) Value {
	if len(a.rest) > 0 && len(a.kw) > 0 {
		raise(FilterArgumentError, "can't handle positional and keyword arguments at the same time")
	}
	s := in.softStr(a.v[0])
	if len(a.kw) == 0 {
		return in.percent(s, text(s), &tuple{items: a.rest})
	}
	d := &Dict{}
	for _, k := range a.kw {
		d.put(String(k.name), k.v)
	}
	return in.percent(s, text(s), d)
}

func filterGroupby(in *interp, a arguments) Value {
	key := in.sortKey(a.v[1], a.v[2], a.v[3])
	label := in.attributeGetter(a.v[1], a.v[2])
	items := in.sorted(in.collect(a.v[0]), key, false)
	var groups []Value
	for start := 0; start < len(items); {
		k := key(items[start])
		end := start + 1
		for end < len(items) && in.equal(key(items[end]), k) {
			end++
		}
		group := items[start:end:end]
		groups = append(groups, &tuple{items: []Value{label(group[0]), &List{group}}, group: true})
		start = end
	}
	return &List{groups}
}

func filterIndent(in *interp, a arguments) Value {
	s, ok := asText(a.v[0])
	if !ok {
		if _, isList := a.v[0].(*List); !isList { // Python's += extends a list by anything
			in.binary("+", a.v[0], String("\n"))
		}
		raise(AttributeError, "%s object has no attribute 'splitlines'", quote(a.v[0].typeName()))
	}
	pad, ok := asText(a.v[1])
	if !ok {
		n := max(smallInteger(a.v[1]), 0)
		in.reserve(n)
		pad = strings.Repeat(" ", n)
	}
	lines := splitLines(s+"\n", false)
	in.reserve(len(s) + len(lines)*(len(pad)+1))
	var b strings.Builder
	if truth(a.v[2]) {
		b.WriteString(pad)
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
			if line != "" || truth(a.v[3]) {
				b.WriteString(pad)
			}
		}
		b.WriteString(line)
	}
	return sameType(a.v[0], b.String())
}

func filterItems(in *interp, a arguments) Value {
	return lazily(func() iterator {
		switch v := a.v[0].(type) {
		case *undefined:
			return in.iterate(v)
		case *Dict:
			return in.iterate(&dictView{v, viewItems})
		}
		raise(TypeError, "Can only get item pairs from a mapping.")
		return nil
	})
}

func filterJoin(in *interp, a arguments) Value {
	get := in.attributeGetter(a.v[2], None)
	var parts []Value
	for i, v := range in.collect(a.v[0]) {
		if i > 0 {
			parts = append(parts, a.v[1])
		}
		parts = append(parts, get(v))
	}
	return in.joinText(parts...)
}

func filterLength(in *interp, a arguments) Value {
	n, ok := length(a.v[0])
	if !ok {
		raise(TypeError, "object of type %s has no len()", quote(a.v[0].typeName()))
	}
	if s, ok := peekText(a.v[0]); ok {
		in.charge(len(s))
	}
	return Int(n)
}

// filterMap applies a filter to every item, or looks up an attribute of each.
func filterMap(in *interp, a arguments) Value {
	return lazily(func() iterator {
		if !truth(a.v[0]) {
			return in.iterate(&undefined{})
		}
		apply := in.mapper(a)
		next := in.iterate(a.v[0])
		return func() (Value, bool) {
			v, ok := next()
			if !ok {
				return nil, false
			}
			return apply(v), true
		}
	})
}

func (in *interp) mapper(a arguments) func(Value) Value {
	if len(a.rest) > 0 {
		name := a.rest[0]
		return func(v Value) Value {
			f, ok := filterTable[in.str(name)]
			if !ok {
				raise(RuntimeError, "No filter named %s.", in.repr(name))
			}
			return f.call(in, append([]Value{v}, a.rest[1:]...), a.kw)
		}
	}
	var attribute, def Value = nil, None
	for _, k := range a.kw {
		switch k.name {
		case "attribute":
			attribute = k.v
		case "default":
			def = k.v
		default:
			raise(FilterArgumentError, "Unexpected keyword argument %s", quote(k.name))
		}
	}
	if attribute == nil {
		raise(FilterArgumentError, "map requires a filter argument")
	}
	return in.attributeGetter(attribute, def)
}

// filterSelect makes the filters that keep the items for which a test holds, or
// does not hold, on the item or on an attribute of it.
func filterSelect(keep, byAttribute bool) func(*interp, arguments) Value {
	return func(in *interp, a arguments) Value {
		return lazily(func() iterator {
			if !truth(a.v[0]) {
				return in.iterate(&undefined{})
			}
			holds := in.selector(a, byAttribute)
			next := in.iterate(a.v[0])
			return func() (Value, bool) {
				for v, ok := next(); ok; v, ok = next() {
					if holds(v) == keep {
						return v, true
					}
				}
				return nil, false
			}
		})
	}
}

func (in *interp) selector(a arguments, byAttribute bool) func(Value) bool {
	rest := a.rest
	get := func(v Value) Value { return v }
	if byAttribute {
		if len(rest) == 0 {
			raise(FilterArgumentError, "Missing parameter for attribute name")
		}
		get = in.attributeGetter(rest[0], None)
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return func(v Value) bool { return truth(get(v)) }
	}
	name := rest[0]
	return func(v Value) bool {
		t, ok := testTable[in.str(name)]
		if !ok {
			raise(RuntimeError, "No test named %s.", in.repr(name))
		}
		return truth(t.call(in, append([]Value{get(v)}, rest[1:]...), a.kw))
	}
}

// extreme makes min or max: the first item no other is before.
func extreme(op string) func(*interp, arguments) Value {
	return func(in *interp, a arguments) Value {
		next := in.iterate(a.v[0])
		best, ok := next()
		if !ok {
			return undefinedHint("No aggregated item, sequence was empty.")
		}
		key := in.sortKey(a.v[2], None, a.v[1])
		bestKey := key(best)
		for v, ok := next(); ok; v, ok = next() {
			if k := key(v); in.ordered(op, k, bestKey) {
				best, bestKey = v, k
			}
		}
		return best
	}
}

func filterReplace(in *interp, a arguments) Value {
	count := -1
	if a.v[3] != None {
		count = smallInteger(a.v[3])
	}
	return String(in.replace(in.str(a.v[0]), in.str(a.v[1]), in.str(a.v[2]), count))
}

func filterSlice(in *interp, a arguments) Value {
	return lazily(func() iterator {
		items := in.collect(a.v[0])
		n := smallInteger(a.v[1])
		if n == 0 {
			raise(ZeroDivisionError, "integer division or modulo by zero")
		}
		row := 0
		return func() (Value, bool) {
			if row >= n {
				return nil, false
			}
			in.step()
			per, extra := len(items)/n, len(items)%n
			start, end := row*per+min(row, extra), (row+1)*per+min(row+1, extra)
			out := slices.Clip(items[start:end])
			if a.v[2] != None && row >= extra {
				out = append(out, a.v[2])
			}
			row++
			return &List{out}, true
		}
	})
}

func filterSort(in *interp, a arguments) Value {
	keys := []func(Value) Value{in.sortKey(a.v[3], None, a.v[2])}
	if s, ok := asText(a.v[3]); ok {
		keys = keys[:0]
		for part := range strings.SplitSeq(s, ",") {
			keys = append(keys, in.sortKey(String(part), None, a.v[2]))
		}
	}
	key := func(v Value) Value {
		all := make([]Value, len(keys))
		for i, k := range keys {
			all[i] = k(v)
		}
		return &List{all}
	}
	return &List{in.sorted(in.collect(a.v[0]), key, truth(a.v[1]))}
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	htmlTag     = regexp.MustCompile(`(?s)<.*?>`)
)

func filterStriptags(in *interp, a arguments) Value {
	s := htmlTag.ReplaceAllString(htmlComment.ReplaceAllString(in.str(a.v[0]), ""), "")
	return String(html.UnescapeString(strings.Join(splitSpace(s, -1), " ")))
}

func filterSum(in *interp, a arguments) Value {
	sum := a.v[2]
	if _, ok := asString(sum); ok {
		raise(TypeError, "sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := in.attributeGetter(a.v[1], None)
	next := in.iterate(a.v[0])
	for v, ok := next(); ok; v, ok = next() {
		sum = in.binary("+", sum, get(v))
	}
	return sum
}

func filterTitle(in *interp, a arguments) Value {
	var b []byte
	rs := runesOf(in.made(in.str(a.v[0])))
	for start := 0; start < len(rs); {
		end := start
		for end < len(rs) && beginsWord(rs[end]) == beginsWord(rs[start]) {
			end++
		}
		word := stringOf(rs[start:end])
		_, n := decodeRune(word)
		b = append(append(b, upper(word[:n])...), lower(word[n:])...)
		start = end
	}
	return String(b)
}

// beginsWord tells the characters after which the title filter starts a word.
func beginsWord(r rune) bool { return isSpace(r) || strings.ContainsRune("-({[<", r) }

func filterTruncate(in *interp, a arguments) Value {
	n, ok := length(a.v[0])
	end, isText := asText(a.v[3])
	if !isText {
		raise(TypeError, "object of type %s has no len()", quote(a.v[3].typeName()))
	}
	size, leeway := smallInteger(a.v[1]), 5
	if a.v[4] != None {
		leeway = smallInteger(a.v[4])
	}
	keep := size - runeCount(end)
	if keep < 0 {
		raise(PythonAssertion, "expected length >= %d, got %d", runeCount(end), size)
	}
	if leeway < 0 {
		raise(PythonAssertion, "expected leeway >= 0, got %d", leeway)
	}
	if !ok {
		raise(TypeError, "object of type %s has no len()", quote(a.v[0].typeName()))
	}
	if n <= size+leeway {
		return a.v[0]
	}
	s, isText := asText(a.v[0])
	if !isText {
		raise(AttributeError, "%s object has no attribute 'rsplit'", quote(a.v[0].typeName()))
	}
	s = s[:byteOffset(s, keep)]
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !truth(a.v[2]) {
		s = s[:i]
	}
	return in.concat(sameType(a.v[0], s), a.v[3])
}

func filterUnique(in *interp, a arguments) Value {
	return lazily(func() iterator {
		key := in.sortKey(a.v[2], None, a.v[1])
		next := in.iterate(a.v[0])
		seen := map[any]bool{}
		return func() (Value, bool) {
			for v, ok := next(); ok; v, ok = next() {
				if h := hashKey(key(v)); !seen[h] {
					seen[h] = true
					return v, true
				}
			}
			return nil, false
		}
	})
}

func filterURLEncode(in *interp, a arguments) Value {
	v := a.v[0]
	if _, isText := asText(v); isText || !iterable(v) {
		return String(in.made(urlQuote(in.str(v), "/")))
	}
	if d, ok := v.(*Dict); ok {
		v = &dictView{d, viewItems}
	}
	var pairs []string
	for _, item := range in.collect(v) {
		kv := in.unpack(item, 2)
		pairs = append(pairs, urlQuote(in.str(kv[0]), "+")+"="+urlQuote(in.str(kv[1]), "+"))
	}
	return String(in.made(strings.Join(pairs, "&")))
}

// urlQuote percent-encodes s. extra is "/" to leave slashes alone, or "+" to turn
// blanks into plus signs.
func urlQuote(s, extra string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' && extra == "+":
			b.WriteByte('+')
		case c < utf8.RuneSelf && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))),
			strings.IndexByte("_.-~", c) >= 0, c == '/' && extra == "/":
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func filterWordcount(in *interp, a arguments) Value {
	return Int(len(strings.FieldsFunc(in.made(in.str(a.v[0])), func(r rune) bool { return !isWord(r) })))
}

func filterXMLAttr(in *interp, a arguments) Value {
	var b strings.Builder
	for k, v := range mapping(a.v[0]).All() {
		if _, missing := v.(*undefined); missing || v == None {
			continue
		}
		name, ok := asText(k)
		if !ok {
			raise(TypeError, "expected string or bytes-like object, got %s", quote(k.typeName()))
		}
		if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			raise(ValueError, "Invalid character in attribute name: %s", quote(name))
		}
		if b.Len() > 0 || truth(a.v[1]) {
			b.WriteByte(' ')
		}
		b.WriteString(text(in.escape(k)) + `="` + text(in.escape(v)) + `"`)
		in.reserve(b.Len())
	}
	return String(b.String())
}
