// Package journal keeps the run directory: an append-only, checksummed,
// group-committed record of everything a run did, which can be replayed.
//
// # Layout
//
//	RUN/
//	  journal/000001.jsonl   segments, in order; the last one is being written
//	  journal/lock           held by the process that writes
//	  journal/torn-….jsonl   tails that were cut after a crash, kept aside
//
// # A segment, byte by byte
//
// A segment is JSON lines: every line is one JSON object and ends in '\n', so
// that jq and DuckDB read a journal as it lies there. Every line begins with
// the 16 bytes
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
//	segment   (here)               first line of a segment: {"v":1,"n":number of the segment}
//	sync      (here)               {"at":offset}: every byte of this segment before offset was
//	                               durable when this line was written
//	session   eyrie.SessionRecord  a process started or went on
//	prompt    eyrie.PromptRecord   a conversation, once, before it is first asked
//	started   eyrie.StartedRecord  a request is about to be sent, and what was reserved for it
//	seen      eyrie.SeenRecord     the vendor's id of an attempt
//	ended     eyrie.EndedRecord    what an attempt brought
//	settled   eyrie.SettledRecord  a bill that came late
//	gave-up   eyrie.GaveUpRecord   a generation that will not be tried again
//
// A reader that meets another kind skips it; one that meets another "v" must
// refuse the segment.
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
// # After a crash
//
// Bytes after the last sync line were never acknowledged. [Open] therefore cuts
// the last segment at the first line that is torn or does not match its
// checksum, provided that no sync line vouches for it, keeps what it cut in a
// torn file, and says so. A bad line that a later sync line vouches for, or that
// stands in an earlier segment, is damage: Open refuses, naming segment and
// offset.
package journal
