package emulator

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
)

// wantsLogprobs reports whether the reply names its tokens one by one.
func (x *exchange) wantsLogprobs() bool {
	return x.q.Logprobs && x.endpoint.supports("logprobs") && x.variant("logprobs") != "null"
}

// appendLogprobs appends the value of a choice's logprobs: the tokens that have
// not been named yet, up to so many of the completion; null where there are
// none. Control tokens are named like any other, by their literals.
func (x *exchange) appendLogprobs(dst []byte, upTo int) []byte {
	if !x.wantsLogprobs() || upTo <= x.named {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"content":[`...)
	first := true
	for i := x.named; i < upTo; i++ {
		if !x.names(i) {
			continue
		}
		token := x.vocabulary.Token(x.c.ids[i])
		if x.variant("logprobs") == "merged" && i%2 == 0 && i+1 < upTo && x.c.parts[i+1] == x.c.parts[i] {
			i++
			token = slices.Concat(token, x.vocabulary.Token(x.c.ids[i]))
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = x.appendLogprob(dst, token, logprobOf(x.c.ids[i]))
	}
	x.named = upTo
	return append(dst, `],"refusal":null}`...)
}

// names reports whether a token of the completion is named.
func (x *exchange) names(i int) bool {
	switch x.variant("logprobs") {
	case "no_control":
		return x.c.parts[i] != control
	case "no_reasoning":
		return x.c.parts[i] != reasoning
	case "short":
		return i < len(x.c.ids)*9/10
	}
	return true
}

// appendLogprob appends one token. Of alternatives there is none but itself.
func (x *exchange) appendLogprob(dst, token []byte, logprob float64) []byte {
	text := strings.ToValidUTF8(string(token), "\uFFFD")
	start := len(dst)
	dst = quote(append(dst, `{"token":`...), text)
	dst = append(dst, `,"bytes":`...)
	switch x.variant("logprobs") {
	case "no_bytes":
		dst = append(dst, "null"...)
	case "text_bytes": // as engines do that have nothing but the text left
		dst = appendBytes(dst, []byte(text))
	default:
		dst = appendBytes(dst, token)
	}
	dst = strconv.AppendFloat(append(dst, `,"logprob":`...), logprob, 'f', -1, 64)
	same := string(dst[start:])
	dst = append(dst, `,"top_logprobs":[`...)
	if x.q.TopLogprobs > 0 {
		dst = append(append(dst, same...), '}')
	}
	return append(dst, "]}"...)
}

func appendBytes(dst, b []byte) []byte {
	dst = append(dst, '[')
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(c), 10)
	}
	return append(dst, ']')
}

// logprobOf is a probability for a token: the same one wherever it stands.
func logprobOf(id bpe.ID) float64 {
	spread := uint32(id) * 2654435761 >> 16 // of a multiplicative hash
	return -math.Round(float64(spread%4096)/4096*1e4) / 1e4
}
