package openrouter_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// How much of what was generated an attempt brings.
type share int

const (
	nothing share = iota
	part          // its beginning
	all
	changed // the fault lies in the text itself
)

// problem is a reported misbehaviour of the vendor and what must come of it.
type problem struct {
	id, about string
	fault     emulator.Fault
	tweak     func(*eyrie.Request)
	class     string // "" when the answer is accepted
	kind      eyrie.ErrorKind
	charged   eyrie.Charged
	text      share
}

// Short names for the columns.
const (
	again     = eyrie.Again
	elsewhere = eyrie.Elsewhere
	giveUp    = eyrie.GiveUp
	stopRun   = eyrie.StopRun
	pause     = eyrie.Pause
	no        = eyrie.ChargedNo
	yes       = eyrie.ChargedYes
	unknown   = eyrie.ChargedUnknown
)

func fault(kind, value string) emulator.Fault { return emulator.Fault{Kind: kind, Value: value} }

func status(kind string, code int, message string) emulator.Fault {
	return emulator.Fault{Kind: kind, Status: code, Message: message}
}

func after(tokens int, f emulator.Fault) emulator.Fault {
	f.After = tokens
	return f
}

func charging(f emulator.Fault) emulator.Fault {
	f.Charge = "yes"
	return f
}

func notThinking(r *eyrie.Request) { r.Sampling.Thinking = false }

func maxTokens(n int) func(*eyrie.Request) {
	return func(r *eyrie.Request) { r.Sampling.MaxTokens = n }
}

// loop makes the request one that goes on after a call of a tool, of which nobody
// knows what was thought before it.
func loop(r *eyrie.Request) {
	weather(r)
	r.Generation.Messages = append(r.Generation.Messages,
		eyrie.Message{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{ID: "functions.get_weather:0", Name: "get_weather", Arguments: `{"city":"Ulm"}`}}},
		eyrie.Message{Role: eyrie.ToolRole, Content: "rain", ToolCallID: "functions.get_weather:0"})
}

// dearer makes the request one whose price list is out of date.
func dearer(r *eyrie.Request) {
	lane := *r.Lane
	lane.OutputPrice, _ = eyrie.ParsePrice("0.0000026")
	r.Lane = &lane
}

