package limit_test

import (
	"fmt"
	"time"

	"github.com/eyrie-ai/eyrie/limit"
)

// A small lane takes what it is given at first, then refuses one and asks for
// ten seconds.
func Example() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := limit.New(limit.Config{Start: 4, Cut: 0.5})

	var sent []*limit.Request
	for range 4 {
		sent = append(sent, l.Start()) // and send the request
	}
	now = now.Add(time.Second)
	for _, r := range sent {
		l.Accepted(now, r)
	}
	fmt.Println("after four were taken:", l.Limit(), "of which run", l.Running())

	more := l.Start()
	now = now.Add(time.Second)
	l.End(now, more, limit.Refused, 10*time.Second, 0)
	fmt.Println("after a refusal:", l.Limit(), "room", l.Room(now), "opens in", l.Opens().Sub(now))

	// Output:
	// after four were taken: 6 of which run 4
	// after a refusal: 6 room 0 opens in 10s
}
