//go:build !unix

package config

// writable takes every folder for one where files may be made: elsewhere than
// on Unix only trying tells.
func writable(string) bool { return true }
