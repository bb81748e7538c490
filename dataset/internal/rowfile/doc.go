// Package rowfile reads files of rows, whatever they are packed in, as JSON
// objects one by one.
//
// # The model
//
// A file is bytes, perhaps compressed, in a [Format] that says where one row
// ends and the next begins. Both are found by what the file holds and not by
// its name, but for two formats that nothing gives away: comma-separated values
// and plain text go by the names .csv, .tsv and .txt, or are told.
//
//	lines    JSON Lines: one JSON value a line
//	array    one JSON array, over as many lines as it likes
//	values   JSON values one after the other, printed over several lines
//	csv, tsv records under a header; every value is text
//	text     plain lines; each is the row {"prompt": LINE}
//	parquet  Parquet; nested lists, structs and maps become JSON's
//	arrow    Arrow, as a stream or as a file
//
// gzip and zstd are unpacked on the way, whatever is in them but Parquet, whose
// directory stands at its end.
//
// # Promises
//
// A row is cut by its format alone and never judged: whether it is JSON, and
// JSON of what, is for the reader of the row to say. Lines end at '\n' and
// nowhere else. Text is kept byte for byte. One row is in memory at a time (of
// Arrow one record batch, of Parquet one page a column), and no row above the
// limit: it is read past, and yielded with a [Fault] in place of its JSON. A
// row with a fault ends nothing. An error ends the file: it is damaged in a way
// that leaves no telling where the next row begins.
//
// Every row knows its place: its line, or its number in its row group or record
// batch.
package rowfile
