package emulator

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Entry is the truth about one chat request, written when it has ended.
type Entry struct {
	Seq        int       `json:"seq"`    // place in the books, from 1
	Number     int       `json:"number"` // place among the requests as they came, from 1
	ID         string    `json:"id"`     // generation id
	Began      time.Time `json:"began"`
	Ended      time.Time `json:"ended"`
	Outcome    string    `json:"outcome"`               // see the Outcome constants
	Status     int       `json:"status"`                // of the HTTP response
	Refusal    string    `json:"refusal,omitempty"`     // why, in a word
	RetryAfter string    `json:"retry_after,omitempty"` // as sent
	Faults     []string  `json:"faults,omitempty"`      // kinds that struck

	Model    string   `json:"model"`              // as requested
	Endpoint string   `json:"endpoint,omitempty"` // tag of the endpoint that really served
	Stream   bool     `json:"stream"`
	Thinking bool     `json:"thinking"`
	Dropped  []string `json:"dropped,omitempty"` // parameters that the endpoint does not know

	PromptDigest  string   `json:"prompt_digest,omitempty"` // SHA-256 of the rendered prompt
	Sample        int      `json:"sample"`                  // which sample of that prompt at that endpoint, from 0
	PromptIDs     []uint32 `json:"prompt_ids,omitempty"`
	CompletionIDs []uint32 `json:"completion_ids,omitempty"` // all that was generated
	Canonical     bool     `json:"canonical"`                // the completion splits as the encoder would
	Finish        string   `json:"finish,omitempty"`         // how the model really ended

	SentTokens       int  `json:"sent_tokens"`   // of the completion, over the wire
	PromptTokens     int  `json:"prompt_tokens"` // this and the next three as billed
	CachedTokens     int  `json:"cached_tokens"`
	WrittenTokens    int  `json:"cache_write_tokens,omitzero"`
	CompletionTokens int  `json:"completion_tokens"`
	ReasoningTokens  int  `json:"reasoning_tokens"`
	Billed           bool `json:"billed"`
	Cancelled        bool `json:"cancelled"` // the client left early

	Cost int64 `json:"cost_picodollars,string"` // rounded up

	Body   jsontext.Value      `json:"body,omitempty"`   // the request as it came, if it was JSON
	Header map[string][]string `json:"header,omitempty"` // without Authorization
}

// Outcomes of a request.
const (
	Completed = "completed" // the whole reply was sent
	Refused   = "refused"   // an error instead of a completion
	Broken    = "broken"    // a completion, spoiled or cut on purpose
	Cancelled = "cancelled" // the client left first
)

// Totals sum the books up.
type Totals struct {
	Spend            int64          `json:"spend_picodollars,string"`
	Requests         int            `json:"requests"` // ended
	Outcomes         map[string]int `json:"outcomes"`
	Refusals         map[string]int `json:"refusals"`
	Faults           map[string]int `json:"faults"`
	InFlight         map[string]int `json:"in_flight"`     // by tag
	MaxInFlight      map[string]int `json:"max_in_flight"` // by tag
	NonCanonical     int            `json:"noncanonical"`
	PromptTokens     int64          `json:"prompt_tokens"` // billed
	CompletionTokens int64          `json:"completion_tokens"`
}

// books collect entries, in memory and in a file if there is one.
type books struct {
	mu      sync.Mutex
	entries []*Entry
	file    *os.File // JSON lines, one write each; nil for none
	err     error    // the first that writing the file met
	totals  Totals
}

func openBooks(path string) (*books, error) {
	b := &books{totals: Totals{
		Outcomes: map[string]int{}, Refusals: map[string]int{}, Faults: map[string]int{},
		InFlight: map[string]int{}, MaxInFlight: map[string]int{},
	}}
	if path == "" {
		return b, nil
	}
	var err error
	b.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	return b, err
}

func (b *books) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return b.err
	}
	err := b.file.Close()
	b.file = nil
	if b.err != nil {
		return b.err
	}
	return err
}

// add enters e, which must not change any more.
func (b *books) add(e *Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, e)
	e.Seq = len(b.entries)
	t := &b.totals
	t.Requests++
	t.Spend += e.Cost
	t.Outcomes[e.Outcome]++
	if e.Refusal != "" {
		t.Refusals[e.Refusal]++
	}
	for _, f := range e.Faults {
		t.Faults[f]++
	}
	if len(e.CompletionIDs) > 0 && !e.Canonical {
		t.NonCanonical++
	}
	if e.Billed {
		t.PromptTokens += int64(e.PromptTokens)
		t.CompletionTokens += int64(e.CompletionTokens)
	}
	if b.file != nil {
		if _, err := b.file.Write(append(mustJSON(e), '\n')); err != nil && b.err == nil {
			b.err = err
		}
	}
}

func (b *books) enter(tag string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.InFlight[tag]++
	b.totals.MaxInFlight[tag] = max(b.totals.MaxInFlight[tag], b.totals.InFlight[tag])
}

func (b *books) leave(tag string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.InFlight[tag]--
}

// Books returns the entries so far, in the order in which requests ended.
func (s *Server) Books() []Entry {
	s.books.mu.Lock()
	defer s.books.mu.Unlock()
	list := make([]Entry, len(s.books.entries))
	for i, e := range s.books.entries {
		list[i] = *e
	}
	return list
}

// Totals returns the sums over the books.
func (s *Server) Totals() Totals {
	s.books.mu.Lock()
	defer s.books.mu.Unlock()
	t := s.books.totals
	t.Outcomes, t.Refusals, t.Faults = maps.Clone(t.Outcomes), maps.Clone(t.Refusals), maps.Clone(t.Faults)
	t.InFlight, t.MaxInFlight = maps.Clone(t.InFlight), maps.Clone(t.MaxInFlight)
	return t
}

// ReadBooks reads entries that a server wrote to its books file.
func ReadBooks(data []byte) ([]Entry, error) {
	var list []Entry
	for line := range slices.Values(splitLines(data)) {
		var e Entry
		if err := json.Unmarshal(line, &e, lenient); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
