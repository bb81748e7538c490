//go:build race

package main

// raced says that the race detector is at work, which costs a factor of ten and
// more in tests that are all synchronisation.
const raced = true
