package openrouter_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// streamOf says the same piece of content n times, several in a frame.
func streamOf(piece string, n int) string {
	const batch = 50
	var b strings.Builder
	b.WriteString(delta(thinks))
	for n > 0 {
		k := min(n, batch)
		text, err := json.Marshal(strings.Repeat(piece, k))
		if err != nil {
			panic(err)
		}
		b.WriteString(delta(`"content":` + string(text)))
		n -= k
	}
	return b.String()
}

// TestOverrunIsCut hangs up on answers of 25 times max_tokens, in prose of
// several scripts, before all of it has come (P50).
func TestOverrunIsCut(t *testing.T) {
	for _, row := range []struct {
		name, piece string
		tokens      float64 // of one piece, as vocabularies go
		most        float64 // times max_tokens
	}{
		{"English", "The sky is blue because air scatters short waves most. ", 11, 5},
		{"code", "for i := range lines { total += len(lines[i]) }\n", 15, 5},
		{"French", "Le ciel est bleu parce que l'air diffuse surtout les ondes très courtes. ", 17, 5},
		{"numbers", "17 4 2026 365 ", 8, 5},
		{"Chinese", "天空是蓝色的，因为空气对短波的散射最强。", 13, 16},
		{"Thai", "ท้องฟ้าเป็นสีฟ้าเพราะอากาศกระเจิงคลื่นสั้นได้มากที่สุด", 30, 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			const maxTokens = 1000
			n := int(25 * maxTokens / row.tokens)
			h := play(t, 200, asStream, streamOf(row.piece, n)+finish("stop", "")+billed()+done, func(r *eyrie.Request) { r.Sampling.MaxTokens = maxTokens })
			if h.class() != openrouter.ClassOverrun || h.kind() != elsewhere || h.charged() != unknown {
				t.Fatalf("%v, charged %v", h.err, h.charged())
			}
			kept := float64(strings.Count(h.Content, row.piece)) * row.tokens
			if kept > row.most*maxTokens {
				t.Errorf("cut only after %.1f times max_tokens, want %.0f", kept/maxTokens, row.most)
			}
		})
	}
}

// TestHonestIsNotCut has a model write max_tokens of whatever tokens look most
// like an overrun: of many words, of many bytes, or both.
func TestHonestIsNotCut(t *testing.T) {
	const maxTokens = 600
	honest := func(t *testing.T, token string) {
		t.Helper()
		h := play(t, 200, asStream, streamOf(token, maxTokens)+finish("length", "")+
			frame(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":%d}`, maxTokens))+done,
			func(r *eyrie.Request) { r.Sampling.MaxTokens = maxTokens })
		if h.err != nil || h.Content != strings.Repeat(token, maxTokens) {
			t.Errorf("%d times %q: %v", maxTokens, token, h.err)
		}
	}
	for _, token := range []string{" the", " don't", " it's", "'s", "如您发现自己的词条内容不准确或不完善", "────────────────", strings.Repeat(" ", 128), strings.Repeat("=", 64), "👨‍👩‍👧‍👦", "\n\n", "1", "-"} {
		honest(t, token)
	}

	t.Run("vocabulary", func(t *testing.T) {
		for _, token := range extremes(t) {
			honest(t, token)
		}
	})
}

// extremes picks, from a real vocabulary, the tokens with the most words, the
// most bytes, and the most bytes outside ASCII.
func extremes(t *testing.T) []string {
	words := func(b []byte) int {
		return len(bytes.FieldsFunc(b, func(r rune) bool {
			return r < 0x80 && r != '\'' && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
		}))
	}
	wide := func(b []byte) (n int) {
		for _, c := range b {
			if c >= 0x80 {
				n++
			}
		}
		return n
	}
	var all [][]byte
	for s := bufio.NewScanner(reference(t, "models", "kimi-k2.5", "tiktoken.model")); s.Scan(); {
		word, _, _ := strings.Cut(s.Text(), " ")
		b, err := base64.StdEncoding.DecodeString(word)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.ToValidUTF8(b, nil))
	}
	var picked []string
	for _, measure := range []func([]byte) int{words, wide, func(b []byte) int { return len(b) }} {
		slices.SortStableFunc(all, func(a, b []byte) int { return measure(b) - measure(a) })
		for _, b := range all[:25] {
			picked = append(picked, string(b))
		}
	}
	return picked
}
