package dispatch_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/limit"
)

// refused is a 400 with some words.
func refused(kind eyrie.ErrorKind, words string) error {
	return &eyrie.Error{Kind: kind, Charged: eyrie.ChargedNo, Class: "400", Err: errors.New(words)}
}

// TestRefusalsAlike has a lane that refuses what others take, or what nobody
// takes, and prompts that are refused for themselves.
func TestRefusalsAlike(t *testing.T) {
	always := func(kind eyrie.ErrorKind) func(string, int) error {
		return func(lane string, _ int) error {
			if lane == "odd" {
				return refused(kind, "top_p: invalid")
			}
			return nil
		}
	}
	for _, row := range []struct {
		name         string
		lanes        []string
		prompts      int
		refuse       func(lane string, prompt int) error
		stop         dispatch.Stop
		rows, gaveUp int
		closed       bool // the first lane
	}{
		{"by one lane of two", []string{"odd", "good"}, 300, always(eyrie.GiveUp), dispatch.Exhausted, 300, 0, true},
		{"by one lane of two, relayed", []string{"odd", "good"}, 300, always(eyrie.Elsewhere), dispatch.Exhausted, 300, 0, true},
		{"by the only lane", []string{"odd"}, 300, always(eyrie.GiveUp), dispatch.Refused, 0, 0, true},
		{"by the only lane, relayed", []string{"odd"}, 300, always(eyrie.Elsewhere), dispatch.Refused, 0, 0, true},
		{"few prompts, and nothing else to do", []string{"odd"}, 19, always(eyrie.GiveUp), dispatch.Exhausted, 0, 19, false},
		{"some prompts among others", []string{"good"}, 300, func(_ string, prompt int) error {
			if prompt%3 == 0 {
				return refused(eyrie.GiveUp, "the prompt is too long")
			}
			return nil
		}, dispatch.Exhausted, 200, 100, false},
		{"every prompt for a reason of its own", []string{"good"}, 300, func(_ string, prompt int) error {
			return refused(eyrie.GiveUp, fmt.Sprintf("the prompt is too long: %d tokens", prompt+9000))
		}, dispatch.Exhausted, 0, 300, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					prompt, err := strconv.Atoi(q.Generation.PromptID)
					if err != nil {
						t.Error(err)
					}
					if err := row.refuse(q.Lane.Tag, prompt); err != nil {
						return &eyrie.Answer{}, time.Second, err
					}
					return good(q, 50), time.Second, nil
				})
				r.cfg.Lanes = nil
				for _, tag := range row.lanes {
					r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane(tag), Engine: r.engine, Limit: limit.Config{Start: 10, Max: 50}})
				}
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", row.prompts)}}
				res := r.run(t)
				set, lane := res.Snapshot.Sets[0], res.Snapshot.Lanes[0]
				if res.Stop != row.stop || set.Rows != row.rows || set.GaveUp != row.gaveUp {
					t.Errorf("stopped: %v %v with %d rows and %d given up; want %v, %d, %d", res.Stop, res.Err, set.Rows, set.GaveUp, row.stop, row.rows, row.gaveUp)
				}
				if (lane.Closed != "") != row.closed {
					t.Errorf("the lane is closed: %q, want %v", lane.Closed, row.closed)
				}
				if row.closed && lane.Attempts > 20+50 {
					t.Errorf("%d attempts before the lane was closed", lane.Attempts)
				}
			})
		})
	}
}
