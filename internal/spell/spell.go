// Package spell tells how far apart two names are, for messages that suggest
// what was meant.
package spell

// Distance is the Levenshtein distance of two names, byte by byte.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+change)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
