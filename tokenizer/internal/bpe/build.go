package bpe

import (
	"fmt"
	"sync"
)

// New builds a model. An error names the token that stands in the way.
func New(v Vocabulary) (*Model, error) {
	b := &builder{
		model: &Model{
			tokens: make([]token, 0, max(len(v.Tokens), numBytes)),
			ids:    make([]int32, 0, max(len(v.Tokens), numBytes)),
		},
		vocab:  v.Tokens,
		rankOf: make([]rank, len(v.Tokens)),
		begins: make([]begins, 0, max(len(v.Tokens), numBytes)),
	}
	var (
		cutting sync.WaitGroup
		cuts    seams
		halved  []meeting
	)
	defer cutting.Wait()
	cutting.Go(func() { cuts, halved = newSeams(v.Tokens) })
	var err error
	if v.Merges == nil {
		err = b.mergeByID()
	} else {
		err = b.mergeByRule(v.Merges)
	}
	if err != nil {
		return nil, err
	}
	b.follow()
	b.model.inOrder = b.model.idsInOrder()
	b.model.direct = b.model.literal == nil && (!v.WholeFirst || b.allMade())
	if cutting.Wait(); b.model.direct {
		b.model.seams, b.model.chars = cuts, b.chars(halved)
	}
	b.model.whole = b.byText
	if !v.WholeFirst {
		b.model.whole = b.madeTable()
	}
	return b.model, nil
}

// idsInOrder reports whether the id of every token but the single bytes is its
// rank.
func (m *Model) idsInOrder() bool {
	for r := numBytes; r < len(m.ids); r++ {
		if int(m.ids[r]) != r {
			return false
		}
	}
	return true
}

// allMade reports whether merging makes every token.
func (b *builder) allMade() bool {
	made := 0
	for i := range b.model.tokens {
		if t := &b.model.tokens[i]; t.len == 1 || t.made() {
			made++
		}
	}
	for _, text := range b.vocab {
		if text != "" {
			made--
		}
	}
	return made == 0
}

// builder turns a vocabulary into a model, merge by merge in the order of
// their ranks.
type builder struct {
	model  *Model
	vocab  []string
	rankOf []rank   // by id; none for tokens without a rank
	begins []begins // by rank
	byText table    // all tokens
}

// index fills byText.
func (b *builder) index() error {
	b.byText = newTable(b.vocab)
	for id, text := range b.vocab {
		if text == "" {
			continue
		}
		if first, ok := b.byText.add(text, int32(id)); !ok {
			return fmt.Errorf("ids %d and %d are both token %.40q", first, id, text)
		}
	}
	for c := range numBytes {
		text := string([]byte{byte(c)})
		if _, ok := b.byText.find(text, 0, 1); !ok {
			return fmt.Errorf("no token for the single byte 0x%02x: not a byte-level vocabulary", c)
		}
	}
	return nil
}

// add gives a token the next rank.
func (b *builder) add(id int32, left, right rank) {
	b.rankOf[id] = rank(len(b.model.tokens))
	b.model.tokens = append(b.model.tokens, token{
		left: left, right: right, prefix: none, len: int32(len(b.vocab[id])),
	})
	b.model.ids = append(b.model.ids, id)
	b.begins = append(b.begins, beginsOf(b.vocab[id]))
}

// addBytes gives the single bytes their ranks.
func (b *builder) addBytes() {
	for c := range rank(numBytes) {
		text := string([]byte{byte(c)})
		id, _ := b.byText.find(text, 0, 1)
		b.add(id, c, c)
	}
}

// link returns the tokens that have a rank and, with onlyMade, are made by a
// merge, sorted by text. It notes the prefix of each.
func (b *builder) link(onlyMade bool) entries {
	tokens := b.model.tokens
	linked := entries{make([]entry, 0, len(tokens)), b.text}
	for r, tok := range tokens {
		if tok.len > 0 && (!onlyMade || tok.left != none) {
			linked.list = append(linked.list, newEntry(b.text(rank(r)), rank(r)))
		}
	}
	linked.sort()
	linked.eachPrefix(func(r, prefix rank) { tokens[r].prefix = prefix })
	return linked
}

// text returns the bytes of the token of rank r.
func (b *builder) text(r rank) string { return b.vocab[b.model.ids[r]] }

