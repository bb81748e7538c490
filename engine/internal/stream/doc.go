// Package stream holds what every engine needs to read an answer while it is
// written: the four clocks of an attempt ([Watch]), and a reader that lets text
// gather in the kernel, because a wake-up for every token is what costs
// ([Gatherer], [LowWater]).
package stream
