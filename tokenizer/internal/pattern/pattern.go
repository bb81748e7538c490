// Package pattern matches the regular expressions that tokenizers split text
// with.
//
// The standard library's regexp has no lookahead, does not intersect classes,
// and takes its classes from an older Unicode. This package backtracks, as the
// engines the expressions were written for do, and prefers alternatives in
// their order; classes are Unicode 16. It knows the syntax such expressions
// are seen to use:
//
//	literals, escapes \r \n \t \f \v \xHH \x{H…} \uHHHH, \s \S \d \D, \p{…} \P{…}
//	[…] with ranges, negation, nesting and && ; alternation, (…), (?:…), (?i:…)
//	* + ? {n,m} and their possessive forms *+ ++ ?+ ; (?=…) (?!…) ^ $ .
//
// Anything else is refused by name, never guessed.
//
// A byte that is no part of a well-formed character counts as U+FFFD.
package pattern

import (
	"unicode/utf8"
)

// Dialect is the engine an expression was written for, where engines differ.
type Dialect int

const (
	// Rust is the regex and fancy-regex libraries: ^ and $ are the ends of the
	// text.
	Rust Dialect = iota
	// Oniguruma is that library with its default syntax: ^ and $ are the ends
	// of each line.
	Oniguruma
)

// Regexp is a compiled expression. It is safe for concurrent use.
type Regexp struct {
	prog []inst
}

type op uint8

const (
	opMatch   op = iota
	opSet        // one character of set
	opRun        // min to max characters of set, as many as possible first
	opSplit      // go on at x, and if that fails at y
	opJump       // go on at x
	opLook       // go on at y if the program at x matches here, without consuming
	opLookNot    // go on at y if it does not
	opAtomic     // match the program at x, drop its choices, go on at y
	opTextStart
	opTextEnd
	opLineStart
	opLineEnd
)

type inst struct {
	op         op
	possessive bool
	set        *set
	min, max   int
	x, y       int
}

// frame is a choice to come back to. For a run it stands for all the shorter
// runs down to low.
type frame struct {
	pc       int
	pos, low int
}

// Match returns the end of the match that starts at byte i of s, or -1.
func (re *Regexp) Match(s string, i int) int {
	var buf [16]frame
	return re.run(s, i, 0, buf[:0])
}

// Find returns the first match at or after byte i that is not empty. Without
// one, start and end are len(s).
func (re *Regexp) Find(s string, i int) (start, end int) {
	for i < len(s) {
		if end := re.Match(s, i); end > i {
			return i, end
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return len(s), len(s)
}

// run runs the program from pc at byte i of s.
func (re *Regexp) run(s string, i, pc int, stack []frame) int {
	for {
		in := &re.prog[pc]
		ok := true
		switch in.op {
		case opMatch:
			return i
		case opSet:
			if ok = i < len(s); ok {
				r, w := utf8.DecodeRuneInString(s[i:])
				if ok = in.set.has(r); ok {
					i += w
					pc++
				}
			}
		case opRun:
			low, end, n := i, i, 0
			for n < in.max && end < len(s) {
				r, w := utf8.DecodeRuneInString(s[end:])
				if !in.set.has(r) {
					break
				}
				end += w
				if n++; n == in.min {
					low = end
				}
			}
			if ok = n >= in.min; ok {
				i = end
				pc++
				if end > low && !in.possessive {
					stack = append(stack, frame{pc, end, low})
				}
			}
		case opSplit:
			stack = append(stack, frame{in.y, i, i})
			pc = in.x
		case opJump:
			pc = in.x
		case opLook, opLookNot, opAtomic:
			end := re.run(s, i, in.x, nil)
			if ok = (end >= 0) == (in.op != opLookNot); ok {
				pc = in.y
				if in.op == opAtomic {
					i = end
				}
			}
		case opTextStart, opTextEnd, opLineStart, opLineEnd:
			if ok = in.holds(s, i); ok {
				pc++
			}
		}
		if ok {
			continue
		}
		if len(stack) == 0 {
			return -1
		}
		top := &stack[len(stack)-1]
		pc, i = top.pc, top.pos
		if top.low < top.pos {
			_, w := utf8.DecodeLastRuneInString(s[top.low:top.pos])
			i -= w
			top.pos = i
			if i > top.low {
				continue
			}
		}
		stack = stack[:len(stack)-1]
	}
}

// holds reports whether an anchor holds at byte i of s.
func (in *inst) holds(s string, i int) bool {
	switch in.op {
	case opTextStart:
		return i == 0
	case opTextEnd:
		return i == len(s)
	case opLineStart:
		return i == 0 || s[i-1] == '\n' && i < len(s)
	default:
		return i == len(s) || s[i] == '\n'
	}
}
