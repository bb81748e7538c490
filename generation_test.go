package eyrie_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie"
)

func TestWorstCase(t *testing.T) {
	prompt, output := mustPrice(t, "0.0000006"), mustPrice(t, "0.000003")
	for _, tt := range []struct {
		name string
		lane eyrie.Lane
		out  int // the completion that has to be reckoned with
	}{
		{"keeps to max_tokens", eyrie.Lane{MaxOutput: 65_536, Context: 262_144}, 1000},
		{"keeps to max_tokens, unstated", eyrie.Lane{}, 1000},
		{"overruns up to its maximum", eyrie.Lane{Overruns: true, MaxOutput: 65_536, Context: 262_144}, 65_536},
		{"overruns up to its context", eyrie.Lane{Overruns: true, Context: 262_144}, 262_144},
		{"overruns less than is asked for", eyrie.Lane{Overruns: true, MaxOutput: 500}, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.lane
			l.PromptPrice, l.OutputPrice = prompt, output
			want := eyrie.Money(200*600_000 + tt.out*3_000_000)
			if got := l.WorstCase(200, 1000); got != want {
				t.Errorf("WorstCase = %s, want %s", got, want)
			}
		})
	}
	t.Run("cached prompts are not counted on", func(t *testing.T) {
		l := eyrie.Lane{PromptPrice: prompt, OutputPrice: output, CachedPrice: eyrie.Free}
		if got := l.WorstCase(200, 0); got != 200*600_000 {
			t.Errorf("WorstCase = %s", got)
		}
	})
	t.Run("saturates", func(t *testing.T) {
		l := eyrie.Lane{PromptPrice: mustPrice(t, "1e6"), OutputPrice: mustPrice(t, "1e6")}
		if got := l.WorstCase(9, 9); got != eyrie.MaxMoney {
			t.Errorf("WorstCase = %s, want the largest amount", got)
		}
	})
}

