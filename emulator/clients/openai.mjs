// The OpenAI client, which most users of the vendor start from.
import OpenAI from "openai";
import { apiKey, assert, baseURL, checkArguments, model, step, weather } from "./check.mjs";

const client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
const messages = [{ role: "user", content: "Say something about 北京." }];
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather.", parameters: weather } }];

await step("openai: chat", async () => {
  const reply = await client.chat.completions.create({ model, messages });
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.ok(reply.choices[0].message.content && reply.choices[0].message.reasoning);
  assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
});

await step("openai: stream", async () => {
  const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
  const whole = await stream.finalChatCompletion();
  assert.ok(whole.choices[0].message.content);
  assert.equal(whole.choices[0].finish_reason, "stop");
  assert.ok(whole.usage.completion_tokens > 0);
});

await step("openai: tools", async () => {
  const reply = await client.chat.completions.create({ model, messages, tools, tool_choice: "required" });
  assert.equal(reply.choices[0].finish_reason, "tool_calls");
  reply.choices[0].message.tool_calls.forEach((call) => checkArguments(call.function.arguments));
});

await step("openai: tools in a stream", async () => {
  const stream = client.chat.completions.stream({ model, messages, tools, tool_choice: "required" });
  const whole = await stream.finalChatCompletion();
  whole.choices[0].message.tool_calls.forEach((call) => checkArguments(call.function.arguments));
});

await step("openai: a second turn after a tool", async () => {
  const first = await client.chat.completions.create({ model, messages, tools, tool_choice: "required" });
  const message = first.choices[0].message;
  const answers = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "clear, 21 °C" }));
  const second = await client.chat.completions.create({ model, messages: [...messages, message, ...answers], tools, tool_choice: "none" });
  assert.ok(second.choices[0].message.content);
  assert.ok(second.usage.prompt_tokens > first.usage.prompt_tokens);
});

await step("openai: models", async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.includes(model));
});

await step("openai: errors", async () => {
  await assert.rejects(client.chat.completions.create({ model: "nobody/nothing", messages }), (err) => err.status === 400);
});
