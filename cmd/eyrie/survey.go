package main

import (
	"math"

	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/tokens"
)

// surveySize is how many answers of a lane are surveyed. They pin a share down
// to a third of a per cent, which is less than habits differ by.
const surveySize = 2000

// surveyedLanes are lanes with what their answers told about them.
type surveyedLanes map[string]*surveyedLane

type surveyedLane struct {
	r       *tokens.Rebuilder
	answers int
	habits  tokens.Habits
}

// surveyLanes learns the habits of lanes from a sample of their answers. r
// rebuilds for a lane of which nothing is known.
func surveyLanes(h *harvest.Harvest, r *tokens.Rebuilder, names []string) (surveyedLanes, error) {
	lanes := surveyedLanes{}
	for _, name := range names {
		s := r.Survey()
		err := h.Sample(name, surveySize, func(it *harvest.Item) {
			s.Add(&it.Generation, bool(it.Sampling.Thinking), it.Record.Answer())
		})
		if err != nil {
			return nil, err
		}
		habits := s.Habits()
		lanes[name] = &surveyedLane{r.With(habits), s.Answers(), habits}
	}
	return lanes, nil
}

// rebuilder makes a lane's rows. The lane is one of those that were surveyed.
func (l surveyedLanes) rebuilder(name string) harvest.Rebuilder { return l[name].r }

// surveys are the lanes for a manifest.
func (l surveyedLanes) surveys() map[string]export.Survey {
	out := map[string]export.Survey{}
	for name, lane := range l {
		s := export.Survey{Answers: lane.answers, Habits: map[string]float64{}}
		for a, share := range lane.habits.Notable() {
			s.Habits[a.Name()] = math.Round(share*1e4) / 1e4
		}
		out[name] = s
	}
	return out
}
