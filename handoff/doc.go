// Package handoff works out what training needs beside the rows: how large the
// target's hidden states are, how long their capture takes, the configuration of
// a drafter, and the trainers' own files and commands. It also holds the target's
// config.json against its tokenizer, because a vocabulary of another size or a
// wrong end token shows only after days of training.
//
// It is pure: the config and the counts of the rows go in, texts and numbers
// come out.
//
// # Sizes
//
// An EAGLE-3 drafter is trained on the hidden states of three layers of the
// target and on its last one, in 16-bit floats, so a token takes
//
//	(3 + 1) · hidden_size · 2 bytes
//
// which for Kimi-K2.5 is 57,344. That is why files of token ids are handed over
// and states are captured when they are trained on.
package handoff
