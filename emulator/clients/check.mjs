// What every client script shares: where the emulator is, and small checks.
import assert from "node:assert/strict";

export const baseURL = process.argv[2] ?? process.env.BASE_URL;
export const apiKey = process.env.API_KEY ?? "sk-or-v1-test";
export const managementKey = process.env.MANAGEMENT_KEY;
export const model = process.env.MODEL ?? "moonshotai/kimi-k2.5";

if (!baseURL) {
  console.error("usage: node run.mjs BASE_URL   (for example http://localhost:8080/api/v1)");
  process.exit(2);
}

export const weather = {
  type: "object",
  properties: {
    city: { type: "string", description: "Name of the city" },
    days: { type: "integer", minimum: 1, maximum: 7 },
  },
  required: ["city", "days"],
};

export function checkArguments(text) {
  const args = typeof text === "string" ? JSON.parse(text) : text;
  assert.equal(typeof args.city, "string");
  assert.ok(Number.isInteger(args.days) && args.days >= 1 && args.days <= 7, `days is ${args.days}`);
}

// step runs one check and says its name; a failure ends the script.
export async function step(name, check) {
  try {
    await check();
    console.log(`ok   ${name}`);
  } catch (err) {
    console.log(`FAIL ${name}\n${err?.stack ?? err}\n${err?.cause ?? ""}`);
    process.exitCode = 1;
  }
}

export { assert };