func TestCost(t *testing.T) {
	lane := eyrie.Lane{PromptPrice: mustPrice(t, "0.0000006"), OutputPrice: mustPrice(t, "0.000003"), CachedPrice: mustPrice(t, "0.0000001")}
	unstated := lane
	unstated.CachedPrice = eyrie.Price{}
	free := lane
	free.CachedPrice = eyrie.Free
	for _, tt := range []struct {
		name  string
		lane  eyrie.Lane
		usage eyrie.Usage
		want  eyrie.Money
	}{
		{"nothing", lane, eyrie.Usage{}, 0},
		{"prompt and completion", lane, eyrie.Usage{PromptTokens: 100, CompletionTokens: 10}, 100*600_000 + 10*3_000_000},
		{"reasoning is part of the completion", lane, eyrie.Usage{CompletionTokens: 10, ReasoningTokens: 9}, 10 * 3_000_000},
		{"cached at its price", lane, eyrie.Usage{PromptTokens: 100, CachedTokens: 60}, 40*600_000 + 60*100_000},
		{"all cached", lane, eyrie.Usage{PromptTokens: 100, CachedTokens: 100}, 100 * 100_000},
		{"cached without a price is not cheaper", unstated, eyrie.Usage{PromptTokens: 100, CachedTokens: 60}, 100 * 600_000},
		{"cached for nothing", free, eyrie.Usage{PromptTokens: 100, CachedTokens: 60}, 40 * 600_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.lane.Cost(tt.usage); got != tt.want {
				t.Errorf("Cost = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestAnswerGoesThroughItsRecord fills every field of an answer, so that one
// which is added later and forgotten in the record fails here.
func TestAnswerGoesThroughItsRecord(t *testing.T) {
	want := eyrie.Answer{
		ID: "gen-1", Provider: "Atlas", Model: "m", Reasoning: "because", Content: "text",
		ToolCalls:    []eyrie.ToolCall{{ID: "f:0", Name: "f", Arguments: "{}"}},
		FinishReason: eyrie.FinishToolCalls, NativeFinish: "tool_use",
		Usage: eyrie.Usage{Given: true, PromptTokens: 1, CompletionTokens: 2, ReasoningTokens: 3, CachedTokens: 4},
		Cost:  5, CostGiven: true,
		PromptIDs: []int32{6, 7}, CompletionIDs: []int32{8}, FinalFrame: []byte(`{"x": 1}`),
		Logprobs: []eyrie.TokenLogprob{{Token: "t", Bytes: []byte("t"), Logprob: -0.25}},
		Chunks:   9, FirstContent: 10 * time.Millisecond, Elapsed: 11 * time.Millisecond,
	}
	for f, v := range reflect.ValueOf(want).Fields() {
		if v.IsZero() {
			t.Fatalf("this test leaves %s empty", f.Name)
		}
	}
	r := eyrie.EndedRecord{Charged: eyrie.ChargedYes, Cost: want.Cost}
	r.SetAnswer(&want)
	got := r.Answer()
	want.Chunks = 0 // what arrived is kept, in how many pieces is not
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("the answer came back as\n%+v, want\n%+v", *got, want)
	}
}

func TestACostIsGivenUnlessItIsUnknown(t *testing.T) {
	for charged, want := range map[eyrie.Charged]bool{eyrie.ChargedUnknown: false, eyrie.ChargedNo: true, eyrie.ChargedYes: true} {
		r := eyrie.EndedRecord{Charged: charged}
		if got := r.Answer().CostGiven; got != want {
			t.Errorf("charged %s: cost given %v, want %v", charged, got, want)
		}
	}
}

func TestErrorPrintsAsAPath(t *testing.T) {
	cause := errors.New("connection reset")
	for _, tt := range []struct {
		err  eyrie.Error
		want string
	}{
		{eyrie.Error{Op: "openrouter: chat", Subject: "atlas/int4", Err: cause}, "openrouter: chat: atlas/int4: connection reset"},
		{eyrie.Error{Op: "openrouter: chat", Subject: "atlas/int4", Class: "429"}, "openrouter: chat: atlas/int4: 429"},
		{eyrie.Error{Op: "openrouter: key", Err: cause, Hint: "set the key"}, "openrouter: key: connection reset (set the key)"},
		{eyrie.Error{Class: "429", Err: cause}, "connection reset"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestAsErrorFindsTheDecision(t *testing.T) {
	cause := errors.New("connection reset")
	e := &eyrie.Error{Kind: eyrie.Elsewhere, Err: cause}
	got, ok := eyrie.AsError(fmt.Errorf("attempt 3: %w", e))
	if !ok || got != e {
		t.Errorf("AsError = %v, %v", got, ok)
	}
	if !errors.Is(e, cause) {
		t.Error("the cause is not in the chain")
	}
	if _, ok := eyrie.AsError(cause); ok {
		t.Error("a decision was found where there is none")
	}
}

func TestWordsComeBack(t *testing.T) {
	for charged, word := range map[eyrie.Charged]string{eyrie.ChargedUnknown: "unknown", eyrie.ChargedNo: "no", eyrie.ChargedYes: "yes"} {
		var back eyrie.Charged = 99
		roundTrip(t, charged, &back)
		if charged.String() != word || back != charged {
			t.Errorf("charged %s came back as %s", charged, back)
		}
	}
	for i, word := range []string{"engine", "logprobs", "counted", "retokenised", "mismatch"} {
		k := eyrie.AllKnown[i]
		var back eyrie.Known
		roundTrip(t, k, &back)
		if k.String() != word || back != k {
			t.Errorf("known %s came back as %s", k, back)
		}
		if got, want := k.Certified(), i < 3; got != want {
			t.Errorf("%s is certified: %v, want %v", k, got, want)
		}
	}
	for _, bad := range []string{"", "maybe", "Known(0)"} {
		if err := new(eyrie.Charged).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as an answer to whether it was charged", bad)
		}
		if err := new(eyrie.Known).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as a class of ids", bad)
		}
	}
	if eyrie.Known(0).Certified() || eyrie.Known(99).Certified() {
		t.Error("what is no class is certified")
	}
}

func TestNumbersWithoutANamePrintAsNumbers(t *testing.T) {
	for _, v := range []fmt.Stringer{eyrie.ErrorKind(99), eyrie.EventKind(99), eyrie.Known(99), eyrie.Known(0)} {
		if got, want := v.String(), fmt.Sprintf("%s(%d)", reflect.TypeOf(v).Name(), v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for v, want := range map[fmt.Stringer]string{
		eyrie.Again: "again", eyrie.Elsewhere: "elsewhere", eyrie.GiveUp: "give up", eyrie.StopRun: "stop",
		eyrie.Opened: "opened", eyrie.Progress: "progress", eyrie.Ended: "ended",
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestBounds: where the list leaves a doubt, the cost lies between two bounds.
func TestBounds(t *testing.T) {
	lane := eyrie.Lane{
		PromptPrice: mustPrice(t, "0.000004"), OutputPrice: mustPrice(t, "0.00001"), CachedPrice: mustPrice(t, "0.000001"), WritePrice: mustPrice(t, "0.000005"),
		Tiers: []eyrie.Tier{
			{MinPrompt: 1000, PromptPrice: mustPrice(t, "0.000008")},
			{Hours: eyrie.Hours{Start: 22 * time.Hour, End: 2 * time.Hour}, OutputPrice: mustPrice(t, "0.00002")},
		},
	}
	cheap := lane
	cheap.WritePrice = mustPrice(t, "0.000001")
	at := func(clock string) time.Time {
		when, err := time.Parse(time.DateTime, "2026-03-04 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, tt := range []struct {
		name                    string
		lane                    eyrie.Lane
		prompt, cached, written int
		began, ended            string
		least, most, dear       eyrie.Money // in millionths of a dollar
	}{
		{"as listed", lane, 100, 20, 0, "12:00:00", "12:01:00", 80*4 + 20 + 100, 80*4 + 20 + 100, 100*4 + 100*5 + 200},
		{"written", lane, 100, 0, 60, "12:00:00", "12:01:00", 400 + 100, 400 + 300 + 100, 100*4 + 100*5 + 200},
		{"written for less", cheap, 100, 0, 60, "12:00:00", "12:01:00", 40*4 + 60 + 100, 400 + 60 + 100, 100*4 + 100 + 200},
		{"a long prompt", lane, 1000, 0, 0, "12:00:00", "12:01:00", 8000 + 100, 8000 + 100, 8000 + 5000 + 200},
		{"at an hour", lane, 100, 0, 0, "23:00:00", "23:01:00", 400 + 200, 400 + 200, 400 + 500 + 200},
		{"after midnight", lane, 100, 0, 0, "01:59:59", "01:59:59", 400 + 200, 400 + 200, 400 + 500 + 200},
		{"at the end of the hours", lane, 100, 0, 0, "02:00:00", "02:00:00", 400 + 100, 400 + 100, 400 + 500 + 200},
		{"over the end of the hours", lane, 100, 0, 0, "01:59:59", "02:00:01", 400 + 100, 400 + 200, 400 + 500 + 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := eyrie.Usage{PromptTokens: tt.prompt, CachedTokens: tt.cached, CompletionTokens: 10}
			least, most := tt.lane.Bounds(u, tt.written, at(tt.began), at(tt.ended))
			const unit = eyrie.Dollar / 1_000_000
			if least != tt.least*unit || most != tt.most*unit {
				t.Errorf("between %s and %s, want %s and %s", least, most, tt.least*unit, tt.most*unit)
			}
			if worst := tt.lane.WorstCase(tt.prompt, 10); worst != tt.dear*unit || worst < most {
				t.Errorf("at worst %s, want %s", worst, tt.dear*unit)
			}
		})
	}
}
