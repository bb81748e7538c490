// Prints what DuckDB reads of Parquet files, as JSON: the columns' types, the
// metadata, and every row. With --totals it adds up instead.
import { DuckDBInstance } from "@duckdb/node-api";

const totals = process.argv[2] === "--totals";
const files = process.argv.slice(totals ? 3 : 2);
const list = "[" + files.map((f) => "'" + f.replaceAll("'", "''") + "'").join(",") + "]";
const db = await (await DuckDBInstance.create()).connect();
const ask = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();

const out = {};
out.columns = Object.fromEntries((await ask(`DESCRIBE SELECT * FROM read_parquet(${list})`)).map((c) => [c.column_name, c.column_type]));
out.metadata = (await ask(`SELECT DISTINCT decode(key) AS k, decode(value) AS v FROM parquet_kv_metadata(${list})`)).map((r) => [r.k, r.v]);
out.groups = Number((await ask(`SELECT count(DISTINCT (file_name, row_group_id)) AS n FROM parquet_metadata(${list})`))[0].n);
if (totals) {
  const [t] = await ask(`SELECT count(*) AS n, sum(len(input_ids)) AS tokens, sum(list_sum(input_ids)) AS ids, sum(list_sum(loss_mask)) AS ones FROM read_parquet(${list})`);
  out.totals = Object.fromEntries(Object.entries(t).map(([k, v]) => [k, Number(v)]));
} else {
  out.rows = (await ask(`SELECT * FROM read_parquet(${list})`)).map((r) => ({ id: r.id, input_ids: r.input_ids.map(Number), loss_mask: r.loss_mask.map(Number) }));
}
console.log(JSON.stringify(out));
