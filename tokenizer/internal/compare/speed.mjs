// Prints how many megabytes a second of processor time the Rust library in
// WebAssembly encodes. Each document counts with the best of ten rounds.
// Standard input is a JSON object: model (a file), pattern and docs.
import fs from 'node:fs';
import { Tiktoken } from 'tiktoken';

const { model, pattern, docs } = JSON.parse(fs.readFileSync(0, 'utf8'));
const encoder = new Tiktoken(fs.readFileSync(model, 'utf8'), {}, pattern);
const bytes = docs.reduce((sum, doc) => sum + Buffer.byteLength(doc), 0);
const best = docs.map(() => Infinity);
for (let round = 0; round < 10; round++) {
  docs.forEach((doc, i) => {
    const before = process.cpuUsage();
    encoder.encode_ordinary(doc);
    const used = process.cpuUsage(before);
    best[i] = Math.min(best[i], used.user + used.system);
  });
}
console.log(bytes / best.reduce((sum, time) => sum + time));
