package dispatch

import (
	"context"
	"errors"
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
	since   int64 // the last attempt before the reading began
}

// readMeter starts reading the account, once, when nothing runs and the bills
// that can be read are read, but money is still held. It reports whether a
// reading is under way.
func (s *scheduler) readMeter() bool {
	if s.meter.running || s.meter.done || s.cfg.Ledger.Unbilled() == 0 || s.ctx.Err() != nil {
		return s.meter.running
	}
	before, known := s.cfg.State.AccountUsage()
	m := s.accountMeter()
	if !known || m == nil {
		s.meter.done = true
		return false
	}
	s.meter.running, s.meter.since = true, s.last
	most := before.Add(s.cfg.Ledger.Spent()).Add(s.cfg.Ledger.Unbilled())
	// A stream that was cut may be written to its end all the same, and is
	// charged only then.
	still := max(s.cfg.BillPatience, s.cfg.State.Slowest())
	s.wg.Go(func() { s.send(readAccount(s.ctx, m, still, most)) })
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

// errShared is why an account does not tell what one run used.
var errShared = errors.New("others use the key")

// restless is how many times as long as it has to stand still an account is
// watched before it is taken for one that others use.
const restless = 10

// readAccount reads the usage until it has stood still for as long as late
// bills are waited for: it lags behind the requests. One that passes the most
// that this run can have used, or never stands still, is used by others too.
func readAccount(ctx context.Context, m Meter, still time.Duration, most eyrie.Money) message {
	var last eyrie.Money
	var since time.Time
	began := time.Now()
	for tries := 0; ; {
		usage, err := m.Usage(ctx)
		now := time.Now()
		switch {
		case err != nil:
			if tries++; tries >= 5 {
				return message{kind: metered, err: err}
			}
		case usage > most || now.Sub(began) > restless*still:
			return message{kind: metered, err: errShared}
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
	s.meter.running = false
	if s.last != s.meter.since {
		return // what was asked meanwhile may not show in it yet
	}
	s.meter.done = true
	if m.err != nil {
		s.cfg.Log.Warn("the account does not tell what unbilled answers cost; what is held for them stays held", "held", s.cfg.Ledger.Unbilled(), "err", m.err)
		return
	}
	before, _ := s.cfg.State.AccountUsage()
	l := s.cfg.Ledger
	rest := m.cost - before - l.Spent()
	if rest < 0 || rest > l.Unbilled() {
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
