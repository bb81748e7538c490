// Package export writes rows as trainers load them, with a manifest.
//
// An export of a data set is a folder:
//
//	train.jsonl     one row a line, for the trainer
//	meta.jsonl      one line for every line of train.jsonl, in the same order
//	refused.jsonl   what was left out, with the reason
//	manifest.json   digests, counts, and how the ids are known
//
// A line of train.jsonl is
//
//	{"id":"code-0001/t0/s0","input_ids":[…],"loss_mask":[…]}
//
// where input_ids are the prompt's ids and then the completion's, and loss_mask
// is as long, 0 for every id of the prompt and 1 for every id of the completion:
// the end token is among them when the model stopped by itself. Masks are not
// shifted. Everything else about a row is in meta.jsonl, so that no trainer
// meets a column it does not expect.
//
// Files appear whole: they are written aside, synced and renamed, the manifest
// last. The same rows give the same bytes. An export that has more rows than
// the new one is not overwritten.
package export
