package emulator

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// composer writes text that looks enough like a model's: its only duty is to
// exercise a tokenizer and a reader with prose, several scripts, code, tables,
// formulas and emoji. All choices come from its generator.
type composer struct {
	*rand.Rand
}

func pick[T any](c composer, list []T) T { return list[c.IntN(len(list))] }

// paragraph returns one block of text, without a newline at its end.
func (c composer) paragraph() string {
	switch n := c.IntN(100); {
	case n < 46:
		return c.prose()
	case n < 58:
		return c.chinese()
	case n < 74:
		return c.code()
	case n < 81:
		return c.list()
	case n < 87:
		return c.formula()
	case n < 92:
		return c.json()
	case n < 96:
		return c.table()
	}
	return c.foreign()
}

// musing returns one block of reasoning.
func (c composer) musing() string {
	if c.IntN(4) == 0 {
		return c.paragraph()
	}
	return pick(c, openers) + " " + c.prose()
}

var (
	openers = []string{
		"Okay, let me think about this.", "The user wants", "Wait,", "Hmm, so", "First,", "Let me check:",
		"Actually, no —", "So the answer should be", "让我想一下，", "Alternatively,", "Let's re-read:", "Now 1/3:",
	}
	subjects = []string{
		"the parser", "a careful reader", "this function", "the second term", "every request", "our estimate",
		"the user", "the committee", "a small change", "the cache", "Dr. Lindqvist", "the river", "the model's output",
		"an unbounded queue", "each participant", "the naïve approach", "the old lighthouse", "my colleague",
	}
	verbs = []string{
		"returns", "doesn't handle", "quickly becomes", "must consider", "can't explain", "explains", "depends on",
		"rewrites", "is bounded by", "overlaps with", "would've avoided", "measures", "contradicts", "improves",
	}
	things = []string{
		"the remaining cases", "an off-by-one error", "the boundary condition", "12,345.67 units", "roughly 3.5% of it",
		"the café's opening hours", "several independent samples", "a monotone sequence", "HTTP/2 framing",
		"the user's original intent", "its neighbours", "\"quoted advice\"", "O(n log n) comparisons", "the year 1987",
		"what I'd expect", "the lower bound", "a well-known theorem", "nothing at all", "UTF-8 input", "e.g. dates",
	}
	joins  = []string{", and ", ", but ", "; ", " because ", ", so ", " — ", ", which means ", " while ", ": "}
	closes = []string{".", ".", ".", ".", "?", "!", "...", " 🙂.", ". ✅", ".)"}
)

func (c composer) sentence() string {
	var b strings.Builder
	for i := range 1 + c.IntN(3) {
		if i > 0 {
			b.WriteString(pick(c, joins))
		}
		b.WriteString(pick(c, subjects) + " " + pick(c, verbs) + " " + pick(c, things))
	}
	text := b.String()
	if c.IntN(12) == 0 {
		text = "**" + text + "**"
	}
	return strings.ToUpper(text[:1]) + text[1:] + pick(c, closes)
}

func (c composer) prose() string {
	sentences := make([]string, 1+c.IntN(4))
	for i := range sentences {
		sentences[i] = c.sentence()
	}
	return strings.Join(sentences, " ")
}

var (
	chineseSubjects = []string{"这个问题", "我们", "该函数", "用户", "第二个方案", "北京的天气", "模型", "这本书", "缓存", "数据"}
	chineseVerbs    = []string{"需要考虑", "可以解释", "并不包含", "取决于", "很快变成", "返回了", "大约有", "应该避免"}
	chineseThings   = []string{"边界条件", "三个例子", "剩余的情况", "2024年的结果", "更好的办法", "一种算法（如快速排序）", "“引号”内的文字", "时间复杂度", "😀表情"}
)

func (c composer) chinese() string {
	var b strings.Builder
	for range 1 + c.IntN(4) {
		b.WriteString(pick(c, chineseSubjects) + pick(c, chineseVerbs) + pick(c, chineseThings))
		b.WriteString(pick(c, []string{"，", "。", "；", "？", "！", "，所以", "。因此"}))
	}
	b.WriteString(pick(c, chineseSubjects) + pick(c, chineseVerbs) + pick(c, chineseThings) + "。")
	return b.String()
}

