package main

import (
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
)

// planJSON is a plan for programs. Money is in dollars, as text; times are in
// seconds.
type planJSON struct {
	Model       string             `json:"model"`
	Budget      eyrie.Money        `json:"budget"`
	Left        eyrie.Money        `json:"left"`
	Affordable  bool               `json:"affordable"`
	ToGo        int64              `json:"to_go"`
	Tokens      int64              `json:"tokens"`
	Bought      int64              `json:"bought"`
	Made        int64              `json:"made"`
	Low         eyrie.Money        `json:"low"`
	Expected    eyrie.Money        `json:"expected"`
	Worst       eyrie.Money        `json:"worst"`
	Fit         string             `json:"fit"`
	InFlight    int                `json:"in_flight"`
	Concurrency int                `json:"concurrency"`
	Binds       plan.Binding       `json:"binds"`
	Exposure    eyrie.Money        `json:"exposure"`
	Hold        string             `json:"hold"`
	Overshoot   eyrie.Money        `json:"overshoot"` // by so much the budget may be passed
	Finish      float64            `json:"finish"`
	Late        float64            `json:"late,omitzero"`
	Sets        []plan.SetForecast `json:"sets"`
	Lanes       []laneJSON         `json:"lanes"`
	Rules       []changeJSON       `json:"rules"`
	WhatIf      []changeJSON       `json:"what_if"`
	Past        []milestone        `json:"forecast_and_fact,omitzero"`
}

// laneJSON is what a lane will do.
type laneJSON struct {
	Lane     string      `json:"lane"`
	Engine   string      `json:"engine"`
	AtOnce   int         `json:"at_once"`
	Hold     eyrie.Money `json:"hold"`
	Speed    float64     `json:"tokens_per_second_each"`
	Source   plan.Source `json:"speed_from"`
	Rate     float64     `json:"tokens_per_second"`
	Tokens   int64       `json:"tokens"`
	Expected eyrie.Money `json:"expected"`
	Works    float64     `json:"works"`
}

// changeJSON is what a forecast would be with one thing changed.
type changeJSON struct {
	What     string      `json:"what"`
	Lanes    int         `json:"lanes,omitzero"`
	Tokens   int64       `json:"tokens"`
	Expected eyrie.Money `json:"expected"`
	InFlight int         `json:"in_flight"`
	Finish   float64     `json:"finish"`
}

func (p *planned) json() *planJSON {
	out := &planJSON{
		Model: p.s.job.Model, Budget: p.s.job.Budget, Left: p.Left, Affordable: p.Affordable(),
		ToGo: p.ToGo, Tokens: p.Tokens, Bought: p.Bought, Made: p.Made, Low: p.Low, Expected: p.Expected, Worst: p.Worst,
		Fit: p.Fit.String(), InFlight: p.InFlight, Concurrency: p.s.job.Concurrency, Binds: p.Binds, Exposure: p.Exposure,
		Finish: seconds(p.Finish), Late: seconds(p.Late), Sets: p.Sets, Past: p.past,
		Hold: p.s.job.Hold, Overshoot: overshoot(p.Forecast),
		Rules: changesJSON(p.rules), WhatIf: changesJSON(p.whatIf),
	}
	for i := range p.Lanes {
		l := &p.Lanes[i]
		out.Lanes = append(out.Lanes, laneJSON{
			Lane: l.Lane.Tag, Engine: l.Lane.Engine, AtOnce: l.AtOnce, Hold: l.Hold, Speed: l.Speed, Source: l.Source,
			Rate: l.Rate, Tokens: l.Tokens, Expected: l.Expected, Works: seconds(l.Works),
		})
	}
	return out
}

func changesJSON(changes []change) []changeJSON {
	out := make([]changeJSON, 0, len(changes))
	for _, c := range changes {
		out = append(out, changeJSON{c.what, c.lanes, c.tokens, c.expected, c.inFlight, seconds(c.finish)})
	}
	return out
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
