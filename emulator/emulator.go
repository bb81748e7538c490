package emulator

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
)

// Config is what a server is made of.
type Config struct {
	// Catalogue is the models, endpoints and prices on offer: one model's
	// /endpoints answer, or a full snapshot {"models","providers","endpoints"},
	// gzipped or not. CataloguePath names a file with it instead. Without
	// either there is Kimi-K2.5 at six endpoints.
	Catalogue     []byte
	CataloguePath string

	// Vocabulary is Kimi's tiktoken.model. VocabularyPath names a file with it
	// instead.
	Vocabulary     []byte
	VocabularyPath string

	// Seed decides everything that is drawn.
	Seed uint64

	// Balance and KeyLimit are in dollars; "" is no bound.
	Balance  string
	KeyLimit string

	// Keys are the accepted API keys; none accepts every key.
	Keys []string
	// ManagementKey opens /credits and /keys; it cannot buy completions.
	ManagementKey string

	// Scenario is the vendor's behaviour; nil is [DefaultScenario]. Its lists
	// and maps must not change afterwards.
	Scenario *Scenario

	// BooksPath names a file that the books are appended to, one JSON line a
	// request, written as soon as it has ended. "" keeps them in memory only.
	BooksPath string
}

// Server plays the vendor. It is an http.Handler, safe for concurrent use.
type Server struct {
	config     Config
	vocabulary *bpe.Vocabulary
	start      time.Time
	books      *books
	mux        *http.ServeMux

	mu          sync.Mutex
	catalogue   *catalogue
	drifted     *catalogue // after driftedBy changes; nil: to be made
	driftedBy   int
	scenario    Scenario
	account     account
	keyLimit    *int64             // of keys that are not known yet
	keys        map[string]*apiKey // by secret
	struck      map[int]int        // strikes so far, by place of the fault
	number      int                // chat requests so far
	prompts     map[[sha256.Size]byte]*prompt
	samples     map[sampleKey]int       // completions so far
	lanes       map[string]*lane        // by tag
	generations map[string]*generation  // by id
	prefixSeen  map[prefixKey]time.Time // prompt cache
	kept        map[string]stuck        // by conversation
	answers     map[string]*stored      // response cache
}

type sampleKey struct {
	digest [sha256.Size]byte
	tag    string
}

// prompt is a rendered prompt, shared by all requests that ask it.
type prompt struct {
	digest [sha256.Size]byte
	ids    []bpe.ID
	asked  int // times; guarded by Server.mu
}

// New makes a server. Close it when done.
func New(config Config) (*Server, error) {
	catalogueData, err := defaultCatalogue, error(nil)
	if len(config.Catalogue) > 0 || config.CataloguePath != "" {
		catalogueData, err = load("catalogue", config.Catalogue, config.CataloguePath)
	}
	if err != nil {
		return nil, err
	}
	vocabularyData, err := load("vocabulary", config.Vocabulary, config.VocabularyPath)
	if err != nil {
		return nil, err
	}
	scenario := DefaultScenario()
	if config.Scenario != nil {
		scenario = *config.Scenario
	}
	s := &Server{
		config: config, start: time.Now(), scenario: scenario,
		struck: map[int]int{}, prompts: map[[sha256.Size]byte]*prompt{}, samples: map[sampleKey]int{},
		lanes: map[string]*lane{}, keys: map[string]*apiKey{}, generations: map[string]*generation{},
		prefixSeen: map[prefixKey]time.Time{}, kept: map[string]stuck{}, answers: map[string]*stored{},
	}
	var errs [5]error
	s.catalogue, errs[0] = loadCatalogue(catalogueData)
	if errs[0] != nil {
		errs[0] = fmt.Errorf("catalogue %s: %w", config.CataloguePath, errs[0])
	}
	s.vocabulary, errs[1] = bpe.Read(bytes.NewReader(vocabularyData))
	s.account.balance, errs[2] = picodollars(config.Balance)
	s.keyLimit, errs[3] = picodollars(config.KeyLimit)
	errs[4] = scenario.Validate()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	if s.books, err = openBooks(config.BooksPath); err != nil {
		return nil, fmt.Errorf("emulator: books: %w", err)
	}
	s.mux = s.routes()
	return s, nil
}

func load(what string, data []byte, path string) ([]byte, error) {
	if len(data) > 0 {
		return data, nil
	}
	if path == "" {
		return nil, fmt.Errorf("emulator: no %s given; set its bytes or its path", what)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("emulator: %s: %w", what, err)
	}
	return data, nil
}

// Close closes the books. It reports the first error that writing them met.
// Requests must have ended.
func (s *Server) Close() error { return s.books.close() }

// Scenario returns the behaviour in force.
func (s *Server) Scenario() Scenario {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scenario
}

// SetScenario changes the behaviour for requests that begin from now on. Strike
// limits of faults count anew. The scenario's lists and maps must not change
// afterwards.
func (s *Server) SetScenario(scenario Scenario) error {
	if err := scenario.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenario = scenario
	clear(s.struck)
	s.drifted = nil
	return nil
}

// SetMoney replaces the account's balance and every key's limit, in dollars; ""
// is no bound. What has been spent stays spent.
func (s *Server) SetMoney(balance, keyLimit string) error {
	b, err1 := picodollars(balance)
	l, err2 := picodollars(keyLimit)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.balance, s.keyLimit = b, l
	for _, k := range s.keys {
		k.limit = l
	}
	return nil
}

// rng returns a generator that depends on nothing but the seed and parts.
func (s *Server) rng(parts ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.mix(parts...), s.config.Seed))
}

// mix hashes the seed and parts into one number.
func (s *Server) mix(parts ...uint64) uint64 {
	h := sha256.New()
	var buf [8]byte
	for _, p := range append(parts, s.config.Seed) {
		binary.LittleEndian.PutUint64(buf[:], p)
		h.Write(buf[:])
	}
	return binary.LittleEndian.Uint64(h.Sum(buf[:0]))
}

// Purposes keep draws for different things apart.
const (
	drawCompletion uint64 = iota + 1
	drawFault
	drawRoute
	drawTiming
	drawID
	drawOthers
	drawSeed
)

func hashOf(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.LittleEndian.Uint64(sum[:])
}
