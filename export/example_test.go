package export_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	rows := func(yield func(*export.Row, error) bool) {
		yield(&export.Row{
			ID:  "q1/t0/s0",
			IDs: eyrie.Row{PromptIDs: []int32{163587, 2482}, CompletionIDs: []int32{6725, 163586}, Known: eyrie.KnownEngine},
		}, nil)
	}
	format, err := export.Lookup("specforge")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := export.Write(root, "chat", "chat", rows, export.Options{Format: format})
	if err != nil {
		fmt.Println(err)
		return
	}
	line, err := os.ReadFile(filepath.Join(dir, "chat", m.Path()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d row, %d of %d tokens supervised\n%s", m.Rows, m.SupervisedTokens, m.Tokens, line)
	// Output:
	// 1 row, 2 of 4 tokens supervised
	// {"id":"q1/t0/s0","input_ids":[163587,2482,6725,163586],"loss_mask":[0,0,1,1]}
}
