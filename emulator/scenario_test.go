package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

func TestScenariosLoad(t *testing.T) {
	names := emulator.Scenarios()
	if len(names) < 12 {
		t.Errorf("only %v", names)
	}
	for _, name := range names {
		s, err := emulator.NamedScenario(name)
		if err != nil {
			t.Error(err)
		}
		if s.Name != name || s.About == "" || s.Text.MedianTokens != 300 {
			t.Errorf("%s: name %q, about %q, defaults kept: %v", name, s.Name, s.About, s.Text.MedianTokens == 300)
		}
	}
	if _, err := emulator.NamedScenario("nosuch"); err == nil || !strings.Contains(err.Error(), "chaos") {
		t.Errorf("unknown name: %v", err)
	}
}

func TestScenarioErrors(t *testing.T) {
	for _, row := range []struct{ name, yaml, want string }{
		{"unknown key", "text: {medium_tokens: 3}", `unknown field "medium_tokens"`},
		{"unknown top key", "txet: {}", `unknown field "txet"`},
		{"wrong type", "text: {median_tokens: many}", "median_tokens"},
		{"bad duration", "timing: {ttft: soon}", "soon"},
		{"share out of range", "text: {noncanonical: 2}", "text.noncanonical is 2, must be between 0 and 1"},
		{"all at once", "text: {sigma: -1}\ntiming: {speed: 0}", "timing.speed is 0, must be above 0"},
		{"unknown fault", "faults: [{kind: explode}]", `faults[0]: kind "explode" is unknown; there are blank,`},
		{"unknown variant", "faults: [{kind: eof, value: loud}]", `value "loud" is unknown for eof; there are clean, in_event`},
		{"window", "faults: [{kind: eof, from: 2s, to: 1s}]", "must be after from"},
		{"status", "faults: [{kind: http, status: 200}]", "must be between 400 and 599"},
		{"charge", "faults: [{kind: http, charge: maybe}]", "charge"},
		{"drift of nothing", "drift: [{at: 1s}]", "drift[0]: endpoint or model"},
		{"drift price", "drift: [{endpoint: x, price_times: lots}]", "lots"},
		{"limits", "endpoints: {x: {rpm: -1}}", "endpoints.x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := emulator.ParseScenario([]byte(row.yaml))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

func TestLoadScenarioNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("stream: {chunk_tokens: 0}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := emulator.LoadScenario(path); err == nil || !strings.Contains(err.Error(), "mine.yaml") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(path, []byte("name: mine\ntiming: {ttft: 2s}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := emulator.LoadScenario(path); err != nil || s.Name != "mine" || s.Timing.TTFT != 2*time.Second || s.Timing.Speed != 1 {
		t.Errorf("loaded %+v, %v", s, err)
	}
}

func TestKindsAreDescribed(t *testing.T) {
	lines := strings.Join(emulator.Kinds(), "\n")
	for _, want := range []string{"mid_error: ", "with_choices, empty_choices", "rate_limit: "} {
		if !strings.Contains(lines, want) {
			t.Errorf("help lacks %q:\n%s", want, lines)
		}
	}
}

// TestDocumentationIsComplete compares the package documentation with the
// kinds of faults and the knobs that there are.
func TestDocumentationIsComplete(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range emulator.Kinds() {
		name, rest, _ := strings.Cut(line, ": ")
		words := []string{"//\t" + name + " "}
		if _, variants, ok := strings.Cut(rest, " ("); ok {
			words = append(words, strings.Split(strings.TrimSuffix(variants, ")"), ", ")...)
		}
		for _, w := range words {
			if !strings.Contains(string(doc), w) {
				t.Errorf("doc.go lacks %q of %s", w, name)
			}
		}
	}
	knobs, err := yaml.Marshal(emulator.DefaultScenario())
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(knobs)) {
		name, _, _ := strings.Cut(line, ":")
		if knob, inner := strings.CutPrefix(name, "  "); inner {
			name = section + "." + knob
		} else {
			section = name
			if strings.TrimSpace(line) == name+":" {
				continue
			}
		}
		if !strings.Contains(string(doc), "//\t"+name+" ") {
			t.Errorf("doc.go lacks the knob %s", name)
		}
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	good := smallVocabulary()
	for _, row := range []struct {
		name   string
		config emulator.Config
		want   string
	}{
		{"no vocabulary", emulator.Config{}, "no vocabulary given"},
		{"missing file", emulator.Config{VocabularyPath: "nosuch.model"}, "nosuch.model"},
		{"bad vocabulary", emulator.Config{Vocabulary: []byte("IQ== 5\n")}, "line 1"},
		{"bad catalogue", emulator.Config{Vocabulary: good, Catalogue: []byte("{}")}, "no model has endpoints"},
		{"bad price", emulator.Config{Vocabulary: good, Catalogue: []byte(`{"data":{"id":"a/b","endpoints":[{"tag":"t","provider_name":"T","pricing":{"prompt":"free"}}]}}`)}, `"free"`},
		{"bad balance", emulator.Config{Vocabulary: good, Balance: "lots"}, `"lots"`},
		{"huge balance", emulator.Config{Vocabulary: good, Balance: "1e30"}, "too large"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := emulator.New(row.config); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

func TestSnapshots(t *testing.T) {
	for _, row := range []struct{ file, model, serves string }{
		{"kimi-k2.5-endpoints-2026-08-22.json", "moonshotai/kimi-k2.5", "moonshotai/kimi-k2.5-0127"},
		{"kimi-k2.5-endpoints-2026-07-04.json", "moonshotai/kimi-k2.5-0127", "moonshotai/kimi-k2.5-0127"},
		{"kimi-family-endpoints-2026-08-22.json", "moonshotai/kimi-k2.6", "moonshotai/kimi-k2.6-"},
		{"openrouter-snapshot-2026-08-22T230119Z.json.gz", "moonshotai/kimi-k2.5", "moonshotai/kimi-k2.5-0127"},
	} {
		t.Run(row.file, func(t *testing.T) {
			path := reference(t, "openrouter", "data", row.file)
			_, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.CataloguePath = path })
			body := strings.Replace(ask("hello", `"provider":{"only":["moonshotai/int4"]},`), "moonshotai/kimi-k2.5", row.model, 1)
			h := chat(t, web, body)
			if h.status != 200 || h.provider != "Moonshot AI" || !strings.HasPrefix(h.model, row.serves) {
				t.Errorf("status %d, provider %q, model %q: %s", h.status, h.provider, h.model, h.failed)
			}
		})
	}
}

func TestModelsComeInPages(t *testing.T) {
	path := reference(t, "openrouter", "data", "openrouter-snapshot-2026-08-22T230119Z.json.gz")
	_, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.CataloguePath = path })
	seen, pages := map[string]bool{}, 0
	for next := "/api/v1/models?limit=100"; next != ""; pages++ {
		var page struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
			Total int `json:"total_count"`
			Links struct {
				Next *string `json:"next"`
			} `json:"links"`
		}
		if err := json.Unmarshal([]byte(get(t, web.URL+next)), &page); err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Data {
			seen[m.ID] = true
		}
		if page.Links.Next == nil {
			if len(seen) != page.Total {
				t.Errorf("%d models of %d", len(seen), page.Total)
			}
			break
		}
		next = *page.Links.Next
	}
	if pages != 4 || !seen["moonshotai/kimi-k2.5"] {
		t.Errorf("%d models after %d links", len(seen), pages)
	}
}

func TestControl(t *testing.T) {
	s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) {
		c.BooksPath = filepath.Join(t.TempDir(), "books.jsonl")
	})
	control := httptest.NewServer(s.Control())
	defer control.Close()
	do := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	chat(t, web, ask("one", pinned))
	if code, text := do("POST", "/knobs", "faults: [{kind: http, status: 503}]"); code != 204 {
		t.Fatalf("knobs: %d %s", code, text)
	}
	if h := chat(t, web, ask("two", pinned)); h.status != 503 {
		t.Errorf("the knob does nothing: %d", h.status)
	}
	if code, text := do("POST", "/knobs", "fautls: []"); code != 400 || !strings.Contains(text, "fautls") {
		t.Errorf("bad knob: %d %s", code, text)
	}
	if _, text := do("GET", "/scenario", ""); !strings.Contains(text, "status: 503") {
		t.Errorf("scenario: %s", text)
	}
	if code, _ := do("POST", "/scenario", "name: fresh"); code != 204 || s.Scenario().Name != "fresh" || len(s.Scenario().Faults) != 0 {
		t.Errorf("scenario: %d, now %+v", code, s.Scenario())
	}
	if code, text := do("POST", "/balance", `{"balance":"0"}`); code != 204 {
		t.Errorf("balance: %d %s", code, text)
	}
	if h := chat(t, web, ask("three", pinned)); h.status != 402 {
		t.Errorf("with no money: %d", h.status)
	}
	_, lines := do("GET", "/books", "")
	books, err := emulator.ReadBooks([]byte(lines))
	if err != nil || len(books) != 3 || books[0].Cost == 0 || books[0].PromptDigest == "" || len(books[0].CompletionIDs) == 0 {
		t.Errorf("books %v: %s", err, lines)
	}
	_, text := do("GET", "/totals", "")
	if want := fmt.Sprintf(`"spend_picodollars":"%d"`, books[0].Cost); !strings.Contains(text, want) || !strings.Contains(text, `"refused":2`) {
		t.Errorf("totals %s, want %s", text, want)
	}
}

func TestBooksFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books.jsonl")
	s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.BooksPath = path })
	for range 3 { // with repeated names, which are legal JSON
		chat(t, web, ask("hello", pinned+`"metadata":{"a":"1","a":"2"},`))
	}
	data, err := os.ReadFile(path) // while the server runs
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := emulator.ReadBooks(data)
	if err != nil || len(onDisk) != 3 {
		t.Fatalf("%d entries on disk: %v", len(onDisk), err)
	}
	for i, e := range s.Books() {
		if e.Cost != onDisk[i].Cost || e.ID != onDisk[i].ID || len(e.CompletionIDs) != len(onDisk[i].CompletionIDs) {
			t.Errorf("entry %d differs from the file's", i)
		}
		if strings.Contains(string(data), "sk-or-v1-test") {
			t.Fatal("the books hold a key")
		}
	}
}

func TestFindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(c *emulator.Config, s *emulator.Scenario) {
			s.Faults = []emulator.Fault{
				{Kind: "rate_limit", RetryAfter: "5", Requests: []int{3}},
				{Kind: "payment", Value: "credits", Requests: []int{7}},
			}
		})
		next := func(item string) {
			send(t, client, ask("hello", pinned+`"max_tokens":5,"metadata":{"item":"`+item+`","attempt":"1"},`))
			time.Sleep(2 * time.Second)
		}
		for _, item := range []string{"a", "b", "c", "c", "a", "d", "e", "f"} {
			next(item)
		}
		f := emulator.Examine(s.Books(), nil)
		if len(f.ChargedTwice) != 1 || f.ChargedTwice[`{"item":"a"}`] != 2 {
			t.Errorf("charged twice: %v, want item a", f.ChargedTwice)
		}
		if len(f.TooSoon) != 2 || f.TooSoon[0] != 4 || f.TooSoon[1] != 5 {
			t.Errorf("too soon: %v, want 4 and 5", f.TooSoon)
		}
		if len(f.AfterStop) != 1 || f.AfterStop[0] != 8 {
			t.Errorf("after stop: %v, want 8", f.AfterStop)
		}
	})
}

