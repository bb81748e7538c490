package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// compare decodes frames twice, once with nothing learned from the frame
// before, and wants the same after each of them. It returns how many were read
// again.
func compare(t *testing.T, frames [][]byte) (again int) {
	t.Helper()
	quick, full := newDraft(), newDraft()
	for i, frame := range frames {
		var parts chunk.Parts
		if quick.latest.Match(frame, &parts) {
			again++
		}
		full.latest.Forget()
		got, want := fmt.Sprint(OpenAI(quick, frame)), fmt.Sprint(OpenAI(full, frame))
		if got != want {
			t.Fatalf("frame %d, %q: %s, in full %s", i, frame, got, want)
		}
		if a, b := state(quick), state(full); !reflect.DeepEqual(a, b) {
			t.Fatalf("frame %d of %q:\n%+v\nin full\n%+v", i, frames, a, b)
		}
	}
	return again
}

// state is all that a draft holds but for what it has learned, empty texts and
// none being alike.
func state(d *Draft) any {
	type seen struct {
		answer             eyrie.Answer
		reasoning, content string
		ids, matched       string
		draft              Draft
	}
	s := seen{answer: *d.Answer, reasoning: string(d.reasoning), content: string(d.content), draft: *d}
	s.ids, s.answer.CompletionIDs = fmt.Sprint(d.Answer.CompletionIDs), nil
	if d.Matched != nil {
		s.matched = fmt.Sprint(*d.Matched)
	}
	s.draft.Answer, s.draft.Matched, s.draft.reasoning, s.draft.content, s.draft.latest = nil, nil, nil, nil, chunk.Template{}
	return s
}

// chunks are shapes of frames as they have been seen, with %s where text is and
// %d where ids are.
var chunks = []string{
	`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null,"token_ids":[%d]}]}`,
	`{"id":"c1","choices":[{"index":0,"delta":{"role":null,"content":"%s","reasoning_content":null,"tool_calls":null},"finish_reason":null,"matched_stop":null}],"usage":null}`,
	`{"id":"c1","choices":[{"index":0,"delta":{"reasoning":"%s","reasoning_content":"%s"}}]}`,
	`{"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"","reasoning":"%s"}}]}`,
	`{"id":"c1","choices":[{"index":0,"text":"%s","token_ids":[%d]}],"prompt_token_ids":[1,2]}`,
	`{"id":"c1","choices":[{"index":0,"delta":{"content":"%s"},"response_token_ids":[%d],"stop_reason":null,"matched_stop":5}]}`,
	`{"choices":[{"delta":{"content":"%s"},"text":"%s"}]}`,
	`{"choices":[{"delta":{"content":"%s"},"token_ids":[],"response_token_ids":[%d]}]}`,
	`{"choices":[{"delta":{"content":"%s"},"token_ids":[%d],"response_token_ids":[%d]}]}`,
	`{"choices":[{"delta":{"content":"%s"},"meta_info":{"output_token_logprobs":[[-1,%d,null]]}}]}`,
	`{"choices":[{"delta":{"content":"%s","content":"%s"}}]}`,
	`{"choices":[{"delta":{"content":"%s"},"delta":null}]}`,
	`{"choices":[{"delta":{"content":"%s"}}],"choices":[]}`,
	`{"choices":[{"delta":{"content":"%s"},"message":{"content":"%s"}}]}`,
	`{"choices":[{"index":1,"delta":{"content":"%s"}}]}`,
	`{"choices":[{"delta":{"content":"%s"}},{"index":1,"delta":{"content":"%s"}}]}`,
	`{"choices":[{"delta":{"content":"%s","tool_calls":[{"index":0,"function":{"name":"f","arguments":"%s"}}]}}]}`,
	`{"choices":[{"delta":{"content":"%s"},"finish_reason":"stop","stop_reason":7}]}`,
	`{"choices":[{"delta":{"content":"%s"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
	`{"choices":[{"delta":{"content":"%s"}}],"sglext":{"output_ids":[[%d]]}}`,
	`{"choices":[{"delta":{"content":"%s"}}],"error":{"message":"gone","code":500}}`,
	`{"object":"error","message":"%s"}`,
	`{"choices":[{"delta":{"content":"%s","x":"` + strings.Repeat("long ", 250) + `"}}]}`,
	`{"choices":[]}`, `{}`, `null`, `{`, `[]`, `{"choices":[{"delta":{"content":[%d]}}]}`,
}

// repeated is how many of the shapes, from the first on, are read again.
const repeated = 8

var (
	texts = []string{" a", "b", "", `\n`, `\"`, `\u4f60`, `\ud83d`, "你", "\xff", "\x01", `\`, `"`, `","content":"x`, `"},"finish_reason":"stop`}
	ids   = []string{"1", "2147483647", "5,6", "7, 8", "", "-1", "2147483648", "01", "1.5", "null", "]"}
)

func fill(shape, text, id string) []byte {
	return []byte(strings.NewReplacer("%s", text, "%d", id).Replace(shape))
}

// shuffled makes a stream that mostly repeats itself, as streams do, and here
// and there changes its shape or is torn.
func shuffled(rng *rand.Rand, bytewise bool) (frames [][]byte) {
	usual := chunks[rng.IntN(repeated)]
	for range 2 + rng.IntN(12) {
		shape, text, id := usual, texts[rng.IntN(2)], ids[rng.IntN(3)]
		if rng.IntN(6) == 0 {
			shape = chunks[rng.IntN(len(chunks))]
		}
		if rng.IntN(4) == 0 {
			text, id = texts[rng.IntN(len(texts))], ids[rng.IntN(len(ids))]
		}
		frame := fill(shape, text, id)
		if len(frames) > 0 && rng.IntN(8) == 0 {
			frame = slices.Clone(frames[rng.IntN(len(frames))])
		}
		for bytewise && len(frame) > 0 && rng.IntN(6) == 0 {
			at := rng.IntN(len(frame))
			switch rng.IntN(4) {
			case 0:
				frame[at] = `{}[]",:\0aé`[rng.IntN(12)]
			case 1:
				frame = frame[:at]
			case 2:
				frame = slices.Delete(frame, at, min(len(frame), at+1+rng.IntN(3)))
			case 3:
				frame = slices.Insert(frame, at, frame[at])
			}
		}
		frames = append(frames, frame)
	}
	return frames
}

