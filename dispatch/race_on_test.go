//go:build race

package dispatch_test

// raced says that the race detector is at work, which costs a factor of ten and
// more in tests that are all synchronisation.
const raced = true
