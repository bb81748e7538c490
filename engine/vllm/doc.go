// Package vllm speaks to a vLLM server: one attempt at one generation as a
// stream of events, what the server is, and how busy it is.
//
// # Two ways in
//
// By chat the server renders the prompt and parses the answer. By ids
// ([Config.IDs]) our own rendered prompt goes to /v1/completions, and the answer
// is read off the sampled ids with the [eyrie.Codec], so that no parser of the
// server stands between the model and the row.
//
// # Ids
//
// Servers since October 2025 return ids under return_token_ids, in streams too;
// older ones pass over the field, which [Client.Inspect] finds out with a
// request of one token. Some versions lose ids of a stream on the way, in tool
// calls above all. So requests with tools are answered in one piece, and once a
// stream has brought another number of ids than the server counted, all are.
package vllm
