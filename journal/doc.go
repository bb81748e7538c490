// Package journal keeps the run directory: an append-only, checksummed,
// group-committed record of everything a run did, which can be replayed.
//
// # Layout
//
//	RUN/journal/
//	  000001.jsonl.zst  segments, in order; full ones are sealed
//	  000001.idx        beside a sealed segment: the outlines of its records
//	  000002.jsonl      the last one is being written
//	  lock              held by the process that writes
//	  torn-….jsonl      tails that were cut after a crash, kept aside
//	  damaged-…         segments as [Repair] found them
//
// Numbers begin at 1 and leave no gap. Names that end in .partial are files
// that were not finished, and mean nothing. A segment that has its .jsonl file
// is that file, whatever else is there.
//
// # A segment, byte by byte
//
// The text of a segment is JSON lines: every line is one JSON object and ends
// in '\n', so that jq and DuckDB read a journal as it lies there (zstdcat gives
// the text of a sealed one). Every line begins with the 16 bytes
//
//	{"c":"9ae0daaf",
//
// where the eight hex digits are the CRC-32C (Castagnoli) of the rest of the
// line: from the byte after that comma up to, not including, the '\n'. The next
// members are always "k", the kind of the record, and "t", the time of writing
// in milliseconds since 1970. What follows is described by the record types of
// package eyrie, whose JSON names are the format:
//
//	k         type                 meaning
//	segment   (here)               first line: {"v":version,"n":number of the segment,"after":size}
//	sync      (here)               {"at":offset}: every byte of this segment before offset was
//	                               durable when this line was written
//	lost      (here)               {"to":offset}: a repair put this line where text was lost,
//	                               up to offset; as the last line, up to the segment's end
//	session   eyrie.SessionRecord  a process started or went on
//	prompt    eyrie.PromptRecord   a conversation, once, before it is first asked
//	started   eyrie.StartedRecord  a request is about to be sent, and what was reserved for it
//	seen      eyrie.SeenRecord     the vendor's id of an attempt
//	ended     eyrie.EndedRecord    what an attempt brought
//	settled   eyrie.SettledRecord  a bill that came late
//	budget    eyrie.BudgetRecord   another budget, set while the run went on
//	gave-up   eyrie.GaveUpRecord   a generation that will not be tried again
//
// A reader that meets another kind skips it; one that meets another "v" than 1
// or 2 must refuse the segment. Spaces before the closing brace are padding.
//
// "after", since version 2, is where the good text of the segment before this
// one ends. What stands there behind it was never acknowledged and is void: a
// disk failed, and what could be kept of it is in this segment. A segment that
// is shorter is damaged, unless it ends in a lost line.
//
// # A sealed segment
//
// NNNNNN.jsonl.zst is the same text in zstd frames of whole lines, each frame a
// quarter of a megabyte or a little more, with content sizes and checksums. Its
// last frame is a skippable one, the seek table of zstd's seekable format:
// magic 0x184D2A5E, its length, for each frame the packed and the plain size,
// and a footer of the number of frames, a zero byte and 0x8F92EAB1; sizes and
// magics are 32-bit and little-endian. The offset of a record is that in the
// text, so a [Ref] is the same before and after.
//
// NNNNNN.idx is "EYRIEIDX", the index's version (2) and the CRC-32C of all that
// follows, both 32-bit little-endian, and then numbers as uvarints: the
// segment, the size of its text, how many names there are and each name as
// length and bytes, how many entries there are, and the entries. An entry is
// the record's kind (0 budget, 1 session, 2 prompt, 3 started, 4 seen, 5 ended,
// 6 settled, 7 gave-up), the bytes between the end of the entry before and its
// line, the length of the line, and the time since the entry before; then for
// kinds 2 to 5 the record's fields but its text, in the order of the coder in
// index.go, and for the others the line itself. Numbers that may be negative
// are zigzag uvarints, digests are their bytes, texts are length and bytes, and
// a data set, lane, class, break, provider, model, finish reason or sampling (as JSON)
// is the number of a name. An index can always be made anew from its segment,
// and is, when it is missing, damaged or of another version.
//
// Sealing writes the packed file, then the index, each whole by rename, and
// then removes the .jsonl file. A process that dies in between begins again.
//
// # Outlines
//
// Most readers want to know what happened, not what was said: [Open] and
// [Outline] give records without their text, from the indexes, so that a run of
// a million records reopens in about a second. [Read] and [Reader] give whole
// records.
//
// # Durability
//
// [Journal.Append] returns when the record is on disk: written and fsynced. One
// goroutine writes; records that arrive while it waits for the disk go together
// in the next write, and each such batch opens with a sync line. [Journal.Note]
// does not wait: its record goes with the next batch, at the latest when the
// journal is closed, and survives the death of the process as soon as that
// batch was written.
//
// # When the disk fails
//
// After the first write or sync that fails, nothing is acknowledged any more:
// [Journal.Failed] is closed, and every Append returns the failure. A sync is
// never tried again on the same file, for the second one would succeed and
// prove nothing. Answers that still come in are kept in memory; [Journal.Close]
// writes them into a segment of its own if the disk takes it, and says how many
// are lost if it does not.
//
// # After a crash
//
// Bytes after the last sync line were never acknowledged. [Open] therefore cuts
// the last segment at the first line that is torn or does not match its
// checksum, provided that no sync line vouches for it, keeps what it cut in a
// torn file, and says so. What it keeps behind the last sync line it writes
// again and syncs, before anything builds on it. A bad line that a later sync
// line vouches for, or that stands in an earlier segment, is damage: Open
// refuses, naming segment and offset, and [Repair] is for a person to ask for.
package journal
