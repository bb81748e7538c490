// Command bench measures the journal beside the two things that one would do
// without it: a file that is synced after every record, and SQLite. It is a
// module of its own, so that SQLite is no dependency of eyrie.
//
// All stores get the same records, made ahead, in the same run, since disks
// differ from one minute to the next.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	dir := flag.String("dir", "", "where to write; a temporary folder of the system by default")
	answers := flag.Int("answers", 1_000_000, "answers of the run that is reopened; 0 leaves it out")
	records := flag.Int("records", 40_000, "records a store is given when it is pushed; 0 leaves the comparison out")
	producers := flag.Int("producers", 200, "how many wait for the store at once")
	rate := flag.Int("rate", 1000, "records a second when the time to the acknowledgement is measured")
	seconds := flag.Int("seconds", 20, "how long it is")
	flag.Parse()
	tmp, err := os.MkdirTemp(*dir, "bench-journal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	load := newWorkload()

	fmt.Printf("Records of %d bytes on average.\n\n", load.meanSize())
	if *records > 0 {
		if err := rates(tmp, load, *rate, time.Duration(*seconds)*time.Second, *records, *producers); err != nil {
			return err
		}
	}
	if *answers > 0 {
		return reopen(filepath.Join(tmp, "large"), load, *answers)
	}
	return nil
}

// stores are what is measured, ours first.
func stores() []store {
	return []store{
		{"journal", openJournal},
		{"one fsync per record", openPlain},
		{"SQLite, one transaction per record", openSQLite(1)},
		{"SQLite, group commit", openSQLite(1 << 20)},
	}
}

// rates prints how soon and how fast each store acknowledges.
func rates(tmp string, load *workload, rate int, d time.Duration, records, producers int) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "store\tp50 ms\tp99 ms\tmax ms\trecords/s\tMB/s\tdisk/byte\t\n")
	for i, s := range stores() {
		ack, err := paced(filepath.Join(tmp, fmt.Sprintf("ack%d", i)), s, load, rate, d)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n := records
		if i == 1 || i == 2 {
			n = min(n, 8000) // the slow ones
		}
		p, err := pushed(filepath.Join(tmp, fmt.Sprintf("push%d", i)), s, load, n, producers)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.2f\t\n", s.name, ms(ack.p50), ms(ack.p99), ms(ack.max),
			float64(n)/p.took.Seconds(), float64(p.bytes)/1e6/p.took.Seconds(), float64(p.disk)/float64(p.bytes))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Printf("\nTime to the acknowledgement at %d records/s for %v; records/s with %d producers that wait.\n", rate, d, producers)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
