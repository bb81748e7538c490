package openrouter

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// tokenList gathers the tokens that a lane names one by one. Their bytes lie
// one behind the other in blocks: a slice for each would cost more than the
// token.
type tokenList struct {
	list  []eyrie.TokenLogprob
	limit int // 0 where they were not asked for; more of them are none of the answer's
	block []byte
}

// mostTokens bounds the tokens that an answer of maxTokens can have: those that
// servers put around the text count, and a lane that overruns is cut at about
// twice.
func mostTokens(maxTokens int) int { return 2*maxTokens + 256 }

// add takes the next token. A list that cannot be the answer's is dropped.
func (l *tokenList) add(t eyrie.TokenLogprob) {
	if len(l.list) == l.limit {
		l.list, l.limit = nil, 0
		return
	}
	l.list = append(l.list, t)
}

// keep copies bytes into a block.
func (l *tokenList) keep(b []byte) []byte {
	const size = 4 << 10
	if len(b) > cap(l.block)-len(l.block) || l.block == nil {
		l.block = make([]byte, 0, max(size, len(b)))
	}
	at := len(l.block)
	l.block = append(l.block, b...)
	return l.block[at:len(l.block):len(l.block)]
}

// logprobs reads a choice's account of its tokens.
func (d *chunkDecoder) logprobs() error {
	if d.tokens.limit == 0 {
		return d.dec.SkipValue()
	}
	return d.object(func(name []byte) error {
		if string(name) != "content" {
			return d.dec.SkipValue()
		}
		d.counts = true
		return d.array(d.tokenLogprob)
	})
}

// tokenLogprob reads one token. What is none is passed over.
func (d *chunkDecoder) tokenLogprob() error {
	if d.dec.PeekKind() != '{' {
		return d.dec.SkipValue()
	}
	var t eyrie.TokenLogprob
	err := d.object(func(name []byte) (err error) {
		switch string(name) {
		case "token":
			return d.str(&t.Token)
		case "bytes":
			t.Bytes, err = d.bytes()
			return err
		case "logprob":
			v, err := d.dec.ReadValue()
			if f, ok := floatOf(v); err == nil && ok {
				t.Logprob = f
			}
			return err
		}
		return d.dec.SkipValue()
	})
	if err == nil && d.tokens.limit > 0 {
		d.tokens.add(t)
	}
	return err
}

// bytes reads a list of bytes, which come as numbers. A list with anything else
// in it is none.
func (d *chunkDecoder) bytes() ([]byte, error) {
	if d.dec.PeekKind() != '[' {
		return nil, d.dec.SkipValue()
	}
	var room [64]byte
	out, good := room[:0], true
	err := d.array(func() error {
		v, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		n, ok := byteOf(v)
		out, good = append(out, n), good && ok
		return nil
	})
	if err != nil || !good {
		return nil, err
	}
	return d.tokens.keep(out), nil
}

func byteOf(v jsontext.Value) (byte, bool) {
	n, err := strconv.ParseUint(string(v), 10, 8)
	return byte(n), err == nil
}
