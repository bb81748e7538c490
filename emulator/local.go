package emulator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
)

// The inference servers that a [Local] plays.
const (
	SGLang   = "sglang"
	VLLM     = "vllm"
	LlamaCPP = "openai" // llama.cpp's server, which stands for any with OpenAI's API
)

// LocalConfig is what an inference server is made of.
type LocalConfig struct {
	Kind string // SGLang, VLLM or LlamaCPP

	// Vocabulary is Kimi's tiktoken.model. VocabularyPath names a file with it
	// instead.
	Vocabulary     []byte
	VocabularyPath string
	// Seed decides everything that is drawn.
	Seed uint64

	Model   string // the name it serves the model under; "moonshotai/Kimi-K2.5"
	Context int    // tokens of prompt and completion together; 262144
	Key     string // it wants this key; none wants none
	Text    Text   // the shape of answers; that of [DefaultScenario]

	// Slots is how many requests it works on at once, 64; the others wait.
	Slots int
	// Cache is how many tokens its memory holds, and with that how many requests
	// it can work on; 0 is no bound.
	Cache int
	// Rate is how many tokens a second one request gets, and Throughput how many
	// all of them get together; 0 is no bound.
	Rate, Throughput float64
	// ChunkTokens is how many tokens come in an event; 4.
	ChunkTokens int

	// Lacks names what this version does not have: "return_token_ids",
	// "meta_info", "output_ids", "metrics", "tokenize", "server_info",
	// "reasoning_parser", "tool_parser".
	Lacks []string
	// Quirks names what this version does: "trim_stop" leaves the id that ended
	// the answer out of the ids, "lose_ids" leaves ids out of streams,
	// "strip_reasoning" strips white space, "other_tokenizer" tokenizes
	// differently, "hang" takes requests and answers none.
	Quirks []string
}

// localLacks and localQuirks are the words that a LocalConfig may use.
var (
	localLacks  = []string{"return_token_ids", "meta_info", "output_ids", "metrics", "tokenize", "server_info", "reasoning_parser", "tool_parser"}
	localQuirks = []string{"trim_stop", "lose_ids", "strip_reasoning", "other_tokenizer", "hang"}
)

// Local plays one inference server of one's own: SGLang, vLLM or llama.cpp's. It
// is an http.Handler, safe for concurrent use. It answers with Kimi-K2.5's ids
// as the vendor of a [Server] does, at the pace that its load allows.
type Local struct {
	config     LocalConfig
	vocabulary *bpe.Vocabulary
	mux        *http.ServeMux

	mu      sync.Mutex
	queue   []*localJob // that wait for a slot, first come first served
	running map[*localJob]struct{}
	cached  int // tokens of the requests that it works on
	written int64
	answers int
	asked   map[[sha256.Size]byte]int // by prompt
	down    bool
	stopped chan struct{} // closed when it goes down
	truths  []LocalAnswer
}

// LocalAnswer is the truth about one answer that was sent to its end.
type LocalAnswer struct {
	ID            string
	Path          string
	PromptIDs     []int32
	CompletionIDs []int32
	Canonical     bool
}

// NewLocal makes a server.
func NewLocal(config LocalConfig) (*Local, error) {
	var errs []error
	if !slices.Contains([]string{SGLang, VLLM, LlamaCPP}, config.Kind) {
		errs = append(errs, fmt.Errorf("kind %q, must be one of %s, %s, %s", config.Kind, SGLang, VLLM, LlamaCPP))
	}
	for _, w := range config.Lacks {
		if !slices.Contains(localLacks, w) {
			errs = append(errs, fmt.Errorf("lacks %q, must be one of %s", w, strings.Join(localLacks, ", ")))
		}
	}
	for _, w := range config.Quirks {
		if !slices.Contains(localQuirks, w) {
			errs = append(errs, fmt.Errorf("quirk %q, must be one of %s", w, strings.Join(localQuirks, ", ")))
		}
	}
	if config.Rate < 0 || config.Throughput < 0 || config.Slots < 0 || config.Cache < 0 || config.Context < 0 {
		errs = append(errs, errors.New("rate, throughput, slots, cache and context must be 0 or more"))
	}
	config.Model = orElse(config.Model, "moonshotai/Kimi-K2.5")
	config.Context = orElse(config.Context, 262_144)
	config.Slots = orElse(config.Slots, 64)
	config.ChunkTokens = orElse(config.ChunkTokens, 4)
	config.Text = orElse(config.Text, DefaultScenario().Text)
	data, err := load("vocabulary", config.Vocabulary, config.VocabularyPath)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	l := &Local{config: config, running: map[*localJob]struct{}{}, asked: map[[sha256.Size]byte]int{}, stopped: make(chan struct{})}
	if l.vocabulary, err = bpe.Read(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	l.mux = l.routes()
	return l, nil
}

func (l *Local) lacks(what string) bool { return slices.Contains(l.config.Lacks, what) }
func (l *Local) quirk(what string) bool { return slices.Contains(l.config.Quirks, what) }

// routes are the addresses that the server has.
func (l *Local) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", l.models)
	m.HandleFunc("POST /v1/chat/completions", l.chat)
	m.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if !l.lacks("metrics") {
		m.HandleFunc("GET /metrics", l.metrics)
	}
	if !l.lacks("tokenize") {
		m.HandleFunc("POST /tokenize", l.tokenize)
	}
	switch l.config.Kind {
	case SGLang:
		m.HandleFunc("POST /generate", l.generate)
		m.HandleFunc("POST /v1/completions", l.completions)
		m.HandleFunc("GET /get_model_info", l.modelInfo)
		if !l.lacks("server_info") {
			m.HandleFunc("GET /get_server_info", l.serverInfo)
			m.HandleFunc("GET /server_info", l.serverInfo)
		}
	case VLLM:
		m.HandleFunc("POST /v1/completions", l.completions)
		m.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, http.StatusOK, fields{"version": "0.11.0"}) })
	case LlamaCPP:
		m.HandleFunc("GET /props", l.props)
	}
	return m
}

