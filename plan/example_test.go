package plan_test

import (
	"fmt"

	"github.com/eyrie-ai/eyrie/plan"
)

// Two sets, one with twice the target: work goes where the larger part lacks.
func ExampleFit_Next() {
	sets := []plan.Share{{Target: 2000}, {Target: 1000}}
	for range 6 {
		i := plan.FitProportion.Next(sets, func(int) bool { return true })
		sets[i].Have += 400
		fmt.Printf("set %d: %d of 2000, %d of 1000\n", i, sets[0].Have, sets[1].Have)
	}

	// Output:
	// set 0: 400 of 2000, 0 of 1000
	// set 1: 400 of 2000, 400 of 1000
	// set 0: 800 of 2000, 400 of 1000
	// set 0: 1200 of 2000, 400 of 1000
	// set 1: 1200 of 2000, 800 of 1000
	// set 0: 1600 of 2000, 800 of 1000
}