// mergeByID makes the tokens in the order of their ids. A token can be cut in
// two in many ways; merging arrives at one of them at most. Looking for it takes
// as long as the other two things there are to do, the table and the trie,
// which are done meanwhile.
func (b *builder) mergeByID() error {
	var indexed, laid sync.WaitGroup
	defer laid.Wait()
	var err error
	indexed.Go(func() { err = b.index() })
	b.rankByID()
	linked := b.link(false)
	laid.Go(func() { b.model.trie = buildTrie(linked) })
	if indexed.Wait(); err != nil {
		return err
	}
	tokens := b.model.tokens
	b.model.pairs, b.model.follow = newPairs(len(tokens)), make([]follow, len(tokens))
	var unmade []rank
	for r := rank(numBytes); r < rank(len(tokens)); r++ {
		left, right, ok := b.halves(r, r)
		if !ok {
			unmade = append(unmade, r)
			continue
		}
		tokens[r].left, tokens[r].right = left, right
		b.pair(left, right, r)
	}
	// What is left is never made, unless from tokens of higher ranks.
	late := entries{text: b.text}
	for _, r := range unmade {
		if _, _, ok := b.halves(r, none); ok {
			late.list = append(late.list, newEntry(b.text(r), r))
		}
	}
	if len(late.list) > 0 {
		b.model.setLate(late, &literal{byText: b.byText})
	}
	if len(unmade) > 0 {
		laid.Wait()
		b.model.trie = buildTrie(b.link(true))
	}
	return nil
}

// rankByID gives every token a rank.
func (b *builder) rankByID() {
	b.model.tokens = b.model.tokens[:numBytes]
	b.model.ids = b.model.ids[:numBytes]
	b.begins = b.begins[:numBytes]
	for id, text := range b.vocab {
		b.rankOf[id] = none
		switch len(text) {
		case 0:
		case 1:
			c := rank(text[0])
			b.rankOf[id] = c
			b.model.tokens[c] = token{left: c, right: c, prefix: none, len: 1}
			b.model.ids[c] = int32(id)
			b.begins[c] = beginsOf(text)
		default:
			b.add(int32(id), none, none)
		}
	}
}

// halves returns the two tokens that merging leaves of a token's bytes, if it
// leaves two made ones of lower rank than limit.
func (b *builder) halves(r, limit rank) (left, right rank, ok bool) {
	tokens := b.model.tokens
	text := b.text(r)
	for l := tokens[r].prefix; l != none; l = tokens[l].prefix {
		if l >= limit || tokens[l].left == none {
			continue
		}
		id, ok := b.byText.find(text, int(tokens[l].len), len(text))
		if !ok || b.rankOf[id] >= limit || tokens[b.rankOf[id]].left == none {
			continue
		}
		if b.model.keeps(l, b.rankOf[id], false) {
			return l, b.rankOf[id], true
		}
	}
	return 0, 0, false
}

// mergeByRule makes the tokens in the order of the rules. Of several rules for
// one token at most one ever applies; the others are passed over.
func (b *builder) mergeByRule(rules []Merge) error {
	if err := b.index(); err != nil {
		return err
	}
	for id := range b.rankOf {
		b.rankOf[id] = none
	}
	b.addBytes()
	b.model.pairs, b.model.follow = newPairs(len(b.vocab)), make([]follow, max(len(b.vocab), numBytes))
	var early []int // rules whose parts later rules make, if any
	for i, m := range rules {
		switch left, right := b.rankOf[m.Left], b.rankOf[m.Right]; {
		case b.rankOf[m.Token] != none:
		case left == none || right == none:
			early = append(early, i)
		case b.model.keeps(left, right, false):
			b.pair(left, right, rank(len(b.model.tokens)))
			b.add(m.Token, left, right)
		}
	}
	late := make(map[int32]bool)
	for _, i := range early {
		m := rules[i]
		left, right := b.rankOf[m.Left], b.rankOf[m.Right]
		if b.rankOf[m.Token] == none && left != none && right != none && b.model.keeps(left, right, false) {
			late[m.Token] = true
		}
	}
	if len(late) > 0 {
		b.keepRules(rules, late)
	}
	b.model.trie = buildTrie(b.link(false))
	return nil
}

// keepRules prepares the model for late tokens.
func (b *builder) keepRules(rules []Merge, late map[int32]bool) {
	l := &literal{merges: rules, rules: newPairs(len(rules)), byText: b.byText}
	for i, m := range rules {
		if _, dup := l.rules.find(rank(m.Left), rank(m.Right)); !dup {
			l.rules.add(rank(m.Left), rank(m.Right), rank(i))
		}
	}
	// Late tokens have no ranks. Here their ids stand for them.
	tokens := entries{text: func(id rank) string { return b.vocab[id] }}
	for id := range late {
		tokens.list = append(tokens.list, newEntry(b.vocab[id], rank(id)))
	}
	b.model.setLate(tokens, l)
}

// setLate makes the model use l for pieces that contain one of the tokens.
func (m *Model) setLate(tokens entries, l *literal) {
	tokens.sort()
	m.late, m.literal = buildTrie(tokens), l
}

// madeTable returns the table of the tokens that merging makes of their bytes,
// save those in which late tokens occur.
func (b *builder) madeTable() table {
	made := make([]string, len(b.vocab))
	for r, tok := range b.model.tokens {
		id := b.model.ids[r]
		text := b.vocab[id]
		if tok.left != none && (b.model.literal == nil || !b.model.hasLate(text)) {
			made[id] = text
		}
	}
	t := newTable(made)
	for id, text := range made {
		if text != "" {
			t.add(text, int32(id))
		}
	}
	return t
}
