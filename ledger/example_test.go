package ledger_test

import (
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/ledger"
)

// Three attempts on a budget of a dollar: one is billed, one is cut off and
// billed later, and for the third there is no room until then.
func Example() {
	const cent = eyrie.Dollar / 100
	l := ledger.New(eyrie.Dollar)

	fmt.Println(l.Reserve(1, 40*cent), l.Reserve(2, 50*cent), l.Reserve(3, 40*cent))
	l.Settle(1, 25*cent)

	l.Seen(2, "gen-abc")
	bill := l.Unknown(2) // its stream was cut: it may have cost all that is held
	fmt.Println("spent", l.Spent(), "unbilled", l.Unbilled(), "free", l.Free())

	l.Settle(bill.Attempt, 10*cent) // the vendor's bill for gen-abc
	fmt.Println("spent", l.Spent(), "unbilled", l.Unbilled(), "free", l.Free(), l.Reserve(3, 40*cent))

	// Output:
	// true true false
	// spent $0.25 unbilled $0.50 free $0.25
	// spent $0.35 unbilled $0.00 free $0.65 true
}
