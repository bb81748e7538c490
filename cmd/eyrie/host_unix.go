//go:build linux || darwin

package main

import "syscall"

// openFiles is how many files the process may have open. The runtime of Go has
// raised the soft limit to the hard one before main began.
func openFiles() (n uint64, known bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return uint64(r.Cur), true
}

// freeSpace is how many bytes may still be written to the file system of a
// folder that exists.
func freeSpace(dir string) (n uint64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
