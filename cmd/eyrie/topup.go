package main

import (
	"math"
	"os"

	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/progress"
)

// A target is met in rows that an export takes. While answers arrive nobody can
// say which these are: what a lane does to its answers, and with it whether
// their ids are certain, is learned from all of them. So a run counts what it
// was billed for, and when its targets seem met it makes the rows, as an export
// would, and goes on for what is missing.

const (
	// topUps is how often a run goes on for missing rows.
	topUps = 4
	// leastCertain is the share of a set's tokens that has to be certain. Where
	// less is, something is wrong with the lane or the model folder, and more
	// money would buy more of the same.
	leastCertain = 0.8
)

// topUp raises the targets of the sets that have too little in rows that an
// export takes, and reports whether there are any.
func (s *session) topUp(root *os.Root, st *progress.State, scr *screen) (bool, error) {
	certain, err := s.certain(root)
	if err != nil {
		return false, err
	}
	raised := false
	for i, d := range s.job.Datasets {
		have, sure := st.Set(d.Name).CompletionTokens, certain[d.Name]
		missing := d.Tokens - s.seeded[i] - sure
		if missing <= 0 || have == 0 {
			continue
		}
		share := float64(sure) / float64(have)
		if share < leastCertain {
			scr.printf("%s: the ids of only %.0f%% of its tokens are certain, so no more is bought for it; eyrie tokens explain %s says why rows are not\n",
				d.Name, 100*share, s.job.File)
			continue
		}
		scr.printf("%s: %s of %s tokens are in rows whose ids are certain; going on for the rest\n", d.Name, short(s.seeded[i]+sure), short(d.Tokens))
		s.targets[i] = s.seeded[i] + have + int64(math.Ceil(float64(missing)/share))
		raised = true
	}
	st.Release() // what was queued and not asked for
	return raised, nil
}

// certain counts the output tokens of each set in rows that an export takes when
// it is asked for nothing else.
func (s *session) certain(root *os.Root) (map[string]int64, error) {
	h, err := harvest.Open(root)
	if err != nil {
		return nil, err
	}
	lanes, err := surveyLanes(h, s.model.rebuilder, h.Lanes())
	if err != nil {
		return nil, err
	}
	tokens := map[string]int64{}
	for _, set := range h.Sets() {
		for it, err := range h.RowsByLane(set, lanes.rebuilder) {
			if err != nil {
				return nil, err
			}
			if it.Err == nil && it.Row.Known.Certified() {
				tokens[set] += int64(it.Record.Usage.CompletionTokens)
			}
		}
	}
	return tokens, nil
}
