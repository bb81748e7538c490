// The vendor's provider for the AI SDK.
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { apiKey, assert, baseURL, checkArguments, model, step, weather } from "./check.mjs";

const chat = createOpenRouter({ apiKey, baseURL }).chat(model);
const prompt = "Say something about 北京.";

await step("ai: generateText", async () => {
  const reply = await generateText({ model: chat, prompt, maxRetries: 0 });
  assert.ok(reply.text && reply.reasoningText);
  assert.equal(reply.finishReason, "stop");
  assert.ok(reply.usage.outputTokens > 0);
  assert.ok(reply.providerMetadata.openrouter.usage.cost > 0);
});

await step("ai: streamText", async () => {
  const reply = streamText({ model: chat, prompt, maxRetries: 0, onError: ({ error }) => { throw error; } });
  let text = "", reasoning = "";
  for await (const part of reply.fullStream) {
    assert.notEqual(part.type, "error", String(part.error));
    if (part.type === "text-delta") text += part.text;
    if (part.type === "reasoning-delta") reasoning += part.text;
  }
  assert.ok(text && reasoning);
  assert.equal(await reply.finishReason, "stop");
});

// Two turns: the model calls, the tool answers, the model goes on. The second
// request carries the reasoning of the first back.
await step("ai: tools, two steps", async () => {
  const seen = [];
  const get_weather = tool({
    description: "The weather.",
    inputSchema: jsonSchema(weather),
    execute: async (args) => {
      checkArguments(args);
      seen.push(args);
      return { sky: "clear", degrees: 21 };
    },
  });
  const reply = await generateText({
    model: chat, prompt, maxRetries: 0, tools: { get_weather }, stopWhen: stepCountIs(2),
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
  });
  assert.ok(seen.length > 0);
  assert.equal(reply.steps.length, 2);
  assert.ok(reply.text);
});

await step("ai: tools in a stream", async () => {
  const get_weather = tool({ description: "The weather.", inputSchema: jsonSchema(weather) });
  const reply = streamText({ model: chat, prompt, maxRetries: 0, tools: { get_weather }, toolChoice: "required" });
  const calls = await reply.toolCalls;
  assert.ok(calls.length > 0);
  calls.forEach((call) => checkArguments(call.input));
  assert.equal(await reply.finishReason, "tool-calls");
});
