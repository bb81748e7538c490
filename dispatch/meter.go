package dispatch

import (
	"context"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// An attempt that the vendor never named has no bill to ask for: the process
// died, or the connection broke, between the request and the first byte of the
// response. What such attempts cost together shows in the account: it is what
// the key has used since before the run, less every charge that is known. That
// holds only when nobody else uses the key, and then the difference cannot pass
// what is held for them; a larger one leaves the holds as they are.

// meterEvery is the pause between two readings of the account.
const meterEvery = 2 * time.Second

// meterState is where the reading of the account stands.
type meterState struct {
	running bool
	done    bool
}

// readMeter starts reading the account, once, when nothing runs and the bills
// that can be read are read, but money is still held. It reports whether a
// reading is under way.
func (s *scheduler) readMeter() bool {
	if s.meter.running || s.meter.done || s.cfg.Ledger.Unbilled() == 0 || s.ctx.Err() != nil {
		return s.meter.running
	}
	_, known := s.cfg.State.AccountUsage()
	m := s.accountMeter()
	if !known || m == nil {
		s.meter.done = true
		return false
	}
	s.meter.running = true
	s.wg.Go(func() { s.send(readAccount(s.ctx, m, s.cfg.BillPatience)) })
	return true
}

func (s *scheduler) accountMeter() Meter {
	for _, l := range s.lanes {
		if m, ok := l.engine.(Meter); ok {
			return m
		}
	}
	return nil
}

// readAccount reads the usage until it has stood still for as long as late
// bills are waited for: it lags behind the requests.
func readAccount(ctx context.Context, m Meter, still time.Duration) message {
	var last eyrie.Money
	var since time.Time
	for tries := 0; ; {
		usage, err := m.Usage(ctx)
		now := time.Now()
		switch {
		case err != nil:
			if tries++; tries >= 5 {
				return message{kind: metered, err: err}
			}
		case since.IsZero() || usage != last:
			last, since = usage, now
		case now.Sub(since) >= still:
			return message{kind: metered, cost: usage}
		}
		select {
		case <-time.After(min(meterEvery, still)):
		case <-ctx.Done():
			return message{kind: metered, err: context.Cause(ctx)}
		}
	}
}

// metered books what the account shows beyond the known charges.
func (s *scheduler) metered(m message) {
	s.meter.running, s.meter.done = false, true
	if m.err != nil {
		s.cfg.Log.Warn("the account could not be read", "err", m.err)
		return
	}
	before, _ := s.cfg.State.AccountUsage()
	l := s.cfg.Ledger
	rest := m.cost - before - l.Spent()
	if rest < 0 || rest > l.Unbilled() || s.running > 0 {
		s.cfg.Log.Warn("the account does not tell what unbilled answers cost; what is held for them stays held",
			"used", m.cost-before, "known", l.Spent(), "held", l.Unbilled())
		return
	}
	var attempts []int64
	for _, b := range l.Bills() {
		attempts = append(attempts, b.Attempt)
	}
	rec := &eyrie.SettledRecord{Attempts: attempts, Cost: rest, Source: "usage of the key"}
	ref, err := s.cfg.Journal.Append(rec)
	if err != nil {
		s.end(Broken, err)
		return
	}
	s.apply(ref, rec)
	l.SettleAll(attempts, rest)
	clear(s.bills.waiting)
}
