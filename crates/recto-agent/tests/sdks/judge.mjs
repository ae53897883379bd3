// Asks a mock through the official SDK, and prints what it got as one JSON object.

import Anthropic from "@anthropic-ai/sdk";

const baseURL = process.argv[2];
const client = new Anthropic({ apiKey: "sk-judge", baseURL });
const model = "claude-opus-5-5";
const tool = {
  name: "read_file",
  description: "Reads a file",
  input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const got = {};

const turns = (content) => [{ role: "user", content }];
const ask = (messages, more = {}) => client.messages.create({ model, max_tokens: 2000, messages, ...more });
const stream = async (content, more = {}) => {
  const events = client.messages.stream({ model, max_tokens: 2000, messages: turns(content), ...more });
  let text = "";
  events.on("text", (piece) => (text += piece));
  const answer = await events.finalMessage();
  return [text, answer];
};
const error = async (work) => {
  try {
    await work();
  } catch (failure) {
    return failure;
  }
  throw new Error("no error");
};
const kind = (failure) => failure.error.error.type;

let answer = await ask(turns("text"));
got.text = [answer.content[0].text, answer.stop_reason];
got.request_id = answer._request_id.slice(0, 4);
got.text_stream = (await stream("text"))[0];

const call = (answer) => {
  const use = answer.content.find((block) => block.type === "tool_use");
  return [use.name, use.input, answer.stop_reason];
};
answer = await ask(turns("tools"), { tools: [tool] });
got.tools = call(answer);
got.tools_stream = call((await stream("tools", { tools: [tool] }))[1]);
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "file content" };
let conversation = [
  { role: "user", content: "tools" },
  { role: "assistant", content: answer.content },
  { role: "user", content: [result] },
];
got.tool_answer = (await ask(conversation, { tools: [tool] })).content[0].text;

const thinking = { type: "enabled", budget_tokens: 1024 };
answer = (await stream("think", { thinking }))[1];
const [first, second] = answer.content;
got.thinking = [first.type, first.thinking, first.signature.length > 20, second.text];
conversation = [
  { role: "user", content: "think" },
  { role: "assistant", content: answer.content },
  { role: "user", content: "think" },
];
got.thinking_again = (await ask(conversation, { thinking })).content[1].text;
first.thinking = "Two and two is five.";
let failure = await error(() => ask(conversation, { thinking }));
got.thinking_altered = [failure.status, kind(failure)];

got.retry = (await ask(turns("retry"))).content[0].text;
failure = await error(() => ask(turns("overloaded")));
got.overloaded = [failure.status, kind(failure)];
failure = await error(() => stream("broken"));
got.broken = kind(failure);
got.slow = (await stream("slow pieces"))[0];
got.unknown_event = (await stream("unknown event"))[0];

failure = await error(() => client.messages.create({ model, max_tokens: 0, messages: turns("text") }));
got.invalid = [failure.status, kind(failure), failure.error.error.message];
got.not_found = (await error(() => client.models.retrieve("no-such-model"))).status;
const count = await client.messages.countTokens({ model, messages: turns("text") });
got.count = count.input_tokens > 0;
const models = [];
for await (const one of client.models.list()) models.push(one.id);
got.models = models.some((id) => id.startsWith("claude-"));
console.log(JSON.stringify(got));
