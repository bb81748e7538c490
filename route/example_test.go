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

	// Who may answer? What the model was trained in, and nothing else.
	labels, native, err := route.Resolve("moonshotai/kimi-k2.5", []string{route.NativeLabel})
	if err != nil {
		panic(err)
	}
	policy := route.Policy{Quantizations: labels, Native: native}
	verdicts := policy.Judge(catalogue)
	for _, v := range verdicts {
		if !v.Allowed {
			fmt.Printf("%s: %s\n", v.Lane.Tag, v.Reason)
		}
	}
	allowed := route.Order(verdicts)

	// Who is next? The cheapest lane is full.
	var cands []route.Candidate
	for i, l := range allowed {
		cands = append(cands, route.Candidate{Lane: l, Room: i, Hold: l.WorstCase(1000, 4096)})
	}
	i, _ := route.Pick(cands, route.Money{Free: eyrie.Dollar, Share: eyrie.Dollar}, nil)
	fmt.Println(allowed[0].Tag, "is full;", allowed[i].Tag, "is next and holds", cands[i].Hold)

	// Output:
	// south/fp4: quantization fp4 rounds the model's own int4 to another format
	// west/int4 is full; north/int4 is next and holds $0.01084
}
