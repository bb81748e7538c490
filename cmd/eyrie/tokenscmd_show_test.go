package main

import (
	"strings"
	"testing"
)

func TestHang(t *testing.T) {
	const table = "reason  one two three four five six\nlane    short\n"
	for _, row := range []struct {
		width int
		want  string
	}{
		{0, table},
		{80, table},
		{35, table},
		{34, "reason  one two three four five\n        six\nlane    short\n"},
		{22, "reason  one two three\n        four five six\nlane    short\n"},
		{14, "reason  one\n  two three\n  four five\n  six\nlane    short\n"},
		{5, table}, // too narrow for anything
	} {
		var b strings.Builder
		hang(&b, table, 8, row.width)
		if b.String() != row.want {
			t.Errorf("width %d:\n%s\nwant\n%s", row.width, b.String(), row.want)
		}
	}
	var b strings.Builder
	hang(&b, "reason  onelongwordthatdoesnotfit\n", 8, 20)
	hang(&b, "reason  onelongwordthatdoesnotfit and more\n", 8, 20)
	if want := "reason  onelongwordthatdoesnotfit\nreason  onelongwordthatdoesnotfit\n        and more\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}
