// Package dataset reads prompt sets: files of conversations as people publish
// them, turned into [eyrie.Prompt] values one by one, with an account of every
// row that was left out and why.
//
// # The model
//
// A [Source] is a file. Its container cuts the bytes into rows, each the JSON
// of one object; its [Layout] turns a row into a prompt. Both are chosen by what
// the file holds, and neither knows the other.
//
// The one container so far is JSON Lines. Lines end at '\n' and nowhere else,
// so that U+2028 inside a string splits nothing; they may be of any length; a
// carriage return before the end, a byte order mark before the first line and
// blank lines are passed over. One line at a time is in memory.
//
// The layouts are
//
//	messages   {"id"?, "messages": [{"role", "content"}], "tools"?}
//	sharegpt   {"id"?, "conversations": [{"from", "value"}], "tools"?, "system"?}
//
// and [Open] finds out which it is by the first rows. Sets mix the two: a list
// may stand under "messages", "conversations" or "conversation", and each of
// its messages may be spelled either way. Columns with other names are passed
// over.
//
// # What comes out
//
// Roles are normalised: human and user are the user; gpt, assistant, model,
// chatgpt, bing and bard the assistant; system and developer the system; tool,
// function and observation a tool. A function_call of ShareGPT is a message of
// the assistant with a tool call. Content in parts is put together, as long as
// it is text. Arguments of tool calls stay the text they were; when they are an
// object they become compact JSON. Tools keep their bytes, without the white
// space between them, for the order of their keys is part of the prompt; a bare
// function is wrapped as {"type":"function","function":...}, and a string that
// holds JSON is read.
//
// Text is never repaired. A row with a NUL, with bytes that are not UTF-8 or
// with half of a surrogate pair is left out, since what a server would make of
// it is anyone's guess.
//
// A row without an id is called "row-" and the first twelve hex digits of its
// content's digest, so that it keeps its name when rows before it come or go.
// The second row of a name gets the suffix "-2", and so on.
//
// # What is left out
//
// See the constants of [Reason]. Every row is either kept or counted under one
// reason, with the first few of each by file and line in the [Report]. Errors
// are for files: one that cannot be read, or that is not a prompt set at all.
//
// A pass over a set holds 70 to 100 bytes in memory for each row it keeps, to
// find duplicates; nothing else grows with the file.
package dataset
