// Package eyrie holds the words that every part of eyrie shares: prompts,
// generations, requests, events, answers, money and errors. It imports nothing
// else of the project, so that two stages which never import each other can
// still speak about the same thing.
//
// The unit of everything is one [Generation]: a full prompt (messages and
// tools) and one sampled completion. It is the unit of request, of money, of
// resume and of a training row. A conversation with four assistant turns is
// four generations, each built on the model's own earlier answers.
//
// Data goes one way:
//
//	dataset → plan → dispatch → engine stream → journal → tokens → export
//
// Amounts are whole picodollars ([Money]), prices are exact decimals
// ([Price]), and nothing in between touches a float.
package eyrie
