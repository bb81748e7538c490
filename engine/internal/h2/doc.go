// Package h2 carries thousands of slow streams over few HTTP/2 connections.
//
// net/http is made for answers that come fast: it gives a stream two goroutines
// and a pipe, wakes the reader for every frame, and answers every four
// kilobytes with two window updates. A token of a language model is a frame of
// a few hundred bytes, forty times a second and stream, and all of that costs
// more than reading it. Here a connection has one goroutine, which takes what
// has come for all its streams in one go; a stream is a queue that its reader
// empties when it likes; windows are large, so that an answer needs no update
// at all.
//
// The framing and the compression of headers are those of golang.org/x/net. What
// a [Transport] does not do, it leaves to another: a server that does not speak
// HTTP/2.
package h2
