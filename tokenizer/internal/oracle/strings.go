package main

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// blocks are ranges of code points that differ in how they are split, merged
// or normalized.
var blocks = [][2]rune{
	{'a', 'z'}, {'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}, {0, 0x1f}, {0x7f, 0xa0}, {0xa1, 0xff},
	{0x100, 0x24f}, {0x250, 0x2ff}, {0x300, 0x36f}, {0x370, 0x3ff}, {0x400, 0x52f}, {0x531, 0x58f}, {0x591, 0x5f4}, {0x600, 0x6ff}, {0x7c0, 0x7fd},
	{0x8a0, 0x8ff}, {0x900, 0x97f}, {0x980, 0x9fe}, {0xb80, 0xbff}, {0xe00, 0xe7f}, {0xf00, 0xfff}, {0x10a0, 0x10ff}, {0x1100, 0x11ff}, {0x13a0, 0x13ff},
	{0x1780, 0x17ff}, {0x1c80, 0x1cbf}, {0x1ab0, 0x1ace}, {0x1e00, 0x1fff}, {0x2000, 0x206f}, {0x2070, 0x209f}, {0x2100, 0x218f}, {0x2190, 0x23ff},
	{0x2460, 0x24ff}, {0x2500, 0x27bf}, {0x2e80, 0x2fdf}, {0x3000, 0x303f}, {0x3040, 0x309f}, {0x30a0, 0x30ff}, {0x3100, 0x318f}, {0x3200, 0x33ff},
	{0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0x4e00, 0x5200}, {0x9fa0, 0x9fff}, {0xa000, 0xa4cf}, {0xa640, 0xa69f}, {0xa720, 0xa7ff}, {0xac00, 0xd7ff},
	{0xe000, 0xe010}, {0xf900, 0xfaff}, {0xfb00, 0xfb4f}, {0xfe00, 0xfe0f}, {0xfe50, 0xffff}, {0x10400, 0x1044f}, {0x10d40, 0x10d8f}, {0x11380, 0x113e2},
	{0x16d40, 0x16d79}, {0x1d400, 0x1d7ff}, {0x1e5d0, 0x1e5ff}, {0x1f1e6, 0x1f1ff}, {0x1f300, 0x1faff}, {0x20000, 0x2a6ff}, {0x2ebf0, 0x2ee5d},
	{0x2f800, 0x2fa1f}, {0x30000, 0x323af}, {0xe0020, 0xe007f}, {0xe0100, 0xe01ef}, {0, 0xd7ff}, {0xe000, utf8.MaxRune},
}

// snippets are where split patterns have their corners.
var snippets = strings.Split("'s|'t|'re|'ve|'m|'ll|'d|'S|'LL|'Re|'\u017f|\u2019s|''|'x| '| \"|, |. |: |://|</|/>|/*|//| / |/\n|;\n|{\n|}\n\n|()|[]|==|!=|->|=> |...|…|，|。|、|「|」|"+
	" |  |   |\n|\n\n|\r\n|\r|\t|\t\t|\v|\f|\u00a0|\u3000|\u2028|\u0085|\u001c|\u200b|\u200d|\ufeff|\ufe0f|\u0301|\u0323|\u0338|\u0345|\u3099|\u302a|"+
	"e\u0301|q\u0323\u0301|\u1112\u1161\u11ab|하\u11ab|\u09c7\u09be|\u212b|\u2126|>\u0338|々|〇|〡|⺀|⼀|𠀀|カ\u3099|ﾊﾝ|①|½|Ⅳ|²|１２|٣٤|१२|🇨🇳|👩\u200d💻|✌🏽|1\ufe0f\u20e3|⭐\ufe0f|ǅ|ß|ſ|İ|ı|ª|ﬁ|"+
	"HTTPServer|parseJSON|iPhone15|snake_case|x86_64|0x1F|1e-9|3.14|1,000,000|2026-01-31|the| The| of|ing|tion|func |return|    |        |const |import |def |self.|我们|的|人工智能|こんにちは|です|안녕|Привет|مرحبا|שלום|नमस्ते|ไทย", "|")

// maker invents strings, always the same ones for a seed.
type maker struct {
	*rand.Rand
	literals []string // of added tokens
	tokens   []string // well-formed ordinary tokens
}

// next returns a string of one of several kinds. About one in twenty thousand
// is long enough for Kimi's cuts.
func (m *maker) next() string {
	if m.IntN(20_000) == 0 {
		return m.long()
	}
	var b strings.Builder
	for range 1 + int(m.ExpFloat64()*3) {
		switch m.IntN(12) {
		case 0, 1, 2:
			m.run(&b, 4)
		case 3, 4, 5:
			b.WriteString(snippets[m.IntN(len(snippets))])
		case 6, 7, 8:
			b.WriteString(m.tokens[m.IntN(len(m.tokens))])
		case 9:
			b.WriteString(strings.Repeat(snippets[m.IntN(len(snippets))], 1+int(m.ExpFloat64()*6)))
		case 10:
			m.run(&b, 20)
		case 11:
			m.literal(&b)
		}
	}
	return b.String()
}

// run writes characters of one block.
func (m *maker) run(b *strings.Builder, mean float64) {
	block := blocks[m.IntN(len(blocks))]
	for range 1 + int(m.ExpFloat64()*mean) {
		b.WriteRune(block[0] + m.Int32N(block[1]-block[0]+1))
	}
}

// literal writes the literal of an added token, or something like one.
func (m *maker) literal(b *strings.Builder) {
	text := m.literals[m.IntN(len(m.literals))]
	switch m.IntN(6) {
	case 0:
		text = text[:len(text)-1]
	case 1:
		text = text[1:]
	case 2:
		text += text
	}
	b.WriteString(strings.ToValidUTF8(text, ""))
}

// long returns a string whose runs are near the limits of Kimi's cuts.
func (m *maker) long() string {
	unit := []string{" ", "\n", "的", "x,", "a", "=", "🙂", "12", "\u001c", "ab的", "\u3000"}[m.IntN(11)]
	chars := utf8.RuneCountInString(unit)
	var b strings.Builder
	for range 1 + m.IntN(2) {
		b.WriteString(m.tokens[m.IntN(len(m.tokens))])
		b.WriteString(strings.Repeat(unit, (24_990+m.IntN(20))/chars))
		m.literal(&b)
		b.WriteString(strings.Repeat(unit, m.IntN(30_000)/chars))
	}
	return b.String()
}
