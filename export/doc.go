// Package export writes rows as trainers load them, with a manifest.
//
// An export of a data set is a folder. Its [Format] says what the files of rows
// are; beside them every export has
//
//	meta.jsonl       one line for every row, in the same order
//	refused.jsonl    what was left out, with the reason
//	token_freq.json  how often each id is supervised, by id
//	d2t.npy          a draft vocabulary: by draft id, the target id less the draft id
//	t2d.npy          and which of the target's ids are in it
//	README.md        a data set card
//	manifest.json    digests and counts, and how the ids are known
//
// In the [Default] format a row is a line of train.jsonl,
//
//	{"id":"code-0001/t0/s0","input_ids":[…],"loss_mask":[…]}
//
// where input_ids are the prompt's ids and then the completion's, and loss_mask
// is as long, 0 for every id of the prompt and 1 for every id of the completion:
// the end token is among them when the model stopped by itself. Masks are not
// shifted, and none is all zero. Everything else about a row is in meta.jsonl,
// so that no trainer meets a column it does not expect.
//
// Formats of conversations are for trainers that tokenise themselves. What such
// a trainer would make something else of than the model saw is left out, with
// the reason: an answer cut by its length limit, behind which it would put an
// end; tools where it renders no declarations; roles out of its order.
//
// Rows with another split than train are in files of their own, named after it,
// and so are their lines of meta-SPLIT.jsonl.
//
// # Guarantees
//
// A folder appears whole: it is written beside its place under a hidden name,
// synced, and renamed. The rows come in the order in which they are given, which
// does not depend on when answers were bought; the same rows and options give
// the same bytes, however many processors there are. An export that has more
// rows than the new one is not replaced, and a file that no export wrote is
// never taken away. Memory does not grow with the number of rows.
package export
