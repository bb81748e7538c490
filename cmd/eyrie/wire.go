package main

import (
	"io"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// statusJSON is a line of eyrie run --json and eyrie status --json. The fields
// keep their meaning; new ones may appear. Amounts are dollars as decimal text.
type statusJSON struct {
	State           string         `json:"state"` // running, or how the run ended
	Phase           string         `json:"phase,omitzero"`
	Budget          eyrie.Money    `json:"budget"`
	Spent           eyrie.Money    `json:"spent"`
	InFlight        eyrie.Money    `json:"held_in_flight"`
	Unbilled        eyrie.Money    `json:"held_unbilled"`
	Running         int            `json:"requests_in_flight"`
	Bills           int            `json:"bills_waiting"`
	TokensPerSecond float64        `json:"tokens_per_second"`
	ETASeconds      float64        `json:"eta_seconds,omitzero"`
	Idle            string         `json:"idle,omitzero"`
	Hedges          int            `json:"hedges,omitzero"`     // slow answers asked for once more, in this session
	HedgesWon       int            `json:"hedges_won,omitzero"` // of these, the second copy was faster
	HedgeCost       eyrie.Money    `json:"hedge_cost,omitzero"` // of the copies that lost, at most
	Sets            []setStatus    `json:"datasets"`
	Lanes           []laneStatus   `json:"lanes"`
	Known           map[string]int `json:"known,omitzero"`
}

type setStatus struct {
	Name     string `json:"name"`
	Target   int64  `json:"target_tokens"`
	Have     int64  `json:"output_tokens"`
	Seeded   int64  `json:"seeded_tokens,omitzero"`
	Rows     int    `json:"rows"`
	GaveUp   int    `json:"given_up"`
	Dropped  int    `json:"dropped,omitzero"` // bought, and no rows
	InFlight int    `json:"requests_in_flight"`
	// EndedEarly counts conversations that ended before the data set's did.
	EndedEarly map[eyrie.Break]int `json:"ended_early,omitzero"`
}

type laneStatus struct {
	Name     string         `json:"name"`
	Running  int            `json:"requests_in_flight"`
	Limit    int            `json:"limit,omitzero"`
	Attempts int            `json:"attempts"`
	Rows     int            `json:"rows"`
	Tokens   int64          `json:"output_tokens"`
	Cost     eyrie.Money    `json:"cost"`
	Dropped  int            `json:"dropped,omitzero"` // bought, and no rows
	Failures map[string]int `json:"failures,omitzero"`
	Closed   string         `json:"closed,omitzero"`
	Idle     string         `json:"idle,omitzero"` // why it gets nothing more now
}

func newStatusJSON(state string, s eyrie.Snapshot) *statusJSON {
	out := &statusJSON{
		State: state, Phase: s.Phase, Budget: s.Budget, Spent: s.Spent, InFlight: s.InFlight, Unbilled: s.Unbilled,
		Running: s.Running, Bills: s.Bills, TokensPerSecond: s.TokensPerSecond, ETASeconds: s.ETA.Seconds(), Idle: s.Idle,
		Hedges: s.Hedges, HedgesWon: s.HedgesWon, HedgeCost: s.HedgeCost,
	}
	for _, x := range s.Sets {
		out.Sets = append(out.Sets, setStatus{x.Name, x.Target, x.Have, x.Seeded, x.Rows, x.GaveUp, x.Dropped, x.Running, x.Breaks})
	}
	for _, l := range s.Lanes {
		out.Lanes = append(out.Lanes, laneStatus{l.Name, l.Running, l.Limit, l.Attempts, l.Rows, l.Tokens, l.Cost, l.Dropped, l.Failures, l.Closed, l.Idle})
	}
	return out
}

// printJSON prints one line.
func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// importJSON is a line of eyrie import --json: the account of one FILE.
type importJSON struct {
	dataset.Report `json:",inline"`
	Lost           int     `json:"lost"` // rows of which something is wrong
	LossRate       float64 `json:"loss_rate"`
}
