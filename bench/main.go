// Command bench measures what a stream costs its client: eyrie with everything
// on beside clients that only read.
//
// A server in a process of its own sends paced streams of events as OpenRouter
// does, one event a write. Every client gets the same, in a process of its own,
// whose CPU time and memory the operating system accounts for; the sides take
// turns, so that a busy machine is busy for all of them. Each client counts the
// events and hashes the texts, and a run in which anything is missing counts
// for nothing.
//
// It is a module of its own, so that the clients it compares with are no
// dependencies of eyrie.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	load := newLoad()
	proto := flag.String("proto", "h1", "h1 is HTTP/1.1, h2 is HTTP/2 over TLS")
	rounds := flag.Int("rounds", 3, "how often each client runs")
	only := flag.String("clients", "", "clients to run, with commas; all by default: "+strings.Join(names(), ", "))
	soaked := flag.Int("soak", 0, "instead, make this many short generations with eyrie and say how its memory grows")
	flag.BoolVar(&load.Soak, "soaking", false, "say how memory grows (used by the program itself)")
	client := flag.String("client", "", "be this client (used by the program itself)")
	profile := flag.String("profile", "", "write eyrie's CPU profile to this file, and its memory's, taken halfway, to the same with .heap")
	server := flag.Bool("server", false, "be the server (used by the program itself)")
	flag.Parse()
	switch {
	case *server:
		return serve(load, *proto == "h2")
	case *client != "":
		return beClient(*client, *profile, load)
	}
	if *soaked > 0 {
		soakLoad(load, *soaked)
		load.Soak = true
		*only, *rounds = "eyrie", 1
	}
	if err := checkFiles(load.Streams); err != nil {
		return err
	}
	kinds := names()
	if *only != "" {
		kinds = strings.Split(*only, ",")
		for _, k := range kinds {
			if !slices.Contains(names(), k) {
				return fmt.Errorf("%q is none of %s", k, strings.Join(names(), ", "))
			}
		}
	}
	fmt.Printf("%s: %d requests of %d tokens, %d at once, %.1f tokens a second each\n\n", *proto, load.Requests, load.Tokens, load.Streams, load.Rate)
	results := map[string][]result{}
	for range *rounds {
		for _, k := range kinds {
			r, err := measure(k, *proto, *profile, load)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			results[k] = append(results[k], r)
		}
	}
	print(kinds, results, load)
	return nil
}

// print shows the median of each client's runs, and how it compares.
func print(kinds []string, results map[string][]result, load *load) {
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "client\tCPU-s per 1M events\trange\teyrie is\tuser/sys\tpeak MB\tKB a stream\tconnections\twall s\t%% of a core\tfirst text ms\t\n")
	median := func(k string) result {
		rs := slices.Clone(results[k])
		slices.SortFunc(rs, func(a, b result) int { return int(a.cpu() - b.cpu()) })
		return rs[len(rs)/2]
	}
	million := float64(load.events()) / 1e6
	per := func(d time.Duration) float64 { return d.Seconds() / million }
	for _, k := range kinds {
		m := median(k)
		low, high := m, m
		for _, r := range results[k] {
			if r.cpu() < low.cpu() {
				low = r
			}
			if r.cpu() > high.cpu() {
				high = r
			}
		}
		ratio := ""
		if slices.Contains(kinds, "eyrie") && k != "eyrie" {
			ratio = fmt.Sprintf("1/%.1f", per(m.cpu())/per(median("eyrie").cpu()))
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f–%.2f\t%s\t%.1f/%.1f\t%.0f\t%.1f\t%d\t%.1f\t%.0f\t%.0f\t\n", k, per(m.cpu()), per(low.cpu()), per(high.cpu()), ratio,
			per(m.User), per(m.System), float64(m.RSS)/1e6, float64(m.RSS-m.Idle)/1e3/float64(load.Streams), m.Connections, m.Wall.Seconds(), 100*m.cpu().Seconds()/m.Wall.Seconds(), m.FirstText*1000)
	}
	t.Flush()
	for _, k := range kinds {
		fmt.Printf("\n%s at its greatest, %s", k, median(k).Memory)
	}
	fmt.Printf("\n\nof the KB a stream, %.1f are its text\n", load.text()/1e3)
}
