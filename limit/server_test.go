package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/limit"
)

// gpu is a server in numbers: it works on so many at once, and its tokens a
// second grow with them up to a bound.
type gpu struct {
	slots  int
	each   float64 // tokens a second of one request
	bound  float64 // of all together; 0 is none
	blind  bool    // it shows nothing; the rate is our own count
	others int     // requests of somebody else
}

// load is what it says with so many requests of ours.
func (g gpu) load(mine int) limit.Load {
	running := min(mine+g.others, g.slots)
	rate := g.rate(running)
	if g.blind {
		return limit.Load{Running: -1, Waiting: -1, Cache: -1, Rate: rate}
	}
	return limit.Load{Running: running, Waiting: mine + g.others - running, Cache: float64(running) / float64(g.slots) * 0.5, Rate: rate}
}

func (g gpu) rate(running int) float64 {
	rate := g.each * float64(running)
	if g.bound > 0 {
		rate = min(rate, g.bound)
	}
	return rate
}

// settle drives a limit against the server for a while, with more work than it
// can do, and returns how much of it was out at the end and of the best rate
// that was reached.
func settle(s *limit.Server, g gpu, seconds int) (mine int, share float64) {
	now := time.Unix(1_767_225_600, 0)
	for range seconds {
		now = now.Add(time.Second)
		mine = s.Limit()
		s.Observe(now, g.load(mine), mine)
	}
	mine = s.Limit()
	best := g.rate(g.slots)
	return mine, g.rate(min(mine+g.others, g.slots)) / best
}

func TestServerFindsItsLimit(t *testing.T) {
	for _, row := range []struct {
		name      string
		gpu       gpu
		most      int
		low, high int // where the limit has to be
		share     float64
	}{
		{"slots and no queue beyond a few", gpu{slots: 256, each: 20}, 2000, 256, 340, 1},
		{"few slots", gpu{slots: 4, each: 30}, 2000, 4, 6, 1},
		{"one slot", gpu{slots: 1, each: 30}, 2000, 1, 3, 1},
		{"more at once brings nothing", gpu{slots: 4000, each: 20, bound: 2000}, 2000, 100, 160, 1},
		{"as many as the job allows", gpu{slots: 4000, each: 20}, 300, 300, 300, 0},
		{"others use it too", gpu{slots: 256, each: 20, others: 200}, 2000, 50, 140, 1},
		{"it shows nothing", gpu{slots: 4000, each: 20, bound: 2000, blind: true}, 2000, 100, 160, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			mine, share := settle(limit.NewServer(0, row.most), row.gpu, 600)
			if mine < row.low || mine > row.high || share < row.share-0.01 {
				t.Errorf("limit %d, want %d to %d; %.0f%% of the best rate, want %.0f%%", mine, row.low, row.high, 100*share, 100*row.share)
			}
		})
	}
}

// A server that gets slower or faster is followed.
func TestServerFollowsAChange(t *testing.T) {
	s := limit.NewServer(0, 2000)
	settle(s, gpu{slots: 256, each: 20}, 120)
	if mine, _ := settle(s, gpu{slots: 32, each: 20}, 60); mine > 45 {
		t.Errorf("it works on 32 at once and gets %d", mine)
	}
	if mine, share := settle(s, gpu{slots: 256, each: 20}, 180); share < 0.99 {
		t.Errorf("it works on 256 at once again and gets %d", mine)
	}
}

func TestServerIsQuick(t *testing.T) {
	mine, share := settle(limit.NewServer(0, 2000), gpu{slots: 512, each: 20}, 60)
	if share < 0.95 {
		t.Errorf("after a minute %d are out, which gets %.0f%%", mine, 100*share)
	}
}

func TestServerDoesNotGrowUnused(t *testing.T) {
	s := limit.NewServer(10, 2000)
	now := time.Unix(1_767_225_600, 0)
	for range 300 {
		now = now.Add(time.Second)
		s.Observe(now, limit.Load{Running: 3, Rate: 60}, 3)
	}
	if s.Limit() != 10 {
		t.Errorf("three are out and the limit went from 10 to %d", s.Limit())
	}
}

func TestServerWithAFullMemoryDoesNotGrow(t *testing.T) {
	s := limit.NewServer(10, 2000)
	now := time.Unix(1_767_225_600, 0)
	for range 300 {
		now = now.Add(time.Second)
		s.Observe(now, limit.Load{Running: s.Limit(), Cache: 0.97, Rate: 20 * float64(s.Limit())}, s.Limit())
	}
	if s.Limit() != 10 {
		t.Errorf("the memory is full and the limit went from 10 to %d", s.Limit())
	}
}

func TestServerLimitIsNeverLessThanOne(t *testing.T) {
	s := limit.NewServer(0, 0)
	s.Observe(time.Unix(1, 0), limit.Load{Running: 0, Waiting: 500}, 1)
	if s.Limit() != 1 {
		t.Errorf("limit %d", s.Limit())
	}
}

func ExampleServer() {
	s := limit.NewServer(8, 100)
	now := time.Unix(1_767_225_600, 0)
	for range 60 {
		now = now.Add(time.Second)
		mine := s.Limit()
		running := min(mine, 16) // it works on sixteen at once
		s.Observe(now, limit.Load{Running: running, Waiting: mine - running, Cache: 0.4, Rate: 50 * float64(running)}, mine)
	}
	fmt.Println(s.Limit())
	// Output: 19
}