// problems are the rows of the log of reported problems that can be played
// against the client. Rows with the same number are variants of one.
var problems = []problem{
	// Errors inside 200.
	{"P01", "429 inside 200", fault("error_body", "null_choices"), nil, "in-band 429", again, no, nothing},
	{"P01", "429 inside 200, no choices", fault("error_body", ""), nil, "in-band 429", again, no, nothing},
	{"P02", "524 inside 200", status("error_body", 524, ""), nil, "in-band 524", again, unknown, nothing},
	{"P02", "524 inside 200, and it was billed", charging(status("error_body", 524, "")), nil, "in-band 524", again, unknown, nothing},
	{"P04", "no choices at all", fault("choices", "missing"), nil, "not a stream", again, yes, nothing},
	{"P04", "choices null", fault("choices", "null"), nil, "not a stream", again, yes, nothing},
	{"P04", "choices empty", fault("choices", "empty"), nil, "not a stream", again, yes, nothing},
	{"P05", "error in the first choice", fault("error_body", "in_choice"), nil, "in-band 429", again, yes, changed},
	{"P07", "white space and a dot", fault("blank", "dot"), nil, "empty body", again, unknown, nothing},
	{"P08", "white space, then nothing", fault("blank", "whitespace"), nil, "empty body", again, unknown, nothing},
	{"P08", "nothing at all", fault("blank", "empty"), nil, "empty body", again, unknown, nothing},
	{"P10", "JSON cut mid-object", fault("blank", "cut_json"), nil, "bad frame", again, unknown, changed},

	// Broken streams.
	{"P13", "error chunk with empty choices", after(40, fault("mid_error", "empty_choices")), nil, "in-band 502", again, unknown, part},
	{"P13", "error chunk with choices", after(40, fault("mid_error", "with_choices")), nil, "in-band 502", again, unknown, part},
	{"P13", "error chunk before any text", fault("mid_error", "empty_choices"), nil, "in-band 502", again, unknown, nothing},
	{"P13", "error chunk, and it was billed", charging(after(40, fault("mid_error", "bare"))), nil, "in-band 502", again, unknown, part},
	{"P14", "mid-stream 400: prompt is too long", status("mid_error", 400, "prompt is too long: 9000 tokens > 8192 maximum"), nil, "in-band 400", giveUp, no, nothing},
	{"P16", "numeric code", after(40, status("mid_error", 429, "slow down")), nil, "in-band 429", again, unknown, part},
	{"P16", "code that is a word", after(40, fault("mid_error", "string_code")), nil, "in-band 502", again, unknown, part},
	{"P17", "EOF before the finish reason", after(40, fault("eof", "")), nil, "stream cut", again, unknown, part},
	{"P17", "EOF inside an event", after(40, fault("eof", "in_event")), nil, "stream cut", again, unknown, part},
	{"P17", "EOF before any text", fault("eof", ""), nil, "stream cut", again, unknown, nothing},
	{"P17", "connection reset", after(40, fault("reset", "")), nil, "stream cut", again, unknown, part},
	{"P19", "blank finish reasons on early chunks", fault("finish", "early_blank"), nil, "", 0, yes, all},
	{"P19", "nothing but a blank finish reason", fault("finish", "blank"), nil, "no finish reason", again, yes, all},
	{"P20", "truncated stream", after(40, fault("finish", "null")), nil, "no finish reason", again, yes, all},
	{"P22", "finish reason error", fault("finish", "error"), nil, "finish reason", elsewhere, yes, all},
	{"P23", "top-level error, partial text", after(40, fault("mid_error", "bare")), nil, "in-band 502", again, unknown, part},
	{"P25", "body stays open after [DONE]", fault("done", "open"), nil, "", 0, yes, all},
	{"P25", "[DONE] missing", fault("done", "missing"), nil, "", 0, yes, all},
	{"P25", "more after [DONE]", fault("done", "more"), nil, "", 0, yes, all},
	{"P26", "stall under comments before any text", fault("stall", "comments"), nil, "no first content", elsewhere, unknown, nothing},
	{"P26", "stall under comments mid-stream", after(40, fault("stall", "comments")), nil, "silence", elsewhere, unknown, part},
	{"P26", "stall without a byte", after(40, fault("stall", "silent")), nil, "silence", elsewhere, unknown, part},
	{"P31", "data without a space", fault("frame", "no_space"), nil, "", 0, yes, all},
	{"P31", "CRLF", fault("frame", "crlf"), nil, "", 0, yes, all},
	{"P31", "other fields", fault("frame", "fields"), nil, "", 0, yes, all},
	{"P31", "data on several lines", fault("frame", "multi_line"), nil, "", 0, yes, all},
	{"P31", "lines of 80 KiB", after(80<<10, fault("frame", "huge")), maxTokens(20), "", 0, yes, all},
	{"P32", "usage repeats the finish reason", fault("usage", "repeat_finish"), nil, "", 0, yes, all},

	// Usage and cost.
	{"P34", "usage in the finish chunk", fault("usage", "in_finish"), nil, "", 0, yes, all},
	{"P34", "usage twice", fault("usage", "twice"), nil, "", 0, yes, all},
	{"P35", "no usage", fault("usage", "missing"), nil, "", 0, unknown, all},
	{"P35", "cost null", fault("usage", "null_cost"), nil, "", 0, unknown, all},
	{"P37", "cost nothing for tokens", fault("usage", "zero_cost"), nil, "", 0, unknown, all},
	{"P37", "a cost that the price list does not explain", emulator.Fault{}, dearer, "usage", elsewhere, yes, all},

	// Reasoning and content.
	{"P40", "the answer stayed in the reasoning", fault("content", "reasoning_only"), nil, "reasoning only", elsewhere, yes, changed},
	{"P40", "nothing at all", fault("content", "empty"), nil, "empty answer", elsewhere, yes, nothing},
	{"P41", "max_tokens cut the reasoning", emulator.Fault{}, maxTokens(30), "", 0, yes, all},
	{"P43", "reasoning though it is off", fault("content", "ignore_disabled"), notThinking, "reasoning", elsewhere, yes, changed},
	{"P43", "no reasoning though it is on", fault("content", "no_reasoning"), nil, "reasoning", elsewhere, yes, changed},
	{"P46", "reasoning_content", fault("content", "reasoning_content"), nil, "", 0, yes, all},
	{"P46", "reasoning_details", fault("content", "details_only"), nil, "", 0, yes, all},
	{"P47", "reasoning_content is missing", status("http", 400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"), nil, "400", giveUp, no, nothing},
	{"P47", "a history of calls without reasoning", emulator.Fault{}, loop, "", 0, yes, all},
	{"P49", "refused upstream", status("http", 400, "Reasoning is mandatory for this endpoint and cannot be disabled."), notThinking, "400", elsewhere, no, nothing},
	{"P50", "max_tokens overrun 25 times", emulator.Fault{Kind: "overrun", Factor: 25}, maxTokens(200), openrouter.ClassOverrun, elsewhere, unknown, part},
	{"P50", "max_tokens overrun a little", emulator.Fault{Kind: "overrun", Factor: 2}, maxTokens(500), openrouter.ClassOverrun, elsewhere, yes, all},

	// Tool calls.
	{"P52", "calls left in the text", fault("tool", "plain_text"), weather, "tool call", again, yes, changed},
	{"P53", "arguments that do not parse", fault("tool", "malformed"), weather, "tool call", again, yes, changed},
	{"P53", "markers in the arguments", fault("tool", "leak"), weather, "tool call", again, yes, changed},
	{"P53", "calls without an index", fault("tool", "no_index"), weather, "", 0, yes, changed},
	{"P53", "calls without an id", fault("tool", "empty_id"), weather, "", 0, yes, changed},
	{"P53", "calls under finish reason stop", fault("tool", "finish_stop"), weather, "", 0, yes, changed},

	// Rate limits.
	{"P56", "upstream 429", fault("rate_limit", ""), nil, "429", again, no, nothing},
	{"P58", "429 page of the edge", fault("rate_limit", "html"), nil, "429 page", pause, no, nothing},
	{"P61", "daily quota", fault("quota", "free_per_day"), nil, "429", stopRun, no, nothing},
	{"P61", "quota of a minute", fault("quota", "free_per_min"), nil, "429", again, no, nothing},
	{"P62", "a provider's 429 is not the account's, whatever it speaks of", status("http", 429, "free-models-per-day quota of this key exceeded"), nil, "429", again, no, nothing},
	{"P62", "the account's 429 is not the provider's", fault("quota", "free_per_day"), nil, "429", stopRun, no, nothing},
	{"P62", "a provider's 401 is not the account's", status("http", 401, "invalid api key"), nil, "401", elsewhere, no, nothing},
	{"P62", "a provider's 402 is not the account's", status("http", 402, "out of credits"), nil, "402", elsewhere, no, nothing},
	{"P64", "429 with Retry-After", emulator.Fault{Kind: "rate_limit", RetryAfter: "7"}, nil, "429", again, no, nothing},
	{"P64", "all endpoints busy", fault("rate_limit", "capacity"), nil, "429", again, no, nothing},

	// Money and keys.
	{"P67", "402 is not a 5xx", fault("payment", "credits"), nil, "402", stopRun, no, nothing},
	{"P68", "402 that names an affordable M", fault("payment", "afford"), nil, "402", stopRun, no, nothing},
	{"P70", "402 of the account", fault("payment", "never"), nil, "402", stopRun, no, nothing},
	{"P71", "key limit exceeded", fault("forbidden", "key_limit"), nil, "403", stopRun, no, nothing},
	{"P71", "moderation is not the key's limit", fault("forbidden", "moderation"), nil, "403", giveUp, no, nothing},
	{"P71", "guardrail is not the key's limit", fault("forbidden", "guardrail"), nil, "403", giveUp, no, nothing},
	{"P71", "a region is not the key's limit", fault("forbidden", "region"), nil, "403", elsewhere, no, nothing},
	{"P73", "401", fault("unauthorized", ""), nil, "401", pause, no, nothing},
	{"P74", "500 that was billed", charging(status("http", 502, "")), nil, "502", again, unknown, nothing},
	{"P74", "time-out that was billed", charging(status("http", 504, "")), nil, "504", again, unknown, nothing},
	{"P74", "connection reset before the response", fault("reset_early", ""), nil, "connection", again, unknown, nothing},
	{"P74", "masked 500", status("http", 500, ""), nil, "500", again, unknown, nothing},
	{"P74", "503", status("http", 503, ""), nil, "503", again, unknown, nothing},
	{"P74", "408", status("http", 408, ""), nil, "408", again, unknown, nothing},
	{"P77", "error inside an error", fault("http", "nested"), nil, "502", again, unknown, nothing},
	{"P77", "error inside an error, in a stream", after(40, fault("mid_error", "nested")), nil, "in-band 502", again, unknown, part},
	{"P95", "402: prompt tokens limit", fault("payment", "prompt_limit"), nil, "402", stopRun, no, nothing},

	// Routing and identity.
	{"P79", "another provider answered", fault("provider", "other"), nil, "wrong provider", elsewhere, yes, all},
	{"P79", "nobody says who answered", fault("provider", "missing"), nil, "wrong provider", elsewhere, yes, all},
	{"P79", "the provider's slug", fault("provider", "slug"), nil, "", 0, yes, all},
	{"P79", "the provider's name in capitals", fault("provider", "case"), nil, "", 0, yes, all},
	{"P80", "the model's undated name", fault("model", "id"), nil, "", 0, yes, all},
	{"P80", "another model answered", fault("model", "wrong"), nil, "wrong model", elsewhere, yes, all},
	{"P83", "404 by the account's settings", fault("not_found", "guardrail"), nil, "404", elsewhere, no, nothing},
	{"P83", "404: no endpoints", fault("not_found", "endpoints"), nil, "404", elsewhere, no, nothing},
	{"P85", "require_parameters leaves nobody", fault("not_found", "tools"), nil, "404", elsewhere, no, nothing},
	{"P88", "400 of one provider", status("http", 400, "unsupported input"), nil, "400", elsewhere, no, nothing},
	{"P89", "relayed 400 with odd text", status("http", 400, "corrupted thought signature"), nil, "400", elsewhere, no, nothing},
	{"P94", "upstream rejects max_tokens", status("http", 422, "max_tokens must be at most 8192"), nil, "422", elsewhere, no, nothing},

	// The edge.
	{"P91", "520 page", status("html", 520, ""), nil, "520 page", again, unknown, nothing},
	{"P91", "524 page", status("html", 524, ""), nil, "524 page", again, unknown, nothing},
	{"P91", "403 page", fault("edge_block", ""), nil, "403 page", pause, no, nothing},
	{"P91", "page inside a 502", fault("http", "raw_html"), nil, "502", again, unknown, nothing},
	{"P91", "page inside a 200", fault("blank", "html"), nil, "not a stream", again, unknown, changed},
	{"P97", "closing chunk without choices", fault("usage", "twice"), nil, "", 0, yes, all},

	// What is told by the router, and the filters.
	{"§3.2", "content filter", fault("finish", "content_filter"), nil, "content filter", giveUp, yes, all},
	{"§3.2", "a word nobody knows", fault("finish", "word"), nil, "finish reason", elsewhere, yes, all},
	{"§2.5", "the answer was healed", fault("pipeline", ""), nil, "pipeline", elsewhere, yes, all},
	{"§3.5", "a discount of one in a hundred", fault("usage", "discount"), nil, "", 0, yes, all},
}

// TestEveryProblemIsATest compares the log of reported problems with the names
// of tests, wherever in the program they are.
func TestEveryProblemIsATest(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "shared")), "OPENROUTER.md"))
	if err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	named := map[string]bool{}
	name := regexp.MustCompile(`"P[0-9]{2}[", ]|func Test(?:P[0-9]{2})+`)
	id := regexp.MustCompile(`P[0-9]{2}`)
	root := os.DirFS(filepath.Join("..", ".."))
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return cmp.Or(err, fs.SkipDir)
		}
		if strings.HasSuffix(path, "_test.go") {
			b, err := fs.ReadFile(root, path)
			for _, n := range name.FindAll(b, -1) {
				for _, p := range id.FindAll(n, -1) {
					named[string(p)] = true
				}
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (P[0-9]{2}) \|`).FindAllStringSubmatch(string(log), -1)
	if len(rows) < 60 {
		t.Fatalf("%d rows were found", len(rows))
	}
	for _, row := range rows {
		if !named[row[1]] {
			t.Errorf("no test is named by %s", row[1])
		}
	}
}

// TestProblems plays every row of the log of reported problems and looks at
// the text kept, the decision, and the money: what the attempt says of its
// charge must never be less than what the vendor's books hold.
func TestProblems(t *testing.T) {
	for _, p := range problems {
		t.Run(p.id+" "+p.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.play(t) })
		})
	}
}

func (p *problem) play(t *testing.T) {
	var faults []emulator.Fault
	if p.fault.Kind != "" {
		faults = append(faults, p.fault)
	}
	w := newWorld(t, func(s *emulator.Scenario, c *openrouter.Config) {
		s.Text.ToolCall = 1
		s.Endpoints = map[string]emulator.Limits{atlas: {Reasoned: true}}
		c.Limits = openrouter.Limits{FirstContent: 90 * time.Second, Silence: 40 * time.Second, Whole: time.Hour}
	}, faults...)
	r := request(w.lanes[atlas])
	if p.tweak != nil {
		p.tweak(r)
	}
	h := ask(t, t.Context(), w.client, r)
	if h.class() != p.class || h.kind() != p.kind || h.charged() != p.charged {
		t.Errorf("%q, %v, charged %v; want %q, %v, %v (%v)", h.class(), h.kind(), h.charged(), p.class, p.kind, p.charged, h.err)
	}
	synctest.Wait()
	books := w.Books()
	if len(books) != 1 {
		t.Fatalf("the vendor saw %d requests", len(books))
	}
	p.checkText(t, h, books[0])
	if p.id == "P05" {
		return // the vendor printed a cost and charged none; the cost counts
	}
	checkMoney(t, w, h, books[0])
}

func (p *problem) checkText(t *testing.T, h *heard, e emulator.Entry) {
	reasoning, content := written(e)
	switch p.text {
	case nothing:
		if h.Reasoning != "" || h.Content != "" || h.ToolCalls != nil {
			t.Errorf("text came from nowhere: %q, %q, %v", h.Reasoning, h.Content, h.ToolCalls)
		}
	case part:
		whole, got := reasoning+content, h.Reasoning+h.Content
		if got == "" || !strings.HasPrefix(reasoning, h.Reasoning) || !strings.HasPrefix(content, h.Content) || len(got) >= len(whole) {
			t.Errorf("kept %q, which is no beginning of %q", got, whole)
		}
	case all:
		if h.Reasoning != reasoning || h.Content != content || e.Cost == 0 {
			t.Errorf("kept %q and %q, and %q and %q were written", h.Reasoning, h.Content, reasoning, content)
		}
	}
}

// checkMoney holds the attempt's word on its charge against the books, and
// then against the late bill.
func checkMoney(t *testing.T, w *world, h *heard, e emulator.Entry) {
	truth := eyrie.Money(e.Cost)
	switch h.charged() {
	case no:
		if truth != 0 {
			t.Errorf("charged no, and the books say %s", truth)
		}
	case yes:
		if diff := h.Cost - truth; diff < -truth/50-1 || diff > truth/50+1 {
			t.Errorf("charged %s, and the books say %s", h.Cost, truth)
		}
	case unknown:
		if e.Status != 200 || h.ID == "" {
			return // the vendor never named it
		}
		time.Sleep(time.Minute) // of the bubble
		if bill, err := w.client.Bill(t.Context(), h.ID); err != nil || bill != truth {
			t.Errorf("the late bill says %s, %v; the books %s", bill, err, truth)
		}
	}
}
