package journal_test

import (
	"fmt"
	"log"
	"os"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()

	j, _, err := journal.Open(run, nil)
	if err != nil {
		log.Fatal(err)
	}
	// When Append returns, the answer is on the disk.
	ref, err := j.Append(&eyrie.EndedRecord{Attempt: 1, OK: true, Charged: eyrie.ChargedYes, Cost: 3 * eyrie.Dollar / 1000, Content: "An owl's nest."})
	if err != nil {
		log.Fatal(err)
	}
	if err := j.Close(); err != nil {
		log.Fatal(err)
	}

	// A process that goes on folds what happened, without the text.
	var spent eyrie.Money
	j, _, err = journal.Open(run, func(e journal.Entry) error {
		if r, ok := e.Record.(*eyrie.EndedRecord); ok {
			spent += r.Cost
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer j.Close()
	fmt.Println("spent", spent)

	// The text is read by its place.
	rec, err := journal.ReadAt(run, ref)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.(*eyrie.EndedRecord).Content)
	// Output:
	// spent $0.003
	// An owl's nest.
}
