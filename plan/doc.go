// Package plan makes a forecast from prompts, settings and prices, and says
// which data set work is taken from next. It is pure: it reads nothing and
// spends nothing.
//
// # The forecast
//
// [Make] treats a job as a flow. The lanes stand in order of preference and
// fill up one after the other until the wanted number of requests is in flight,
// or the money for what those requests may cost at the worst is held. Each
// brings output tokens at its speed times its requests. Lanes that cost nothing
// work as long as anything is left to do; lanes that cost money work beside
// them until the work or the budget is at its end, so that all of it is done
// soonest. With a deadline they do no more than what the free ones cannot do in
// that time.
//
// Where answers that the cap cuts off are asked for again, those are paid for at
// the length of the cap beside the ones that come of it: as many as the run had, or
// before it as many as are longer by chance than the cap, given their mean.
//
// What is not known is taken from the priors below, and a forecast says where
// it did so. What a run has measured takes their place: see [Lengths] for why
// the mean of the answers so far is not what the answers to come are like.
package plan

import "time"

// What is taken of a lane whose list of endpoints gives no figures, and of the
// answers of a data set that has none of its own.
const (
	PriorSpeed    = 40.0            // output tokens a second of one answer
	PriorWait     = 2 * time.Second // to its first token
	PriorOutput   = 600.0           // output tokens of an answer
	PriorThinking = 1200.0          // more of them when the model reasons first
	PriorWaste    = 0.01            // what failed attempts cost, as a part of what answers cost
	PriorAgain    = 0.01            // what is bought once more since ids are not certain, as such a part
)
