// The vendor's SDK. It checks every reply against its own schemas.
import { OpenRouter } from "@openrouter/sdk";
import { apiKey, assert, baseURL, checkArguments, managementKey, model, step, weather } from "./check.mjs";

const client = new OpenRouter({ apiKey, serverURL: baseURL, retryConfig: { strategy: "none" } });
const messages = [{ role: "user", content: "Say something about 北京." }];
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather.", parameters: weather } }];
let generation;

const send = (chatRequest) => client.chat.send({ xOpenRouterMetadata: "enabled", chatRequest: { model, messages, ...chatRequest } });

await step("sdk: chat", async () => {
  const reply = await send({ stream: false });
  const [choice] = reply.choices;
  assert.equal(choice.finishReason, "stop");
  assert.ok(choice.message.content.length > 0);
  assert.ok(choice.message.reasoning.length > 0);
  assert.equal(choice.message.reasoningDetails[0].type, "reasoning.text");
  assert.equal(reply.usage.totalTokens, reply.usage.promptTokens + reply.usage.completionTokens);
  assert.ok(reply.usage.cost > 0);
  assert.equal(reply.openrouterMetadata.attempt, 1);
  generation = { id: reply.id, cost: reply.usage.cost };
});

await step("sdk: chat without thinking", async () => {
  const reply = await send({ stream: false, reasoning: { effort: "none" } });
  assert.ok(!reply.choices[0].message.reasoning);
});

await step("sdk: stream", async () => {
  let content = "", reasoning = "", finish, usage;
  for await (const chunk of await send({ stream: true })) {
    for (const choice of chunk.choices) {
      content += choice.delta.content ?? "";
      reasoning += choice.delta.reasoning ?? "";
      finish = choice.finishReason ?? finish;
    }
    usage = chunk.usage ?? usage;
  }
  assert.ok(content && reasoning);
  assert.equal(finish, "stop");
  assert.ok(usage.completionTokensDetails.reasoningTokens > 0 && usage.cost > 0);
});

await step("sdk: tools", async () => {
  const reply = await send({ stream: false, tools, toolChoice: "required" });
  assert.equal(reply.choices[0].finishReason, "tool_calls");
  for (const call of reply.choices[0].message.toolCalls) {
    assert.equal(call.function.name, "get_weather");
    checkArguments(call.function.arguments);
  }
});

await step("sdk: tools in a stream", async () => {
  const calls = [];
  for await (const chunk of await send({ stream: true, tools, toolChoice: "required" })) {
    for (const part of chunk.choices[0]?.delta.toolCalls ?? []) {
      calls[part.index] ??= "";
      calls[part.index] += part.function?.arguments ?? "";
    }
  }
  assert.ok(calls.length > 0);
  calls.forEach(checkArguments);
});

await step("sdk: refusal", async () => {
  await assert.rejects(send({ stream: false, model: "nobody/nothing" }), (err) => err.statusCode === 400);
});

await step("sdk: models, endpoints, providers", async () => {
  const list = await client.models.list();
  let found = false;
  for await (const page of list) {
    found ||= page.result.data.some((m) => m.id === model);
  }
  assert.ok(found, `${model} is not listed`);
  const [author, slug] = model.split("/");
  const { data } = await client.endpoints.list({ author, slug });
  assert.ok(data.endpoints.length > 0 && data.endpoints.every((e) => e.tag && e.providerName));
  const providers = await client.providers.list();
  assert.ok(providers.data.some((p) => p.name === data.endpoints[0].providerName));
  assert.ok((await client.models.count()).data.count > 0);
  assert.equal((await client.models.get({ author, slug })).data.id, model);
});

await step("sdk: key", async () => {
  const { data } = await client.apiKeys.getCurrentKeyMetadata();
  assert.ok(data.usage > 0);
});

await step("sdk: generation", async () => {
  const { data } = await client.generations.getGeneration({ id: generation.id });
  assert.equal(data.totalCost, generation.cost);
});

if (managementKey) {
  const boss = new OpenRouter({ apiKey: managementKey, serverURL: baseURL, retryConfig: { strategy: "none" } });
  await step("sdk: credits", async () => {
    assert.ok((await boss.credits.getCredits()).data.totalUsage > 0);
  });
  await step("sdk: keys", async () => {
    const made = await boss.apiKeys.create({ requestBody: { name: "run", limit: 5, limitReset: "daily" } });
    const hash = made.data.hash;
    assert.equal(made.data.limitRemaining, 5);
    await boss.apiKeys.update({ hash, requestBody: { limit: 7 } });
    assert.equal((await boss.apiKeys.get({ hash })).data.limit, 7);
    assert.ok((await boss.apiKeys.list()).data.some((k) => k.hash === hash));
    assert.ok((await boss.apiKeys.delete({ hash })).deleted);
  });
}
