package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie/internal/config"
)

func (a *app) initCmd() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented job file",
		Long:  "init writes a commented job file to FILE, or to the output when none is named. A file that is there is never overwritten.",
		Example: `  eyrie init job.yaml
  eyrie init --model moonshotai/kimi-k2.6 > job.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text := config.Template(model)
			if len(args) == 0 {
				_, err := a.stdout.Write(text)
				return err
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return &exitError{exitConfig, fmt.Errorf("init: %s is there already; name another file", args[0])}
			}
			if err != nil {
				return err
			}
			if _, err := f.Write(text); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "wrote %s; edit it, then: eyrie plan %s\n", args[0], args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "the model, as author/slug")
	return cmd
}