// ServeHTTP answers a request, or drops the connection while the server is
// down.
func (l *Local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	if l.config.Key != "" && r.Header.Get("Authorization") != "Bearer "+l.config.Key && r.URL.Path != "/health" {
		l.refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	l.mux.ServeHTTP(w, r)
}

// SetDown has the server go away, cutting off every answer that is under way,
// or come back with its counters at zero.
func (l *Local) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if down == l.down {
		return
	}
	l.down = down
	if down {
		close(l.stopped)
		return
	}
	l.stopped = make(chan struct{})
	l.written = 0
}

// SetModel has the server serve the model under another name, as a server that
// was started with another model does.
func (l *Local) SetModel(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config.Model = name
}

// SetSpeed changes the pace of every answer from now on.
func (l *Local) SetSpeed(rate, throughput float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config.Rate, l.config.Throughput = rate, throughput
}

// Truths returns the answers that were sent to their end.
func (l *Local) Truths() []LocalAnswer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.truths)
}

// Busy returns how many requests it works on and how many wait.
func (l *Local) Busy() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.running), len(l.queue)
}

func (l *Local) model() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.config.Model
}

// compose has the model write an answer to a prompt. The same prompt gets
// another sample each time, the same ones in every run.
func (l *Local) compose(prompt []bpe.ID, tools []tool, thinking bool, limit int) *completion {
	raw := make([]byte, 0, 4*len(prompt))
	for _, id := range prompt {
		raw = append(raw, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	digest := sha256.Sum256(raw)
	l.mu.Lock()
	sample := l.asked[digest]
	l.asked[digest]++
	l.mu.Unlock()
	calls := 0
	for _, id := range prompt {
		if id == l.vocabulary.Tools().CallBegin {
			calls++
		}
	}
	h := sha256.Sum256(fmt.Appendf(digest[:], "%d %d", sample, l.config.Seed))
	rng := rand.New(rand.NewPCG(littleEndian(h[:8]), littleEndian(h[8:16])))
	return complete(order{
		thinking: thinking, limit: limit, tools: tools, firstCall: calls, parallel: true, vocabulary: l.vocabulary, text: l.config.Text,
	}, rng)
}

func littleEndian(b []byte) (n uint64) {
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	return n
}

// render is the prompt of a chat request as the server's template prints it.
func (l *Local) render(q *chatRequest, thinking bool) []bpe.ID {
	text := kimi.Render(q.conversation(false), q.tools, kimi.Options{NoThinking: !thinking})
	return l.vocabulary.EncodePrompt(nil, text)
}

// refuse answers with an error in the form of the server's kind.
func (l *Local) refuse(w http.ResponseWriter, status int, message string) {
	sendJSON(w, status, l.errorBody(status, message))
}

func (l *Local) errorBody(status int, message string) fields {
	switch {
	case l.config.Kind == SGLang:
		return fields{"object": "error", "message": message, "type": http.StatusText(status), "param": nil, "code": status}
	case status == http.StatusUnauthorized:
		return fields{"error": "Unauthorized"}
	}
	return fields{"error": fields{"message": message, "type": http.StatusText(status), "param": nil, "code": status}}
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(mustJSON(v))
}
