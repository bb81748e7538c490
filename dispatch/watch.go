package dispatch

import (
	"cmp"
	"maps"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// rateMeter measures how fast text arrives over the last seconds.
type rateMeter struct {
	at    [40]time.Time
	bytes [40]int64
	n     int
}

// add notes the bytes so far and returns the rate in bytes per second.
func (m *rateMeter) add(now time.Time, bytes int64) float64 {
	i := m.n % len(m.at)
	oldest := 0
	if m.n >= len(m.at) {
		oldest = i
	}
	var rate float64
	if m.n > 0 {
		if d := now.Sub(m.at[oldest]).Seconds(); d > 0 {
			rate = float64(bytes-m.bytes[oldest]) / d
		}
	}
	m.at[i], m.bytes[i] = now, bytes
	m.n++
	return rate
}

// bytesPerToken is the prior before any answer was counted.
const bytesPerToken = 4.0

// publish makes a new snapshot.
func (s *scheduler) publish(now time.Time) {
	l := s.cfg.Ledger
	snap := &eyrie.Snapshot{
		Time: now, Budget: l.Budget(), Spent: l.Spent(), InFlight: l.InFlight(), Unbilled: l.Unbilled(),
		Running: s.running, Bills: len(s.bills.waiting), Idle: s.idle, Phase: s.phase,
		Hedges: s.hedged.started, HedgesWon: s.hedged.won, HedgeCost: s.hedged.spent,
	}
	s.share()
	var missing int64
	for i, st := range s.sets {
		have := s.cfg.State.Set(st.Name)
		snap.Sets = append(snap.Sets, eyrie.SetSnapshot{
			Name: st.Name, Target: st.Target, Have: s.shares[i].Have, Seeded: st.Seeded, Rows: have.Rows,
			GaveUp: have.GaveUp, Dropped: have.Dropped, Running: st.running, Exhausted: st.fed && !st.hasTask(),
			Breaks: s.cfg.State.Breaks(st.Name),
		})
		missing += max(0, st.Target-s.shares[i].Have)
	}
	snap.TokensPerSecond = s.rate.add(now, s.bytes.Load()) / s.bytesPerToken()
	if snap.TokensPerSecond > 1 {
		snap.ETA = time.Duration(float64(missing) / snap.TokensPerSecond * float64(time.Second))
	}
	s.publishLanes(snap, now)
	s.snapshot.Store(snap)
}

func (s *scheduler) publishLanes(snap *eyrie.Snapshot, now time.Time) {
	facts := map[string]eyrie.LaneSnapshot{}
	for _, f := range s.cfg.State.Lanes() {
		facts[f.Name] = eyrie.LaneSnapshot{
			Name: f.Name, Attempts: f.Attempts, Rows: f.Rows, Dropped: f.Dropped, Tokens: f.CompletionTokens, Cost: f.Cost,
			Failures: maps.Clone(f.Failures),
		}
	}
	for _, l := range s.lanes {
		f := facts[l.Tag]
		f.Name, f.Running, f.Limit, f.Closed = l.Tag, l.limiter.Running(), l.most(), cmp.Or(l.closed, l.away())
		f.OpensIn = max(0, l.limiter.Opens().Sub(now))
		f.Idle = s.whyIdle(l, now)
		snap.Lanes = append(snap.Lanes, f)
	}
}
