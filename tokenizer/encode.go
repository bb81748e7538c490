package tokenizer

import "github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"

// Encode appends the ids of text to dst and returns the extended slice. The
// literals of added tokens are plain text to it: no text can produce a
// control token. Use it for whatever a user or a model wrote.
//
// Bytes of text that are no UTF-8 are kept and count as symbols.
func (t *Tokenizer) Encode(dst []int32, text string) []int32 {
	return t.encodeChunks(dst, text, false)
}

// EncodeSpecial is [Tokenizer.Encode], but the literals of added tokens in
// text become those tokens. Use it for rendered prompts.
func (t *Tokenizer) EncodeSpecial(dst []int32, text string) []int32 {
	if t.chunks == ChunkKimiHF && t.cut(text) {
		return eachPart(dst, text, t.named, func(dst []int32, part string) []int32 {
			return t.encodeChunks(dst, part, true)
		})
	}
	return t.encodeChunks(dst, text, true)
}

// cut reports whether the chunk mode may cut text.
func (t *Tokenizer) cut(text string) bool {
	return t.recipe.cuts && t.chunks != ChunkKimiNone && len(text) > maxRun && mayCut(text)
}

// eachPart cuts text at literals, appends their ids, and has the parts between
// them encoded.
func eachPart(dst []int32, text string, lits *literals, encode func([]int32, string) []int32) []int32 {
	for i := 0; i < len(text); {
		start, end, id := lits.find(text, i)
		if start > i {
			dst = encode(dst, text[i:start])
		}
		if end > start {
			dst = append(dst, id)
		}
		i = end
	}
	return dst
}

// encodeChunks cuts text as the chunk mode says and encodes the chunks.
func (t *Tokenizer) encodeChunks(dst []int32, text string, special bool) []int32 {
	if !t.cut(text) {
		return t.encodeLiterals(dst, text, special)
	}
	var c chunker
	for i := 0; i < len(text); {
		end := c.next(text, i)
		dst = t.encodeLiterals(dst, text[i:end], special)
		i = end
	}
	return dst
}

// encodeLiterals encodes text and, where special is set, the literals in it.
// Most are looked for in the text as it came, some in what normalizing makes of
// the parts between those.
func (t *Tokenizer) encodeLiterals(dst []int32, text string, special bool) []int32 {
	if !special {
		return t.encodePlain(dst, t.normalize(text))
	}
	return eachPart(dst, text, t.literals, func(dst []int32, part string) []int32 {
		return eachPart(dst, t.normalize(part), t.normalized, t.encodePlain)
	})
}

// encodePlain splits text and merges the pieces.
func (t *Tokenizer) encodePlain(dst []int32, text string) []int32 {
	enc := t.encoders.Get().(*bpe.Encoder)
	defer t.encoders.Put(enc)
	return encodeSplit(dst, text, t.splits, enc)
}

// encodeSplit splits text with the first splitter, each piece with the next,
// and so on.
func encodeSplit(dst []int32, text string, splits []splitter, enc *bpe.Encoder) []int32 {
	switch len(splits) {
	case 0:
		if len(text) > 0 {
			dst = enc.Append(dst, text, 0, len(text))
		}
	case 1:
		for i := 0; i < len(text); {
			end := splits[0](text, i)
			dst = enc.Append(dst, text, i, end)
			i = end
		}
	default:
		for i := 0; i < len(text); {
			end := splits[0](text, i)
			dst = encodeSplit(dst, text[i:end], splits[1:], enc)
			i = end
		}
	}
	return dst
}