// TestAFrameReadAgainIsAFrameReadInFull compares some thousands of streams; the
// fuzz test beside it goes on where it stops.
func TestAFrameReadAgainIsAFrameReadInFull(t *testing.T) {
	streams := 6_000
	if testing.Short() {
		streams = 1_000
	}
	rng := rand.New(rand.NewPCG(3, 5))
	again, all := 0, 0
	for n := range streams {
		frames := shuffled(rng, n%2 == 1)
		all += len(frames)
		again += compare(t, frames)
	}
	if again < all/10 {
		t.Errorf("only %d of %d frames were read again: this test sees nothing", again, all)
	}
}

// TestWhatIsReadAgain says which shapes are, so that none is forgotten by
// accident, and none that must not be.
func TestWhatIsReadAgain(t *testing.T) {
	for i, shape := range chunks {
		want := 0
		switch {
		case i < repeated-1:
			want = 2
		case strings.Contains(shape, "%s") && !strings.Contains(shape, `"delta"`), strings.Contains(shape, `"content":[`):
			continue
		}
		frames := [][]byte{fill(shape, " a", "1"), fill(shape, `b\n`, "2,3"), fill(shape, " a", "1")}
		if got := compare(t, frames); got != want {
			t.Errorf("%s: %d were read again, want %d", shape, got, want)
		}
	}
}

// FuzzAgain decodes lines as frames.
func FuzzAgain(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		f.Add(bytes.Join(shuffled(rng, n%2 == 1), []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { compare(t, bytes.Split(stream, []byte("\n"))) })
}

// BenchmarkChunk reads a chunk in full and again.
func BenchmarkChunk(b *testing.B) {
	frame := fill(chunks[0], " token", "12345")
	for _, how := range []string{"full", "again"} {
		b.Run(how, func(b *testing.B) {
			d := newDraft()
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if how == "full" {
					d.latest.Forget()
				}
				if err := OpenAI(d, frame); err != nil {
					b.Fatal(err)
				}
				d.content, d.Answer.CompletionIDs = d.content[:0], d.Answer.CompletionIDs[:0]
			}
		})
	}
}
