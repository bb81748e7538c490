// Prints what apache-arrow reads of files that hold Arrow streams, as JSON: the
// columns' types, the metadata, and every row.
import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";

const out = { rows: [] };
for (const file of process.argv.slice(2)) {
  const table = tableFromIPC(readFileSync(file));
  out.columns = Object.fromEntries(table.schema.fields.map((f) => [f.name, String(f.type)]));
  out.metadata = [...table.schema.metadata];
  out.groups = (out.groups ?? 0) + table.batches.length;
  for (const r of table) {
    out.rows.push({ input_ids: [...r.input_ids], loss_mask: [...r.loss_mask], seq_len: Number(r.seq_len) });
  }
}
console.log(JSON.stringify(out));
