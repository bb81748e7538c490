package main

import (
	"fmt"
	"syscall"
)

// checkFiles says how to raise the limit of open files where it is below what
// the streams need, each of them a connection. Go itself has raised the soft
// limit to the hard one.
func checkFiles(streams int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return nil // then opening them will say so
	}
	if need := uint64(streams + 100); l.Cur < need {
		return fmt.Errorf("%d streams need %d open files and the limit is %d (hard %d): raise it with `ulimit -n %d`, or lower -streams", streams, need, l.Cur, l.Max, need)
	}
	return nil
}
