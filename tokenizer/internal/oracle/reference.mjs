// Encodes strings with the reference implementations.
//
//   node reference.mjs VOCABULARY
//
// VOCABULARY is a JSON object in the only argument. Each line of standard
// input is a JSON list of strings; each line of output is the list of their id
// lists, in the same order.
//
//   {"kind": "hf", "file": "tokenizer.json"}
//   {"kind": "tiktoken", "name": "o200k_base", "special": true}
//   {"kind": "tiktoken", "file": "tiktoken.model", "pattern": "...", "added": {"<s>": 1},
//    "named": ["<s>"], "chunks": "kimi", "special": true}
import fs from 'node:fs';
import readline from 'node:readline';

const spec = JSON.parse(process.argv[2]);

// Python's str.isspace.
const isSpace = (char) => /^[\s\x1c-\x1f\x85]$/u.test(char) && char !== '\ufeff';

// The cuts of Kimi's wrapper: slices of 400,000 characters, and inside each
// no more than 25,000 of the same class in a row.
function cut(text) {
  const all = Array.from(text), parts = [];
  for (let i = 0; i < all.length; i += 400000) {
    const slice = all.slice(i, i + 400000);
    let from = 0, run = 0;
    slice.forEach((char, k) => {
      run = k > 0 && isSpace(char) === isSpace(slice[k - 1]) ? run + 1 : 1;
      if (run > 25000) { parts.push(slice.slice(from, k).join('')); from = k; run = 1; }
    });
    parts.push(slice.slice(from).join(''));
  }
  return parts;
}

async function tiktoken() {
  const { Tiktoken, get_encoding } = await import('tiktoken');
  const enc = spec.name ? get_encoding(spec.name)
    : new Tiktoken(fs.readFileSync(spec.file, 'utf8'), spec.added, spec.pattern);
  const plain = (text) => spec.special ? enc.encode(text, 'all', []) : enc.encode_ordinary(text);
  const join = (parts, encode) => parts.flatMap((part) => Array.from(encode(part)));
  if (spec.chunks === 'kimi') return (text) => join(cut(text), plain);
  if (spec.chunks === 'kimi-hf') {
    const quoted = spec.named.map((s) => s.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
    const border = new RegExp(`(${quoted.join('|')})`);
    return (text) => join(spec.special ? text.split(border) : [text], (part) => join(cut(part), plain));
  }
  return (text) => Array.from(plain(text));
}

async function hf() {
  const { Tokenizer } = await import('@anush008/tokenizers');
  const tokenizer = Tokenizer.fromFile(spec.file);
  return async (text) => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds();
}

const encode = await (spec.kind === 'hf' ? hf() : tiktoken());
for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const out = [];
  for (const text of JSON.parse(line)) out.push(Array.from(await encode(text)));
  process.stdout.write(JSON.stringify(out) + '\n');
}
