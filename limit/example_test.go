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

	for range 4 {
		for l.Room(now) > 0 {
			l.Start() // and send the request
		}
		l.Accepted(now)
	}
	fmt.Println("after four were taken:", l.Limit(), "of which run", l.Running())

	sent := now
	now = now.Add(time.Second)
	l.Done()
	l.Refused(now, sent, 10*time.Second, 0)
	fmt.Println("after a refusal:", l.Limit(), "room", l.Room(now), "opens in", l.Opens().Sub(now))

	// Output:
	// after four were taken: 8 of which run 7
	// after a refusal: 3 room 0 opens in 10s
}
