// Package openrouter speaks to OpenRouter: one attempt at one chat completion
// as a stream of events, the list of endpoints, the key's account, and late
// bills.
//
// # An attempt
//
// [Client.Stream] makes one request, pinned to one endpoint: only its tag, no
// fallbacks, its quantization, its prices as a ceiling, every parameter
// honoured or the request refused. The package never retries; what to do next
// is in the error.
//
// Decoding is lenient and success is strict. Unknown fields are passed over,
// numbers may be strings, the usage may come in any of its places, an error may
// stand where an answer should, and a body is read as what it is, whatever its
// headers call it. But an attempt succeeds only with a finish reason, no error
// anywhere, an answer in it, from the pinned provider and the asked model,
// untouched on its way, within max_tokens, reasoned if and only if that was
// asked for, and at a cost that the price list explains. Everything else is an
// [eyrie.Error]; the answer beside it holds what came, untouched.
//
// # Money
//
// An error says whether the attempt was charged, and says unknown where the
// vendor leaves a doubt. No means one of three things: nothing was sent, the
// request was turned away before a provider could work on it (a refusal of the
// 4xx kind, or one that the router says it made by itself), or the vendor put a
// cost of nothing on it. A 5xx is not proof of anything: a provider may have
// worked, and billed, behind it. Nor is leaving: most providers bill the whole
// completion to a client that has hung up. A cost counts only when it comes
// with the end of a stream; figures on the way are not the bill.
//
// # Time
//
// Four clocks run: connect, first text, silence between pieces of text, whole
// answer ([Limits]). Comments, which the vendor sends while a provider hangs,
// reset none of them. When the finish reason is there, the rest of a stream has
// a few seconds to come; a body that stays open after its end is closed.
//
// # Length
//
// Some endpoints ignore max_tokens. While text comes, the attempt counts how
// few tokens it can possibly be, and hangs up on an answer that must be more
// than twice what was asked for. See [ClassOverrun].
package openrouter
