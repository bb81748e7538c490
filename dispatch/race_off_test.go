//go:build !race

package dispatch_test

const raced = false
