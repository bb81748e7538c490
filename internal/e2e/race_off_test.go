//go:build !race

package e2e

// raced says that the race detector is at work, which costs a factor of ten.
const raced = false
