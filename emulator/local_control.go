package emulator

import "net/http"

// Control returns the handler that shows and changes the server behind the
// back of its clients:
//
//	GET  /truths  the answers that were sent, with the ids that were written
//	POST /down    it goes away, and cuts off what it was working on
//	POST /up      it comes back
func (l *Local) Control() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /truths", func(w http.ResponseWriter, _ *http.Request) {
		truths := l.Truths()
		out := make([]fields, len(truths))
		for i, t := range truths {
			out[i] = fields{"id": t.ID, "path": t.Path, "prompt_ids": t.PromptIDs, "completion_ids": t.CompletionIDs, "canonical": t.Canonical}
		}
		sendJSON(w, http.StatusOK, out)
	})
	for path, down := range map[string]bool{"POST /down": true, "POST /up": false} {
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			l.SetDown(down)
			w.WriteHeader(http.StatusNoContent)
		})
	}
	return m
}
