// Runs all client scripts against one emulator: node run.mjs BASE_URL
import "./check.mjs";

for (const script of ["./openrouter-sdk.mjs", "./ai-sdk.mjs", "./openai.mjs"]) {
  await import(script);
}
