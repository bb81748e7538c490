package tokens_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/eyrie-ai/eyrie/tokens"
)

// A sample is an answer as a server would send it, with the truth beside it.
type sample struct {
	generation *eyrie.Generation
	thinking   bool
	answer     *eyrie.Answer
	prompt     []int32 // what the server fed to the model
	completion []int32 // what the model sampled
	canonical  bool    // the model's ids are those that the vocabulary makes of its text
	lost       bool    // white space was trimmed
}

// server is what a provider does to answers and counts.
type server struct {
	name        string
	trimReason  bool // white space at the end of the reasoning
	trimContent bool // white space around the content
	rewriteIDs  bool
	respace     bool // prints arguments anew, as after a forced tool choice
	bareThink   bool // does not count </think> as reasoning
	noReasoning bool // gives no reasoning count
	noEnd       bool // does not bill the end token
	miscounts   bool // adds a few tokens to some bills
	written     bool // hands the arguments of earlier calls on as they were written
	ids         ids  // returned beside the text
	names       names
	repeatsIDs  bool // gives all calls of an answer the id of the first
}

// ids says what ids a server returns.
type ids uint8

const (
	noIDs    ids = iota
	allIDs       // of prompt and completion
	endless      // without the end token
	lossyIDs     // one is missing, now and then
)

// names says how a server names the tokens one by one, as logprobs.
type names uint8

const (
	noNames   names = iota
	byBytes         // of every token
	noEndName       // without the end token
	byText          // the bytes of the token as text, parts of characters replaced
	corrected       // by text, with a character at its last token and nothing at those before
	gaps            // some without bytes
	noControl       // without control tokens
	merged          // two tokens as one, now and then
)

var servers = []server{
	{name: "faithful"},
	{name: "faithful, no reasoning count", noReasoning: true},
	{name: "faithful, </think> not counted", bareThink: true},
	{name: "trims reasoning", trimReason: true},
	{name: "trims everything", trimReason: true, trimContent: true},
	{name: "trims everything, no reasoning count", trimReason: true, trimContent: true, noReasoning: true},
	{name: "rewrites ids", rewriteIDs: true},
	{name: "prints arguments anew", respace: true},
	{name: "end not billed", noEnd: true},
	{name: "miscounts", miscounts: true},
	{name: "hands arguments on as written", written: true},
	{name: "returns ids, trims everything", ids: allIDs, trimReason: true, trimContent: true, rewriteIDs: true},
	{name: "returns ids without the end", ids: endless},
	{name: "loses ids that it returns", ids: lossyIDs},
	{name: "names tokens by bytes, trims everything", names: byBytes, trimReason: true, trimContent: true, rewriteIDs: true, respace: true},
	{name: "names tokens by bytes, not the end", names: noEndName},
	{name: "names tokens by text, trims everything", names: byText, trimReason: true, trimContent: true},
	{name: "names tokens by corrected text", names: corrected},
	{name: "names some tokens without bytes", names: gaps},
	{name: "does not name control tokens", names: noControl},
	{name: "names two tokens as one", names: merged},
	{name: "repeats call ids", repeatsIDs: true},
}

// population makes samples from a seed.
type population struct {
	rng      *rand.Rand
	tok      *tokenizer.Tokenizer
	rebuild  *tokens.Rebuilder
	ids      map[string]int32 // of every ordinary token
	splits   float64          // share of completions with another split
	padding  float64          // share of places at which the model leaves white space
	sentence int              // most sentences of a part
}

// kimiFolder is the model folder of Kimi-K2.5 in the reference data; a test
// without it is skipped.
func kimiFolder(t testing.TB) string {
	t.Helper()
	root := os.Getenv("EYRIE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, "models", "kimi-k2.5")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no reference data: %v (set EYRIE_SHARED)", err)
	}
	return dir
}