// TestChaos plays a patient client against the chaos scenario: with retries it
// gets every prompt done, and the vendor's money adds up.
func TestChaos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			chaos, err := emulator.NamedScenario("chaos")
			if err != nil {
				t.Fatal(err)
			}
			*s = chaos
			s.Text.MedianTokens = 80
		})
		client.Timeout = time.Minute
		done := 0
		for i := range 300 {
			for attempt := range 12 {
				h := send(t, client, ask(fmt.Sprint("prompt ", i), pinned+`"stream":true,`))
				if h.err == nil && h.status == 200 && h.failed == "" && h.finish == "stop" && h.content != "" && h.provider == "AtlasCloud" {
					done++
					break
				}
				time.Sleep(time.Duration(attempt) * time.Second)
			}
		}
		if done != 300 {
			t.Errorf("%d of 300 prompts done", done)
		}
		var sum int64
		for _, e := range s.Books() {
			sum += e.Cost
		}
		totals := s.Totals()
		if share := float64(totals.Requests-totals.Outcomes[emulator.Completed]) / float64(totals.Requests); sum != totals.Spend || share < 0.15 || share > 0.4 {
			t.Errorf("spent %d, entries sum to %d; %.0f %% of requests went wrong: %v", totals.Spend, sum, 100*share, totals.Faults)
		}
	})
}