var foreigns = []string{
	"Результат зависит от начальных условий, но не от порядка.", "この関数は残りの場合を処理します。例えば、３つの値です。",
	"결과는 입력에 따라 달라집니다.", "النتيجة تعتمد على المدخلات.", "Das Ergebnis hängt von der Größe ab; überprüfen!",
	"L'été dernier, c'était différent : 25 °C à l'ombre.", "हम इसे फिर से जाँचते हैं।", "ผลลัพธ์ขึ้นอยู่กับข้อมูล",
	"👩‍💻 writes, 👨‍👩‍👧 reads, 🏳️‍🌈 waves 👍🏽", "Η λύση είναι x = ½.", "Zażółć gęślą jaźń.",
}

func (c composer) foreign() string {
	return pick(c, foreigns) + " " + pick(c, foreigns)
}

var names = []string{"count", "userName", "total_sum", "idx", "result", "MAX_RETRIES", "parseHTTPRequest", "x2", "node", "cfg"}

func (c composer) code() string {
	a, b, n := pick(c, names), pick(c, names), c.IntN(4096)
	switch c.IntN(6) {
	case 0:
		return fmt.Sprintf("```python\ndef %s(%s: list[int]) -> int:\n    \"\"\"Return %d or less.\"\"\"\n    if not %s:\n        return 0\n    return sum(v ** 2 for v in %s if v %% 2 == 0)\n```", a, b, n, b, b)
	case 1:
		return fmt.Sprintf("```go\nfunc %s(%s []byte) (int, error) {\n\tif len(%s) == 0 {\n\t\treturn 0, fmt.Errorf(\"empty %%q\", %s)\n\t}\n\treturn %d, nil\n}\n```", a, b, b, b, n)
	case 2:
		return fmt.Sprintf("```js\nconst %s = async (%s) => {\n  const res = await fetch(`/api/v1/${%s}?limit=%d`);\n  return (await res.json())?.data ?? [];\n};\n```", a, b, b, n)
	case 3:
		return fmt.Sprintf("```sql\nSELECT %s, COUNT(*) AS n\nFROM orders o JOIN users u ON u.id = o.user_id\nWHERE o.created_at >= '2024-01-%02d'\nGROUP BY 1 ORDER BY n DESC LIMIT %d;\n```", a, 1+n%28, n)
	case 4:
		return fmt.Sprintf("```rust\nfn %s<'a>(%s: &'a str) -> Option<&'a str> {\n    %s.split_once('=').map(|(_, v)| v.trim()) // 0x%x\n}\n```", a, b, b, n)
	}
	return fmt.Sprintf("```bash\nfor f in *.txt; do\n\tgrep -nE '^%s=[0-9]+$' \"$f\" | awk '{print $%d}' >> out/%s.log || exit 1\ndone\n```", a, 1+n%9, b)
}

func (c composer) list() string {
	lines := make([]string, 2+c.IntN(4))
	numbered := c.IntN(2) == 0
	for i := range lines {
		lines[i] = "- " + pick(c, things)
		if numbered {
			lines[i] = fmt.Sprintf("%d. **%s**: %s", i+1, pick(c, names), c.sentence())
		}
	}
	return "### " + pick(c, things) + "\n\n" + strings.Join(lines, "\n")
}

func (c composer) formula() string {
	a, b := c.IntN(1000), 1+c.IntN(99)
	return pick(c, []string{
		fmt.Sprintf("$$\\int_0^{%d} x^{%d}\\,dx = \\frac{%d^{%d}}{%d}$$", b, a, b, a+1, a+1),
		fmt.Sprintf("So %d × %d = %d, hence f(x) ≤ √%d + π/%d.", a, b, a*b, a, b),
		fmt.Sprintf("Let \\(A \\in \\mathbb{R}^{%d\\times%d}\\); then ‖A‖₂ ≥ %d.%03d·10⁻³.", b, b, a, b),
		fmt.Sprintf("∑ᵢ aᵢ = %d  (mod %d),   ∀ε>0 ∃δ", a, b),
	})
}

func (c composer) json() string {
	return fmt.Sprintf("```json\n{\n  \"%s\": %d,\n  \"%s\": [%d.5, null, true],\n  \"path\": \"C:\\\\tmp\\\\%s\",\n  \"note\": \"%s\"\n}\n```",
		pick(c, names), c.IntN(1e6), pick(c, names), c.IntN(100), pick(c, names), pick(c, chineseThings))
}

func (c composer) table() string {
	var b strings.Builder
	b.WriteString("| name | value |\n|------|------:|\n")
	for range 2 + c.IntN(3) {
		fmt.Fprintf(&b, "| %s | %d.%02d |\n", pick(c, names), c.IntN(1e5), c.IntN(100))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
