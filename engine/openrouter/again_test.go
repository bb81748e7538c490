package openrouter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// state is all that a decoder has made of its frames.
type state struct {
	answer                   eyrie.Answer
	content                  string
	reasoning                [reasoningPlaces]string
	calls                    []callBuffer
	finals                   string
	floor                    tokenFloor
	failed                   *vendorError
	unreached, over, garbled bool
	pipeline, selected       string
	written                  int
	strange                  string
}

func (d *chunkDecoder) state() state {
	s := state{
		answer: *d.answer, content: string(d.content), calls: d.calls, finals: string(d.finals.join()), floor: d.floor, failed: d.failed,
		unreached: d.unreached, over: d.over(), garbled: d.garbled, pipeline: d.pipeline, selected: d.selected, written: d.written, strange: d.strange,
	}
	s.answer.Logprobs = d.tokens.list
	for i, r := range d.reasoning {
		s.reasoning[i] = string(r)
	}
	return s
}

func newTestDecoder(logprobs int) *chunkDecoder {
	d := &chunkDecoder{answer: new(eyrie.Answer), scrub: func(b []byte) []byte { return b }}
	d.tokens.limit = logprobs
	return d
}

// compare decodes frames twice, once with nothing learned from the frame
// before, and wants the same after each of them. It returns how many were read
// again.
func compare(t *testing.T, frames [][]byte, logprobs int) (again int) {
	t.Helper()
	quick, full := newTestDecoder(logprobs), newTestDecoder(logprobs)
	for i, frame := range frames {
		var parts chunk.Parts
		if quick.latest.Match(frame, &parts) {
			again++
		}
		full.latest.Forget()
		got, want := fmt.Sprint(quick.decode(frame)), fmt.Sprint(full.decode(frame))
		if got != want {
			t.Fatalf("frame %d, %q: %s, in full %s", i, frame, got, want)
		}
		if a, b := quick.state(), full.state(); !reflect.DeepEqual(a, b) {
			t.Fatalf("frame %d of %q:\n%+v\nin full\n%+v", i, frames, a, b)
		}
	}
	return again
}

// chunks are shapes of frames as they have been seen, with %s where text is.
var chunks = []string{
	`{"id":"gen-1","model":"a/b","provider":"P","choices":[{"index":0,"delta":{"role":"assistant","content":"%s"},"finish_reason":null,"logprobs":null}]}`,
	`{"id":"gen-1","model":"a/b","provider":"P","choices":[{"index":0,"delta":{"content":"","reasoning":"%[1]s","reasoning_details":[{"type":"reasoning.text","text":"%[1]s","format":"unknown","index":0}]}}]}`,
	`{"id":"gen-1","created":1,"choices":[{"delta":{"reasoning_content":"%[1]s","reasoning":"%[1]s","content":"%[1]s"}}],"usage":null,"error":null}`,
	`{"id":"gen-1","created":2,"choices":[{"delta":{"content":null,"reasoning_details":[{"text":"%[1]s"},{"summary":"%[1]s"}]}}]}`,
	`{"choices":[{"delta":{"content":"%[1]s","content":"%[1]s"}}]}`,
	`{"choices":[{"delta":{"content":"%[1]s"},"message":{"content":"%[1]s"}}]}`,
	`{"choices":[{"index":1,"delta":{"content":"%s"}}],"provider":"Q","model":"c"}`,
	`{"provider":"P","choices":[{"index":1,"delta":{"content":"%s"}}],"model":"c","model":"d","model":""}`,
	`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%s"}}]}}]}`,
	`{"choices":[{"delta":{"content":"%s","tool_calls":[{"function":{"arguments":"1"}}]}}]}`,
	`{"choices":[{"delta":{"content":"%s"},"logprobs":{"content":[{"token":"a","bytes":[97],"logprob":-1}]}}]}`,
	`{"choices":[{"delta":{"content":"%s"},"finish_reason":"stop","native_finish_reason":"eos"}]}`,
	`{"choices":[{"delta":{"content":"%s"},"finish_reason":"","native_finish_reason":"x"}]}`,
	`{"choices":[{"delta":{"content":"%s"}}],"usage":{"prompt_tokens":3,"completion_tokens":4,"cost":0.01}}`,
	`{"choices":[{"delta":{"content":"%s"}}],"openrouter_metadata":{"attempt":0}}`,
	`{"choices":[{"delta":{"content":"%s"}}],"error":{"code":502,"message":"gone"}}`,
	`{"choices":[{"delta":{"content":"%s"},"error":{"code":429}}]}`,
	`{"choices":[{"delta":{"content":"%s"}}]} {"choices":[{"delta":{"content":"%[1]s"}}]}`,
	`{"object":"%s","choices":[{"delta":{"content":"b"}}],"id":"","id":"gen-2"}`,
	`{"choices":[]}`, `null`, `{`, `[]`, `{"choices":[{"delta":{"content":["%s"]}}]}`,
	`{"choices":[{"delta":{"content":"%s","x":"` + strings.Repeat("long ", 250) + `"}}]}`,
}

