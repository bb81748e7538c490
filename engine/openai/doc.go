// Package openai speaks to any server that has OpenAI's chat API, such as
// llama.cpp's llama-server or ollama: one attempt at one generation as a stream
// of events, what the server is, and how busy it is.
//
// Such servers return text. Rows are made from it as from a vendor's, and are
// certified where both counts of tokens agree.
package openai
