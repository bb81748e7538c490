package handoff

// Rows counts the rows that are handed over.
type Rows struct {
	Rows       int   `json:"rows"`
	Tokens     int64 `json:"tokens"`     // all input_ids
	Supervised int64 `json:"supervised"` // those with loss_mask 1
	Longest    int   `json:"longest"`    // tokens of the longest row
}

// Sizes is what the captured states of rows take.
type Sizes struct {
	BytesPerToken int64   `json:"bytes_per_token"`
	Total         int64   `json:"bytes"`
	PerShard      int64   `json:"bytes_per_shard"`
	Shards        int     `json:"shards"`
	LongestRow    int64   `json:"bytes_longest_row"`
	Rate          float64 `json:"tokens_per_second"`
	Hours         float64 `json:"hours"`
}

// Capture works out what the states of rows take, in how many files of at most
// so many bytes, and how long a pass over them takes at a rate of tokens a
// second.
func (m *Model) Capture(r Rows, shard int64, rate float64) Sizes {
	s := Sizes{BytesPerToken: m.BytesPerToken(), PerShard: shard, Rate: rate}
	s.Total = r.Tokens * s.BytesPerToken
	s.LongestRow = int64(r.Longest) * s.BytesPerToken
	if shard > 0 {
		s.Shards = int((s.Total + shard - 1) / shard)
	}
	if rate > 0 {
		s.Hours = float64(r.Tokens) / rate / 3600
	}
	return s
}
