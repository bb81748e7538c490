package emulator

import (
	"fmt"
	"time"
)

// account is the customer's money in picodollars. Guarded by Server.mu.
//
// Spending is added when a request ends; what is in flight is not reserved.
// With a balance lag, admission looks at figures that are up to so old.
// Together these let many requests at once overshoot a limit, as in life.
type account struct {
	balance *int64 // bought credits; nil: no end of them
	use     use
}

// use is what has been spent on something, and what admission last saw of it.
type use struct {
	total, day, week, month int64

	rolled time.Time // the moment that day, week and month are right for
	seen   int64
	seenAt time.Time
}

// add books spending at a time.
func (u *use) add(n int64, now time.Time) {
	u.roll(now)
	u.total += n
	u.day += n
	u.week += n
	u.month += n
}

// roll starts new periods. Days, weeks and months begin at midnight UTC, weeks
// on Mondays.
func (u *use) roll(now time.Time) {
	now = now.UTC()
	if now.YearDay() != u.rolled.YearDay() || now.Year() != u.rolled.Year() {
		u.day = 0
	}
	if y, w := now.ISOWeek(); func() bool { y0, w0 := u.rolled.ISOWeek(); return y != y0 || w != w0 }() {
		u.week = 0
	}
	if now.Month() != u.rolled.Month() || now.Year() != u.rolled.Year() {
		u.month = 0
	}
	u.rolled = now
}

// since returns what counts against a limit with this reset rule.
func (u *use) since(reset string, now time.Time) int64 {
	u.roll(now)
	switch reset {
	case "daily":
		return u.day
	case "weekly":
		return u.week
	case "monthly":
		return u.month
	}
	return u.total
}

// look returns what admission sees: figures no older than lag.
func (u *use) look(reset string, now time.Time, lag time.Duration) int64 {
	if u.seenAt.IsZero() || now.Sub(u.seenAt) >= lag {
		u.seen, u.seenAt = u.since(reset, now), now
	}
	return u.seen
}

// picodollars parses an amount of dollars; "" is nil.
func picodollars(amount string) (*int64, error) {
	if amount == "" {
		return nil, nil
	}
	d, err := parseDecimal(amount)
	if err != nil {
		return nil, err
	}
	pico := d.pico()
	if !pico.IsInt64() {
		return nil, fmt.Errorf("amount %s is too large", amount)
	}
	return new(pico.Int64()), nil
}

// funds is what admission believes is left, in picodollars; nil is no bound.
type funds struct {
	account, key *int64
	rule         string // the key limit's reset rule
}

// funds looks at the account and a key. Server.mu is held.
func (s *Server) funds(k *apiKey, now time.Time, lag time.Duration) funds {
	f := funds{rule: k.reset}
	if s.account.balance != nil {
		f.account = new(*s.account.balance - s.account.use.look("", now, lag))
	}
	if k.limit != nil {
		f.key = new(*k.limit - k.use.look(k.reset, now, lag))
	}
	return f
}

// blocked refuses when the key or the account has nothing left.
func (f funds) blocked() *refusal {
	if f.key != nil && *f.key <= 0 {
		return keyLimit(f.rule)
	}
	if f.account != nil && *f.account <= 0 {
		return noCredits()
	}
	return nil
}

func keyLimit(rule string) *refusal {
	return own(403, "key_limit", "Key limit exceeded ("+orElse(rule, "total")+" limit). Manage it using the keys page of your account.",
		fields{"error_type": errorType(403)})
}

func noCredits() *refusal {
	return own(402, "no_credits", "Insufficient credits. Add more on the credits page of your account.",
		fields{"error_type": errorType(402), "limit_source": "openrouter_credits", "remedy_hint": "Add credits to continue."})
}

// tooDear refuses a request whose worst case is more than is left.
func (f funds) tooDear(p price, promptTokens, maxTokens int) *refusal {
	bound, byKey := f.account, false
	if f.key != nil && (bound == nil || *f.key < *bound) {
		bound, byKey = f.key, true
	}
	if bound == nil {
		return nil
	}
	left := pico(*bound)
	prompt := p.prompt.times(promptTokens).plus(p.request)
	if prompt.plus(p.dearest().times(maxTokens)).cmp(left) <= 0 {
		return nil
	}
	return cannotAfford(maxTokens, int(left.minus(prompt).perUnit(p.dearest())), byKey)
}

func cannotAfford(want, afford int, byKey bool) *refusal {
	tail := "To increase, add credits in your account's settings/credits and upgrade to a paid account"
	if byKey {
		tail = "To increase, visit your account's settings/keys and create a key with a higher monthly limit"
	}
	return own(402, "cannot_afford", fmt.Sprintf(
		"This request requires more credits, or fewer max_tokens. You requested up to %d tokens, but can only afford %d. %s",
		want, afford, tail), fields{"provider_name": nil, "error_type": errorType(402)})
}

// spend books a charge to the account and a key. Server.mu is held.
func (s *Server) spend(k *apiKey, n int64, now time.Time) {
	s.account.use.add(n, now)
	k.use.add(n, now)
}

// pico is an amount of picodollars in dollars.
func pico(n int64) decimal {
	d := decimal{scale: picoScale}
	d.n = d.int().SetInt64(n)
	return d
}
