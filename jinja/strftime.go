package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime formats a time as C's strftime does in the C locale. Python gives
// templates a time without a zone, so %z and %Z print nothing.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 == len(format) {
			break
		}
		b.WriteString(format[:i])
		b.WriteString(directive(t, format[i+1]))
		format = format[i+2:]
	}
	return b.String() + format
}

// directives that are short for others.
var directiveLayouts = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y",
	'D': "%m/%d/%y",
	'F': "%Y-%m-%d",
	'R': "%H:%M",
	'r': "%I:%M:%S %p",
	'T': "%H:%M:%S",
	'X': "%H:%M:%S",
	'x': "%m/%d/%y",
}

func directive(t time.Time, c byte) string {
	if layout, ok := directiveLayouts[c]; ok {
		return strftime(t, layout)
	}
	switch c {
	case 'a':
		return t.Format("Mon")
	case 'A':
		return t.Format("Monday")
	case 'b', 'h':
		return t.Format("Jan")
	case 'B':
		return t.Format("January")
	case 'p':
		return t.Format("PM")
	case 'P':
		return t.Format("pm")
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '%':
		return "%"
	case 'z', 'Z':
		return ""
	case 's':
		return fmt.Sprint(t.Unix())
	}
	if layout, n, ok := numericDirective(t, c); ok {
		return fmt.Sprintf(layout, n)
	}
	return "%" + string(rune(c))
}

// numericDirective returns the number a directive prints, and how.
func numericDirective(t time.Time, c byte) (layout string, n int, ok bool) {
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	switch c {
	case 'C':
		return "%02d", t.Year() / 100, true
	case 'd':
		return "%02d", t.Day(), true
	case 'e':
		return "%2d", t.Day(), true
	case 'f':
		return "%06d", t.Nanosecond() / 1000, true
	case 'G':
		return "%d", isoYear, true
	case 'g':
		return "%02d", isoYear % 100, true
	case 'H':
		return "%02d", t.Hour(), true
	case 'I':
		return "%02d", hour12, true
	case 'j':
		return "%03d", t.YearDay(), true
	case 'k':
		return "%2d", t.Hour(), true
	case 'l':
		return "%2d", hour12, true
	case 'M':
		return "%02d", t.Minute(), true
	case 'm':
		return "%02d", int(t.Month()), true
	case 'S':
		return "%02d", t.Second(), true
	case 'U':
		return "%02d", (t.YearDay() + 6 - int(t.Weekday())) / 7, true
	case 'u':
		return "%d", (int(t.Weekday())+6)%7 + 1, true
	case 'V':
		return "%02d", isoWeek, true
	case 'W':
		return "%02d", (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7, true
	case 'w':
		return "%d", int(t.Weekday()), true
	case 'Y':
		return "%d", t.Year(), true
	case 'y':
		return "%02d", t.Year() % 100, true
	}
	return "", 0, false
}
