package emulator

import (
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// Control returns the handler that shows the truth and turns the knobs. It is
// meant for a port of its own, which the client under test never sees.
//
//	GET  /books     every entry, one JSON line each
//	GET  /totals    sums over the books
//	GET  /findings  the client's mistakes: see [Examine]
//	GET  /scenario  the behaviour in force, as YAML
//	POST /scenario  YAML or JSON: replaces the behaviour
//	POST /knobs     YAML or JSON: replaces the keys that it mentions
//	POST /balance   {"balance": "12.50", "key_limit": "5"}, "" or absent for no bound
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		for _, e := range s.Books() {
			w.Write(append(mustJSON(e), '\n'))
		}
	})
	mux.HandleFunc("GET /totals", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, mustJSON(s.Totals()))
	})
	mux.HandleFunc("GET /findings", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, mustJSON(Examine(s.Books(), nil)))
	})
	mux.HandleFunc("GET /scenario", func(w http.ResponseWriter, r *http.Request) {
		data, err := yaml.Marshal(s.Scenario())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		w.Write(data)
	})
	mux.HandleFunc("POST /scenario", s.change(func() Scenario { return DefaultScenario() }))
	mux.HandleFunc("POST /knobs", s.change(s.Scenario))
	mux.HandleFunc("POST /balance", s.changeMoney)
	return mux
}

// change patches a scenario and puts it in force.
func (s *Server) change(from func() Scenario) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		scenario, err := from().Patch(data)
		if err == nil {
			err = s.SetScenario(scenario)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) changeMoney(w http.ResponseWriter, r *http.Request) {
	var money struct {
		Balance  string `json:"balance"`
		KeyLimit string `json:"key_limit"`
	}
	err := json.UnmarshalRead(r.Body, &money, json.RejectUnknownMembers(true))
	if err == nil {
		err = s.SetMoney(money.Balance, money.KeyLimit)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
