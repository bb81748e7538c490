package main

import (
	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/tokens"
)

// explainJSON is a line of eyrie tokens explain --json. The fields keep their
// meaning; new ones may appear. What is not known is left out.
type explainJSON struct {
	ID       string             `json:"id"`
	Set      string             `json:"set"`
	Key      string             `json:"key"`
	Answer   string             `json:"answer,omitzero"` // the vendor's generation id
	Lane     string             `json:"lane"`
	Finish   eyrie.FinishReason `json:"finish_reason"`
	Class    eyrie.Known        `json:"class"`
	Reason   string             `json:"reason"`
	Kept     string             `json:"not_exported,omitzero"` // why
	Survey   explainSurvey      `json:"survey"`
	Tokens   explainCounts      `json:"tokens"`
	Readings []explainReading   `json:"readings"` // the plain one, then by chance
	Compared []explainCompared  `json:"compared,omitzero"`
}

// explainSurvey is what the lane's answers told about the lane.
type explainSurvey struct {
	Answers int                `json:"answers"`
	Habits  map[string]float64 `json:"habits"` // those that are not the usual
}

type explainCounts struct {
	Prompt     explainCount `json:"prompt"`
	Completion explainCount `json:"completion"`
	Reasoning  explainCount `json:"reasoning"`
}

type explainCount struct {
	Ours   *int `json:"ours,omitzero"`
	Billed *int `json:"billed,omitzero"`
}

type explainReading struct {
	Assumes   []string `json:"assumes"`
	Tokens    int      `json:"tokens"`
	Reasoning int      `json:"reasoning"`
	Fits      bool     `json:"fits"` // the bill
	Chance    float64  `json:"chance"`
}

// explainCompared is a part of the row beside true ids.
type explainCompared struct {
	Part   string `json:"part"`
	With   string `json:"with"`
	Ours   int    `json:"ours"` // how many ids
	Theirs int    `json:"theirs"`
	// At is the first token that differs; it is left out where none does.
	At         *int          `json:"differs_at,omitzero"`
	OurToken   *explainToken `json:"our_token,omitzero"`
	TheirToken *explainToken `json:"their_token,omitzero"`
}

type explainToken struct {
	ID    int32  `json:"id"`
	Bytes []byte `json:"bytes"` // in base64
}

func (x *explainer) line(it *harvest.Item, e *tokens.Explanation, lane *surveyedLane, compared []comparison) *explainJSON {
	out := &explainJSON{
		ID: it.ID(), Set: it.Generation.Set, Key: it.Generation.Key.String(),
		Answer: it.Record.ID, Lane: it.Record.Lane, Finish: it.Record.FinishReason,
		Class: e.Row.Known, Reason: reason(&e.Row),
		Survey:   explainSurvey{lane.answers, map[string]float64{}},
		Tokens:   explainCounts{countOf(e.Prompt), countOf(e.Completion), countOf(e.Reasoning)},
		Readings: []explainReading{},
	}
	if it.Err != nil {
		out.Kept = it.Err.Error()
	}
	for a, share := range lane.habits.Notable() {
		out.Survey.Habits[a.Name()] = share
	}
	for i := range e.Readings {
		rd := &e.Readings[i]
		r := explainReading{[]string{}, rd.Tokens, rd.Reasoning, rd.Fits, rd.Chance}
		for _, a := range rd.Assumed {
			r.Assumes = append(r.Assumes, a.Name())
		}
		out.Readings = append(out.Readings, r)
	}
	for i := range compared {
		out.Compared = append(out.Compared, x.compared(&compared[i]))
	}
	return out
}

func countOf(c tokens.Count) (out explainCount) {
	if c.Ours >= 0 {
		out.Ours = &c.Ours
	}
	if c.Billed >= 0 {
		out.Billed = &c.Billed
	}
	return out
}

func (x *explainer) compared(c *comparison) explainCompared {
	out := explainCompared{Part: c.part, With: c.source, Ours: len(c.ours), Theirs: len(c.truth)}
	if at, differ := c.first(); differ {
		out.At = &at
		out.OurToken, out.TheirToken = x.tokenAt(c.ours, at), x.tokenAt(c.truth, at)
	}
	return out
}

// tokenAt is nil past the end.
func (x *explainer) tokenAt(ids []int32, at int) *explainToken {
	if at >= len(ids) {
		return nil
	}
	b, _ := x.model.tokenizer.Token(ids[at])
	return &explainToken{ids[at], b}
}
