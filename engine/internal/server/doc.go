// Package server speaks to one inference server of the user's own: SGLang,
// vLLM, or another that has OpenAI's chat API.
//
// It holds what those engines share. A [Client] makes one request at a time and
// reads its answer, whole or as a stream, under the clocks of package stream;
// [Chat] and [Completion] are the two common forms of request and answer; an
// answer succeeds only after [Client.Stream] has verified it. [Client.Models],
// [Client.Tokenize] and [Client.Load] look at the server itself. What differs
// from server to server is said by the engine in a [Dialect] and an [Ask].
//
// # Success
//
// Decoding is lenient and success is strict: a finish reason, text, reasoning
// if and only if it was asked for, calls of tools that were offered, counts
// within max_tokens. Where the server was asked for ids they must be there, as
// many as it counted, they must spell the text, and the prompt's must be our
// own; where a server leaves fields out that it does not know, that is how one
// finds out.
//
// # Money and failures
//
// A server of one's own charges nothing, so no error here leaves a charge
// unknown. A server that is not there is a matter of its lane and not of the
// request: such an error is lane-wide, and the request goes elsewhere.
package server