func newPopulation(t testing.TB, seed uint64) *population {
	t.Helper()
	tok, err := tokenizer.Load(kimiFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := chat.Load(kimiFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tokens.New(tok, tmpl)
	if err != nil {
		t.Fatal(err)
	}
	p := &population{
		rng: rand.New(rand.NewPCG(seed, 1)), tok: tok, rebuild: r, ids: map[string]int32{},
		splits: 0.02, padding: 0.15, sentence: 6,
	}
	for id := range int32(tok.VocabSize()) {
		if b, ok := tok.Token(id); ok && !tok.IsSpecial(id) {
			p.ids[string(b)] = id
		}
	}
	return p
}

// from returns the population with chance that is drawn from other numbers.
func (p *population) from(seed, stream uint64) *population {
	q := *p
	q.rng = rand.New(rand.NewPCG(seed, stream))
	return &q
}

func (p *population) chance(share float64) bool { return p.rng.Float64() < share }

func pick[T any](p *population, from []T) T { return from[p.rng.IntN(len(from))] }

var (
	words = strings.Fields(`the of and to in is that for it as with on by this be are from or an at not have has
		we need find value first then because each number sum list index loop check function returns string result
		however therefore suppose consider simply note length array matrix prime integer theorem probability river
		copper engine tariff harvest lighthouse photosynthesis Constantinople Müller naïve café approximately`)
	chinese = []string{"我们需要先", "计算", "总和", "然后", "检查", "结果", "是否", "正确", "，", "。", "因此", "函数", "返回", "数组", "的", "长度", "天气", "北京"}
	code    = []string{
		"```python\ndef f(xs):\n    return sum(x * x for x in xs)\n```", "if err != nil {\n\treturn fmt.Errorf(\"open: %w\", err)\n}",
		"for (let i = 0; i < n; i++) {\n  total += a[i];\n}", "`map[string]int`", "SELECT id, name FROM users WHERE age >= 21;",
		"\\frac{a+b}{2} = \\sqrt{x^2 + 1}", "$x_{n+1} = x_n - f(x_n)$",
	}
	emoji = []string{"🙂", "🚀", "✅", "⭐️", "👩‍💻", "→", "≤", "π"}
	lines = []string{
		"| name | value |\n|------|------:|\n| idx | 4096.50 |", "    indented  by   spaces", "\tby a tab", "---", "> quoted, “so to speak”",
		`{"path": "C:\\tmp", "n": [1, null, true], "s": "\u00e9\n"}`, "https://example.org/a?b=c&d=%20#e", "c2Vjb25kIGxpbmUgb2YgYmFzZSA2NA==",
		"Результат зависит от начальных условий.", "この関数は残りの場合を処理します。", "결과는 입력에 따라 달라집니다.", "النتيجة تعتمد على المدخلات.",
		"ผลลัพธ์ขึ้นอยู่กับข้อมูล", "Zażółć gęślą jaźń.", "L'été dernier, c'était différent : 25 °C.", "\u00a0\u3000\u2028", "I’m sure y'all'd've SEEN the camelCase of HTTPServer2",
	}
)

// sentenceText is one sentence, or something that stands in its place.
func (p *population) sentenceText() string {
	var b strings.Builder
	switch r := p.rng.IntN(20); {
	case r < 3:
		for range 4 + p.rng.IntN(12) {
			b.WriteString(pick(p, chinese))
		}
		b.WriteString("。")
		return b.String()
	case r < 5:
		return pick(p, code)
	case r < 6:
		return pick(p, emoji)
	case r < 8:
		return fmt.Sprintf("%d. %d × %d = %.2f", p.rng.IntN(9), p.rng.IntN(100), p.rng.IntN(5000), p.rng.Float64()*100)
	case r < 10:
		return pick(p, lines)
	}
	for i := range 5 + p.rng.IntN(18) {
		w := pick(p, words)
		if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteString(pick(p, []string{".", ".", ".", "?", ":", "!", "", ")", "**"}))
	return b.String()
}

func (p *population) text() string {
	var b strings.Builder
	for i := range 1 + p.rng.IntN(p.sentence) {
		if i > 0 {
			b.WriteString(pick(p, []string{" ", " ", "\n", "\n\n", "\n- "}))
		}
		b.WriteString(p.sentenceText())
	}
	return b.String()
}

// pad is what a model leaves before or after a control token.
func (p *population) pad() string {
	if !p.chance(p.padding) {
		return ""
	}
	return pick(p, []string{"\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n\n", "\n\n", " "})
}

func (p *population) arguments(spaced bool) string {
	city := pick(p, []string{"Paris", "北京", "São Paulo", "New York"})
	n := p.rng.IntN(300)
	if spaced {
		return fmt.Sprintf(`{"city": "%s", "days": %d, "units": ["c", "mm"]}`, city, n)
	}
	return fmt.Sprintf(`{"city":"%s","days":%d,"exact":true}`, city, n)
}

// sampled is a completion on the model's side: each part with its true text.
type sampled struct {
	thinking  bool
	reasoning string
	content   string
	calls     []eyrie.ToolCall
}

func (p *population) sampled(history int) sampled {
	s := sampled{thinking: p.chance(0.85)}
	if s.thinking {
		s.reasoning = p.text() + p.pad()
		s.content = p.pad()
	}
	if p.chance(0.25) {
		spaced := p.chance(0.5)
		for i := range 1 + p.rng.IntN(3) {
			name := pick(p, []string{"get_weather", "search", "runSQL"})
			s.calls = append(s.calls, eyrie.ToolCall{
				ID: fmt.Sprintf("functions.%s:%d", name, history+i), Name: name, Arguments: p.arguments(spaced),
			})
		}
	}
	if len(s.calls) == 0 || p.chance(0.5) {
		s.content += p.text()
	}
	if len(s.calls) > 0 {
		s.content += p.pad()
	}
	return s
}

// ids are the tokens of the completion in pieces, control tokens alone.
func (p *population) pieces(s sampled) [][]int32 {
	var out [][]int32
	add := func(text string) { out = append(out, p.tok.Encode(nil, text)) }
	control := func(literal string) {
		id, _ := p.tok.Special(literal)
		out = append(out, []int32{id})
	}
	if s.thinking {
		add(s.reasoning)
		control("</think>")
	}
	add(s.content)
	if len(s.calls) > 0 {
		control("<|tool_calls_section_begin|>")
		for _, c := range s.calls {
			control("<|tool_call_begin|>")
			add(c.ID)
			control("<|tool_call_argument_begin|>")
			add(c.Arguments)
			control("<|tool_call_end|>")
		}
		control("<|tool_calls_section_end|>")
	}
	control("<|im_end|>")
	return out
}

// resplit writes a place of the completion in other tokens of the same bytes,
// one more or as many. It reports whether it found one.
func (p *population) resplit(pieces [][]int32) bool {
	for range 200 {
		i := p.rng.IntN(len(pieces))
		piece := pieces[i]
		if len(piece) < 2 {
			continue
		}
		at := p.rng.IntN(len(piece) - 1)
		if p.chance(0.7) {
			if a, b, ok := p.cutToken(piece[at]); ok {
				pieces[i] = slices.Concat(piece[:at], []int32{a, b}, piece[at+1:])
				return true
			}
			continue
		}
		if a, b, ok := p.shiftCut(piece[at], piece[at+1]); ok {
			pieces[i] = slices.Concat(piece[:at], []int32{a, b}, piece[at+2:])
			return true
		}
	}
	return false
}

func (p *population) cutToken(id int32) (int32, int32, bool) {
	t, _ := p.tok.Token(id)
	return p.cutBytes(string(t), -1)
}

func (p *population) shiftCut(first, second int32) (int32, int32, bool) {
	a, _ := p.tok.Token(first)
	b, _ := p.tok.Token(second)
	return p.cutBytes(string(a)+string(b), len(a))
}

// cutBytes cuts text into two tokens, but not at the given place.
func (p *population) cutBytes(text string, not int) (int32, int32, bool) {
	if len(text) < 2 {
		return 0, 0, false
	}
	from := p.rng.IntN(len(text))
	for k := range len(text) {
		cut := (from + k) % len(text)
		if cut == 0 || cut == not {
			continue
		}
		a, okA := p.ids[text[:cut]]
		b, okB := p.ids[text[cut:]]
		if okA && okB {
			return a, b, true
		}
	}
	return 0, 0, false
}

// sample makes one answer of the server.
func (p *population) sample(t testing.TB, sv server) sample {
	g := p.generation()
	c := chat.Conversation{Messages: g.Messages, Tools: g.Tools}
	if sv.written {
		c.Arguments = chat.AsWritten
	}
	history := 0
	for _, m := range g.Messages {
		history += len(m.ToolCalls)
	}
	s := p.sampled(history)
	c.Thinking = s.thinking
	prompt, err := p.rebuild.Prompt(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	pieces := p.pieces(s)
	out := sample{generation: g, thinking: s.thinking, prompt: prompt, canonical: true}
	if p.chance(p.splits) {
		out.canonical = !p.resplit(pieces)
	}
	out.completion = slices.Concat(pieces...)
	out.answer = sv.answer(p, s, pieces, len(prompt))
	out.lost = s.reasoning != out.answer.Reasoning || s.content != out.answer.Content
	if len(s.calls) == 0 && p.chance(0.05) {
		p.cutShort(&out, sv, s)
	}
	sv.returnIDs(p, &out)
	out.answer.Logprobs = sv.nameTokens(p, out.completion)
	return out
}

// returnIDs gives the answer the ids that the server returns.
func (sv server) returnIDs(p *population, s *sample) {
	if sv.ids == noIDs {
		return
	}
	a := s.answer
	a.PromptIDs, a.CompletionIDs = s.prompt, s.completion
	switch n := len(s.completion); {
	case sv.ids == endless && a.FinishReason != eyrie.FinishLength:
		a.CompletionIDs = s.completion[:n-1]
	case sv.ids == lossyIDs && n > 2 && p.chance(0.1):
		at := p.rng.IntN(n - 1)
		a.CompletionIDs = slices.Delete(slices.Clone(s.completion), at, at+1)
	}
}

// nameTokens is what the server says of the completion token by token.
func (sv server) nameTokens(p *population, completion []int32) []eyrie.TokenLogprob {
	if sv.names == noNames {
		return nil
	}
	var out []eyrie.TokenLogprob
	whole := p.tok.NewDecoder()
	for i, id := range completion {
		b, _ := p.tok.Token(id)
		text, _ := p.tok.DecodeString(completion[i : i+1])
		soFar, _ := whole.Add(id)
		switch sv.names {
		case byText:
			b = []byte(text)
		case corrected:
			b = []byte(soFar)
		case gaps:
			if p.chance(0.01) {
				b = nil
			}
		case noEndName:
			if i == len(completion)-1 && string(b) == "<|im_end|>" {
				continue
			}
		case noControl:
			if p.tok.IsSpecial(id) {
				continue
			}
		case merged:
			if len(out) > 0 && p.chance(0.01) {
				last := &out[len(out)-1]
				last.Token, last.Bytes = last.Token+text, append(last.Bytes, b...)
				continue
			}
		}
		out = append(out, eyrie.TokenLogprob{Token: text, Bytes: b, Logprob: -p.rng.ExpFloat64()})
	}
	return out
}

var toolsJSON = []byte(`[{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}},"required":["city"]}}}]`)

func (p *population) generation() *eyrie.Generation {
	g := &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: p.sentenceText()}}}
	if p.chance(0.3) {
		g.Tools = toolsJSON
		g.Messages = append(g.Messages,
			eyrie.Message{Role: eyrie.Assistant, Reasoning: p.sentenceText(), ToolCalls: []eyrie.ToolCall{
				{ID: "functions.get_weather:0", Name: "get_weather", Arguments: p.arguments(p.chance(0.5))}}},
			eyrie.Message{Role: eyrie.ToolRole, ToolCallID: "functions.get_weather:0", Content: "sunny, 21 °C"})
	}
	return g
}

// answer is what the server makes of the completion.
func (sv server) answer(p *population, s sampled, pieces [][]int32, prompt int) *eyrie.Answer {
	a := &eyrie.Answer{Reasoning: s.reasoning, Content: s.content, FinishReason: eyrie.FinishStop}
	for i, c := range s.calls {
		if sv.rewriteIDs {
			c.ID = fmt.Sprintf("call_%08x%d", p.rng.Uint32(), i)
		}
		if sv.repeatsIDs {
			c.ID = s.calls[0].ID
		}
		if sv.respace {
			b, _ := chat.AppendJSON(nil, []byte(c.Arguments), chat.Spaced)
			c.Arguments = string(b)
		}
		a.ToolCalls = append(a.ToolCalls, c)
		a.FinishReason = eyrie.FinishToolCalls
	}
	if sv.trimReason {
		a.Reasoning = strings.TrimRightFunc(a.Reasoning, unicode.IsSpace)
	}
	if sv.trimContent {
		a.Content = strings.TrimSpace(a.Content)
	}
	reasoning := 0
	if s.thinking {
		reasoning = len(pieces[0])
	}
	a.Usage = sv.usage(p, s.thinking, len(slices.Concat(pieces...)), reasoning, true)
	a.Usage.PromptTokens = prompt
	return a
}

func (sv server) usage(p *population, thinking bool, size, reasoning int, ended bool) eyrie.Usage {
	u := eyrie.Usage{Given: true, CompletionTokens: size, ReasoningTokens: reasoning}
	if thinking && !sv.bareThink {
		u.ReasoningTokens++
	}
	if sv.noReasoning {
		u.ReasoningTokens = -1
	}
	if sv.noEnd && ended {
		u.CompletionTokens--
	}
	if sv.miscounts && p.chance(0.5) {
		u.CompletionTokens += 1 + p.rng.IntN(4)
	}
	return u
}

// cutShort makes an answer that ran into max_tokens.
func (p *population) cutShort(out *sample, sv server, s sampled) {
	n := 1 + p.rng.IntN(len(out.completion)-1)
	out.completion = out.completion[:n]
	think, _ := p.tok.Special("</think>")
	closed := slices.Index(out.completion, think)
	text := func(ids []int32) string {
		b, _ := p.tok.Decode(nil, ids)
		for len(b) > 0 && !utf8.Valid(b) { // a server holds back half a character
			b = b[:len(b)-1]
		}
		return string(b)
	}
	a := out.answer
	a.FinishReason = eyrie.FinishLength
	a.Reasoning, a.Content = "", ""
	reasoning := 0
	switch {
	case !s.thinking:
		a.Content = text(out.completion)
	case closed < 0:
		a.Reasoning, reasoning = text(out.completion), n
	default:
		a.Reasoning, a.Content, reasoning = text(out.completion[:closed]), text(out.completion[closed+1:]), closed
	}
	whole := len(a.Reasoning) + len(a.Content)
	if sv.trimReason && closed >= 0 {
		a.Reasoning = strings.TrimRightFunc(a.Reasoning, unicode.IsSpace)
	}
	if sv.trimContent {
		a.Content = strings.TrimSpace(a.Content)
	}
	out.lost = len(a.Reasoning)+len(a.Content) < whole
	prompt := a.Usage.PromptTokens
	a.Usage = sv.usage(p, closed >= 0, n, reasoning, false)
	a.Usage.PromptTokens = prompt
}
