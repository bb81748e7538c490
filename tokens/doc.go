// Package tokens turns an answer into token ids, and says how it knows them.
//
// A drafter is trained on the very tokens that its target model sampled. A
// server that returns ids gives them; most return text, and text does not
// determine ids. A [Rebuilder] makes the row of one answer (the ids of the
// prompt that was served and of the completion that was sampled) and puts it
// into one of the classes of [eyrie.Known]:
//
//   - engine: the server returned the ids. They spell the answer's text and
//     their number is the one that was billed.
//   - logprobs: the server named the tokens one by one, with their bytes. Each
//     is a token of the vocabulary, they spell the answer, and their number is
//     the one that was billed. This is said of the completion; the prompt's
//     count is the one billed.
//   - counted: the ids were made from the text, and both token counts, and the
//     reasoning count where there is one, are those of the bill. The bill is a
//     checksum that comes for free.
//   - retokenised: made from the text, and there was nothing to compare with,
//     or several readings fit the bill.
//   - mismatch: made from the text, and a count disagrees. The reason gives the
//     difference.
//
// The first three are certified. The prompt of a row carries no loss, every token
// of its completion does.
//
// # From text to ids
//
// Control tokens cut an answer into stretches of text. No token spans such a
// cut, so each stretch is tokenised alone, and the whole is
//
//	REASONING </think> CONTENT [section { call ID args ARGUMENTS end } end] <|im_end|>
//
// with the end token where the finish reason says that the model ended its
// answer itself, and without it where the answer ran into a limit.
//
// # Readings and assumptions
//
// Between the model's tokens and the text lies a server, and servers trim white
// space, rewrite call ids, print arguments anew and count in their own way. The
// plain reading takes the answer as it came. Every other reading makes an
// [Assumption] or two, and finds ids that the plain one misses. But an
// assumption explains a count only as well as something else would: a model
// also samples, now and then, a text in one token more than its vocabulary's own
// encoding has, and then "a line's end was trimmed" fits the bill as well, and
// is false. What decides is how often this server does this. That is its
// [Habits], and a [Survey] of its answers finds them:
//
//	survey := rebuilder.Survey()
//	for … { survey.Add(generation, thinking, answer) }
//	rebuilder = rebuilder.With(survey.Habits())
//
// A row is counted when one sequence of ids is likelier than all others that
// fit the bill together, by a factor that [Rebuilder.Confident] sets. Without
// habits only plain readings are certified. Surveying a lane that trims does
// both: it certifies rows that need the assumption, and takes the certificate
// from rows where trimmed and untrimmed text have the same count.
//
// # What a certificate cannot exclude
//
// A server that tokenises its own text anew, and returns or names those tokens
// in the place of the sampled ones, cannot be told from an honest one where
// their number is the same. For the class counted no server need be at fault: a
// text sampled in other tokens of the same number passes for the plain one,
// and so does white space trimmed by a server that has not been surveyed where
// it makes no difference to the count (a line's end after a full stop is one
// token with it). TestCertificates measures both, and prints the shares.
package tokens
