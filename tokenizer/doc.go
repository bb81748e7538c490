// Package tokenizer turns text into the token ids of large language models and
// back, exactly as the models' own tokenizers do.
//
// # How text becomes ids
//
// A vocabulary assigns an id to some byte strings, its ordinary tokens. Text
// becomes ids in four steps.
//
//  1. Added tokens are found. They lie outside the vocabulary and are written
//     as literals such as <|im_end|>. A literal in a rendered prompt stands for
//     the control token ([Tokenizer.EncodeSpecial]). In anything a person or a
//     model wrote it must not, or text could end a turn or call a tool
//     ([Tokenizer.Encode]).
//  2. Some vocabularies normalize what is left. Qwen's, for one, composes
//     characters, so for them decoding gives the normalized text.
//  3. A pattern splits the text into pieces: words with the space before them,
//     up to three digits, runs of punctuation, and so on.
//  4. Each piece is merged, from single bytes up, pair by pair in the order of
//     the vocabulary (byte-pair encoding). Tokens never span pieces.
//
// Every step has corners in which programs differ: the Unicode version of the
// pattern's classes, the order of its alternatives, how ties are merged, where
// very long texts are cut ([ChunkMode]). This package follows the reference
// implementations in each, and is compared with them on millions of strings
// (internal/oracle).
//
// # How ids become text
//
// A token is bytes, not characters. A character that is rare is spread over
// several tokens, each of which alone is no UTF-8. [Tokenizer.Decode] returns
// the bytes and loses nothing. [Tokenizer.DecodeString] is for people.
// [Decoder] is for streams: it holds back the beginning of a character until
// the rest has come.
//
// Encoding is not the inverse of decoding. A model may produce ids that no text
// encodes to, "hel" and "lo" where the vocabulary has "hello". Ids that matter
// must be kept; they cannot be had again from their text.
//
// # What is supported
//
// Load reads model folders of the Kimi K2 family (tiktoken.model), of models
// with a byte-level tokenizer.json, such as Qwen, DeepSeek, Llama 3 and
// gpt-oss, and OpenAI's cl100k_base and o200k_base. A vocabulary that needs
// anything this package does not do, another model type, normalizer or
// pre-tokenizer, say, is refused by name when it is loaded. What loads is
// exact, with these limits:
//
//   - Text that is no UTF-8, which the references do not accept, is encoded byte
//     for byte; the stray bytes count as symbols.
//   - [Tokenizer.Encode] takes no literal for a token. The Hugging Face library
//     in the same situation still recognises added tokens that are not marked
//     special.
//   - A template (a beginning-of-text token, for instance) is reported by
//     [Tokenizer.Template] and not applied.
//   - Truncation and padding in tokenizer.json are ignored.
package tokenizer
