package route_test

import (
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

func Example() {
	price := func(s string) eyrie.Price {
		p, err := eyrie.ParsePrice(s)
		if err != nil {
			panic(err)
		}
		return p
	}
	catalogue := []*eyrie.Lane{
		{Tag: "north/int4", Quantization: "int4", PromptPrice: price("0.0000006"), OutputPrice: price("0.0000025")},
		{Tag: "south/fp4", Quantization: "fp4", PromptPrice: price("0.0000004"), OutputPrice: price("0.0000019")},
		{Tag: "west/int4", Quantization: "int4", PromptPrice: price("0.0000005"), OutputPrice: price("0.0000022")},
	}

	// Who may answer?
	var allowed []*eyrie.Lane
	policy := route.Policy{Quantizations: []string{"int4"}}
	for _, v := range policy.Judge(catalogue) {
		if v.Allowed {
			allowed = append(allowed, v.Lane)
		} else {
			fmt.Printf("%s: %s\n", v.Lane.Tag, v.Reason)
		}
	}

	// Who is next? The cheapest lane is full.
	route.ByPrice(allowed)
	var cands []route.Candidate
	for i, l := range allowed {
		cands = append(cands, route.Candidate{Lane: l, Room: i, Hold: l.WorstCase(1000, 4096)})
	}
	i, _ := route.Pick(cands, route.Money{Free: eyrie.Dollar, Share: eyrie.Dollar}, nil)
	fmt.Println(allowed[0].Tag, "is full;", allowed[i].Tag, "is next and holds", cands[i].Hold)

	// Output:
	// south/fp4: quantization fp4 is not among int4
	// west/int4 is full; north/int4 is next and holds $0.01084
}