var texts = []string{" a", "", "b", `\n`, `\"`, `\u4f60`, `\ud83d\ude00`, `\ud83d`, "你", "\xff", "\xe4\xbd", "\x01", `\`, `"`, `\q`, `","content":"x`, `"},"finish_reason":"stop`, strings.Repeat("long ", 300)}

// shuffled makes a stream that mostly repeats itself, as streams do, and here
// and there changes its shape or is torn.
func shuffled(rng *rand.Rand, bytewise bool) (frames [][]byte) {
	usual := chunks[rng.IntN(8)]
	for range 2 + rng.IntN(12) {
		shape, text := usual, texts[rng.IntN(3)]
		if rng.IntN(6) == 0 {
			shape = chunks[rng.IntN(len(chunks))]
		}
		if rng.IntN(4) == 0 {
			text = texts[rng.IntN(len(texts))]
		}
		frame := []byte(strings.NewReplacer("%[1]s", text, "%s", text).Replace(shape))
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
	streams := 8_000
	if testing.Short() {
		streams = 1_000
	}
	rng := rand.New(rand.NewPCG(7, 11))
	again, all := 0, 0
	for n := range streams {
		frames := shuffled(rng, n%2 == 1)
		all += len(frames)
		again += compare(t, frames, rng.IntN(2)*3)
	}
	if again < all/10 {
		t.Errorf("only %d of %d frames were read again: this test sees nothing", again, all)
	}
}

// TestWhatIsReadAgain says which shapes are, so that none is forgotten by
// accident, and none that must not be.
func TestWhatIsReadAgain(t *testing.T) {
	for i, want := range []int{2, 2, 2, 2, 2} {
		a, b := []byte(strings.NewReplacer("%[1]s", " a", "%s", " a").Replace(chunks[i])), []byte(strings.NewReplacer("%[1]s", ` b\n`, "%s", ` b\n`).Replace(chunks[i]))
		if got := compare(t, [][]byte{a, b, a}, 0); got != want {
			t.Errorf("%s: %d of two frames were read again, want %d", a, got, want)
		}
	}
	for _, shape := range chunks[5:] {
		if strings.Contains(shape, `"finish_reason":""`) || strings.Contains(shape, `"x"`) || strings.HasPrefix(shape, `{"object"`) {
			continue
		}
		frame := []byte(strings.NewReplacer("%[1]s", " a", "%s", " a").Replace(shape))
		if got := compare(t, [][]byte{frame, frame, frame}, 9); got != 0 {
			t.Errorf("%s was read again", frame)
		}
	}
}

// FuzzAgain decodes lines as frames.
func FuzzAgain(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		f.Add(bytes.Join(shuffled(rng, n%2 == 1), []byte("\n")), uint8(n%3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, logprobs uint8) {
		compare(t, bytes.Split(stream, []byte("\n")), int(logprobs))
	})
}

// BenchmarkChunk reads a chunk in full and again.
func BenchmarkChunk(b *testing.B) {
	frame := []byte(`{"id":"gen-1769490011-Qx7Zp2Qx7Zp2Qx7Zp2Qx","object":"chat.completion.chunk","created":1769490011,"model":"moonshotai/kimi-k2.5-0127","provider":"AtlasCloud","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":" token","reasoning_details":[{"type":"reasoning.text","text":" token","format":"unknown","index":0}]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}`)
	if !jsontext.Value(frame).IsValid() {
		b.Fatal("the frame is no JSON")
	}
	for _, how := range []string{"full", "again"} {
		b.Run(how, func(b *testing.B) {
			d := newTestDecoder(0)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if how == "full" {
					d.latest.Forget()
				}
				if err := d.decode(frame); err != nil {
					b.Fatal(err)
				}
				if len(d.reasoning[inReasoning]) > 1<<16 {
					d.reasoning = [reasoningPlaces][]byte{d.reasoning[0][:0], d.reasoning[1][:0], d.reasoning[2][:0]}
				}
			}
		})
	}
}
