package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// addProfiles gives every verb hidden flags that write profiles of it.
func addProfiles(root *cobra.Command) {
	var cpu, heap string
	root.PersistentFlags().StringVar(&cpu, "cpuprofile", "", "write a CPU profile to this file")
	root.PersistentFlags().StringVar(&heap, "memprofile", "", "write a heap profile to this file, at the largest heap of the verb's end")
	root.PersistentFlags().MarkHidden("cpuprofile")
	root.PersistentFlags().MarkHidden("memprofile")
	stop := func() error { return nil }
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if cpu == "" {
			return nil
		}
		f, err := os.Create(cpu)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		stop = func() error {
			pprof.StopCPUProfile()
			return f.Close()
		}
		return nil
	}
	cobra.OnFinalize(func() {
		stop()
		if heap == "" {
			return
		}
		if f, err := os.Create(heap); err == nil {
			runtime.GC()
			pprof.WriteHeapProfile(f)
			f.Close()
		}
	})
}
