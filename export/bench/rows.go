package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
)

// ringRows is how many different rows there are; the rest are these again.
const ringRows = 10_000

type ringRow struct {
	ids    []int32
	prompt int
}

// word is what stands for a token: a word with the blank before it, or a sign.
var word = regexp.MustCompile(`\s?[\pL\pN]+|\s+|[^\s\pL\pN]`)

// ring makes rows of 1,500 ids on average: a walk through the project's own
// text, from any two words to one that followed them somewhere. Such ids
// compress about as much as those of real answers.
func ring() ([]ringRow, error) {
	text, err := corpus(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	next := map[[2]int32][]int32{}
	for i := range len(text) - 2 {
		k := [2]int32{text[i], text[i+1]}
		next[k] = append(next[k], text[i+2])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]ringRow, ringRows)
	for i := range out {
		n := 200 + rng.IntN(2600)
		ids := make([]int32, 0, n)
		at := rng.IntN(len(text) - 2)
		k := [2]int32{text[at], text[at+1]}
		for len(ids) < n {
			follow := next[k]
			if len(follow) == 0 || rng.IntN(400) == 0 {
				at = rng.IntN(len(text) - 2)
				k = [2]int32{text[at], text[at+1]}
				continue
			}
			id := follow[rng.IntN(len(follow))]
			ids = append(ids, id)
			k = [2]int32{k[1], id}
		}
		out[i] = ringRow{ids, n / 4}
	}
	return out, nil
}

// corpus is the text of the project as ids, spread over a large vocabulary.
func corpus(dir string) ([]int32, error) {
	var ids []int32
	known := map[string]int32{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(name); ext != ".go" && ext != ".md" {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, w := range word.FindAllString(string(b), -1) {
			id, ok := known[w]
			if !ok {
				id = int32(int64(len(known)+1) * 48_271 % 163_819)
				known[w] = id
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err == nil && len(ids) < 1000 {
		err = fmt.Errorf("no text below %s: run this in export/bench", dir)
	}
	return ids, err
}

// tokensOf is how many ids so many rows have.
func tokensOf(ring []ringRow, rows int) int64 {
	var all, rest int64
	for i, r := range ring {
		all += int64(len(r.ids))
		if i < rows%len(ring) {
			rest += int64(len(r.ids))
		}
	}
	return all*int64(rows/len(ring)) + rest
}

// save writes a ring for other processes, load reads it.
func save(name string, ring []ringRow) error {
	var b []byte
	for _, r := range ring {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(r.ids)))
		b = binary.LittleEndian.AppendUint32(b, uint32(r.prompt))
		for _, id := range r.ids {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
	}
	return os.WriteFile(name, b, 0o600)
}

func load(name string) ([]ringRow, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var out []ringRow
	for {
		var head [2]uint32
		err := binary.Read(in, binary.LittleEndian, &head)
		if err == io.EOF {
			return out, nil
		}
		ids := make([]int32, head[0])
		if err == nil {
			err = binary.Read(in, binary.LittleEndian, ids)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ringRow{ids, int(head[1])})
	}
}

func rowID(i int) string { return fmt.Sprintf("row-%09d/t0/s0", i) }
