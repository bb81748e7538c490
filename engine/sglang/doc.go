// Package sglang speaks to an SGLang server: one attempt at one generation as a
// stream of events, what the server is, and how busy it is.
//
// # Two ways in
//
// By chat the server renders the prompt and parses the answer. By ids
// ([Config.IDs]) our own rendered prompt goes to /generate, and the answer is
// read off the sampled ids with the [eyrie.Codec], so that no parser of the
// server stands between the model and the row.
//
// # Ids
//
// /generate returns the sampled ids. Chat returns them where it is asked to:
// since July 2026 under return_token_ids, from 0.5.13 on beside logprobs in
// meta_info, and before not at all. A server passes over fields that it does
// not know, so [Client.Inspect] makes a request of one token and looks which of
// them comes back. Chat refuses to stream when ids are asked for, and the
// stream of /generate repeats the whole text in every event; so answers that
// bring ids come in one piece.
package sglang
