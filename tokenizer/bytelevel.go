package tokenizer

import "sync"

// Byte-level vocabularies spell each byte as a character that can be printed:
// those printable in Latin-1 as themselves, the others as characters from
// U+0100 on, in order.

// spelled maps such characters back to bytes; 0x1ff stands for none.
var spelled = sync.OnceValue(func() *[0x180]uint16 {
	table := new([0x180]uint16)
	for i := range table {
		table[i] = notSpelled
	}
	next := 0x100
	for b := range 256 {
		printable := b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae
		at := b
		if !printable {
			at = next
			next++
		}
		table[at] = uint16(b)
	}
	return table
})

const notSpelled = 0x1ff

// byteLevel returns the bytes that text spells, or false if it has a character
// that spells none.
func byteLevel(text string) (string, bool) {
	table := spelled()
	plain := true // spells itself
	for _, r := range text {
		if int(r) >= len(table) || table[r] == notSpelled {
			return "", false
		}
		plain = plain && r < 0x80
	}
	if plain {
		return text, true
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		out = append(out, byte(table[r]))
	}
	return string(out), true
}

// addedBytes returns what an added token decodes to: the ByteLevel decoder
// does not know that its spelling was not meant.
func addedBytes(text string) string {
	if raw, ok := byteLevel(text); ok {
		return raw
	}
	return text
}
