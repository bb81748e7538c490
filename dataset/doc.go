// Package dataset reads prompt sets: files of conversations as people publish
// them, turned into [eyrie.Prompt] values one by one, with an account of every
// row that was left out and why.
//
// # The model
//
// A [Source] is a file, a folder or a pattern of files. A file's format cuts
// its bytes into rows, each the JSON of one object; its [Layout] turns a row
// into a prompt. Both are chosen by what the file holds, and neither knows the
// other.
//
// The formats are JSON Lines, a JSON array, JSON printed over several lines,
// CSV and TSV with a header, plain lines of text, Parquet, and Arrow streams
// and files, the text ones and Arrow also in gzip or zstd. CSV and plain text
// go by their names, .csv, .tsv and .txt, or by [Options.Format]. A folder that
// Hugging Face's save_to_disk wrote is read by the list of shards in it.
//
// Lines end at '\n' and nowhere else, so that U+2028 inside a string splits
// nothing; they may be of any length up to [Options.MaxRow]; a carriage return
// before the end, a byte order mark before the first line and blank lines are
// passed over. One row at a time is in memory, of Arrow one record batch.
//
// # Layouts
//
//	messages      [{"role", "content"}] in "messages", "conversations", "conversation", "dialogue", "dialog" or "chat"
//	sharegpt      [{"from", "value"}] in one of these
//	trajectory    an agent's messages in "history" or "trajectory"
//	input-output  messages in "input", the answer to them in "output"
//	transcript    text in which USER: and ASSISTANT: take turns, in "chat", "transcript", "text" or "example"
//	instruction   "instruction", perhaps "input" and "history", and "output", "response", "completion" or "answer"
//	pair          two columns such as prompt/response, problem/solution, question/answer, message_1/message_2, query/answers
//	turns         "turns", a list of what the user says
//	prompt        "prompt", "question", "instruction", "query" or "problem" alone
//
// [Open] takes the first that fits one of the first rows, in this order: a set
// with a list of messages repeats its beginning in other columns. Messages may
// be spelled either way in any list. A list may also be the text of one, as
// JSON or as Python prints it. [Options.Columns] names columns that go by other
// names. Beside the conversation these columns are read: an id, "system",
// "tools", images, "split", "license", "source", "category" and "language".
// All others are passed over.
//
// # What comes out
//
// Roles are normalised: human, user and prompter are the user; gpt, assistant,
// model, ai, bot, chatgpt, bing and bard the assistant; system and developer
// the system; tool, function, observation, tool_response and tool_result a
// tool. [Options.Roles] adds to them. A function_call or tool_call is a call of
// the assistant, and belongs to the turn before it when that is the assistant's
// too. Content in parts is put together, as long as it is text; for images see
// [Options.Images].
//
// Calls are also found in text: between <tool_call> tags, and in transcripts
// behind <functioncall>, with arguments in single quotes. Results between
// <tool_response> tags are a message each. Arguments of calls stay the text
// they were; when they are an object they become compact JSON. A result that
// does not say which call it answers gets the id of the call at its place, if
// that has one. Tools keep their bytes, without the white space between them,
// for the order of their keys is part of the prompt; a bare function is wrapped
// as {"type":"function","function":...}, and a string that holds JSON is read.
// A row without a column of tools has those that its system prompt declares
// between <tools> tags, which it keeps; the declarations at the end of a
// transcript's system column become tools and leave it.
//
// The input of an instruction and the options of a question stand on lines
// below it. Between the turns of "turns" the assistant answers, so there is an
// empty message of his.
//
// Of a conversation [Options.Turns] may ask for all turns, the last or the first;
// the prompt then holds what these need, and is a duplicate of another one when
// that asks for the same.
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
// reason, with the first few of each by file and line in the [Report]; rows of
// Parquet and Arrow go by their group and their place in it, as in
// train.parquet:2/15. Errors are for files: one that cannot be read, that is
// damaged in a way that leaves no telling where its next row begins, or that is
// not a prompt set at all.
//
// Rows of which something is wrong are lost ([Report.Lost]). Others are left
// out because they are there already, in this set or in one before it
// ([Options.After]), or because they are not wanted: [Options.Keep] filters,
// [Options.NearDuplicates] and [Options.Evaluation] compare, [Options.Sample]
// draws.
//
// # Choosing
//
// Whatever is chosen by chance is chosen by a digest of the seed and of what a
// row asks. So a sample and a shuffled order are the same on every machine and
// in every run, stay the same when other rows come or go, and a larger sample
// holds the smaller one. A conversation's split depends on its content alone.
// All of it is settled before anything is generated.
//
// A pass over a set holds about 100 bytes in memory for each row, to find
// duplicates, and 400 more where near duplicates are left out; a shuffled set
// is kept in a file in the system's folder for temporary ones, which
// [Set.Close] removes. Nothing else grows with the set.
package dataset
