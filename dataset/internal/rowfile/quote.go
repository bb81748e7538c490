package rowfile

const hexDigits = "0123456789abcdef"

// appendText appends s as a JSON string. What is not UTF-8 stays as it is, for
// the reader of the row to find.
func appendText[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendKey appends a key and its colon, after a comma where one is due.
func appendKey(dst []byte, key string) []byte {
	if c := dst[len(dst)-1]; c != '{' {
		dst = append(dst, ',')
	}
	return append(appendText(dst, key), ':')
}
