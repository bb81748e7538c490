package h1

import "errors"

// dechunker takes the framing out of a body in chunks.
type dechunker struct {
	at     position
	digits int8  // of the size so far
	left   int64 // the size, then what is still to come of it
	aside  int   // bytes that are neither size nor data, since the last data
}

// position is where in the framing the next byte stands.
type position uint8

const (
	inSize  position = iota
	inSpace          // behind a size
	inExtension
	sizeLF // behind the CR of a size
	inData
	dataCR // behind the data
	dataLF
	trailer // at the beginning of a line of the trailer
	inTrailer
	lastLF // behind the CR of the empty line
	after  // the body
)

// maxAside bounds extensions and trailers, which mean nothing here.
const maxAside = 16 << 10

var errChunk = errors.New("the framing of the body in chunks is broken")

// over reports whether the whole body has come.
func (d *dechunker) over() bool { return d.at == after }

// take moves the data in p to its beginning and returns how much it is, and how
// many bytes stand behind the end of the body.
func (d *dechunker) take(p []byte) (n, rest int, err error) {
	for i := 0; i < len(p); {
		switch d.at {
		case inData:
			k := copy(p[n:], p[i:min(int64(len(p)), int64(i)+d.left)])
			n, i, d.left = n+k, i+k, d.left-int64(k)
			if d.left == 0 {
				d.at, d.aside = dataCR, 0
			}
			continue
		case after:
			return n, len(p) - i, nil
		}
		if !d.step(p[i]) {
			return n, 0, errChunk
		}
		i++
	}
	return n, 0, nil
}

// step takes a byte of the framing and reports whether it may stand there.
func (d *dechunker) step(c byte) bool {
	d.aside++
	switch d.at {
	case inSize:
		return d.size(c)
	case inSpace:
		return d.behindSize(c)
	case inExtension:
		switch c {
		case '\r':
			d.at = sizeLF
		case '\n':
			return false
		}
	case sizeLF:
		d.at = inData
		if d.left == 0 {
			d.at = trailer
		}
		return c == '\n'
	case dataCR:
		d.at = dataLF
		return c == '\r'
	case dataLF:
		d.at, d.left, d.digits = inSize, 0, 0
		return c == '\n'
	case trailer:
		switch c {
		case '\r':
			d.at = lastLF
		case '\n':
			d.at = after
		default:
			d.at = inTrailer
		}
	case inTrailer:
		if c == '\n' {
			d.at = trailer
		}
	case lastLF:
		d.at = after
		return c == '\n'
	}
	return d.aside <= maxAside
}

// size takes a byte of a line that says how long a chunk is.
func (d *dechunker) size(c byte) bool {
	digit := int64(-1)
	switch {
	case '0' <= c && c <= '9':
		digit = int64(c - '0')
	case 'a' <= c && c <= 'f':
		digit = int64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		digit = int64(c-'A') + 10
	}
	if digit >= 0 {
		d.left = d.left<<4 | digit
		d.digits++
		return d.digits < 16 // longer ones are not meant
	}
	return d.digits > 0 && d.behindSize(c)
}

// behindSize takes a byte that stands behind a size.
func (d *dechunker) behindSize(c byte) bool {
	switch c {
	case '\r':
		d.at = sizeLF
	case ';':
		d.at = inExtension
	case ' ', '\t':
		d.at = inSpace
	default:
		return false
	}
	return d.aside <= maxAside
}
