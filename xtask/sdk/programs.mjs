// Programs on the Agent SDK for TypeScript, each with the answers that the model gives.
//
//     programs.mjs list             the names
//     programs.mjs script NAME      the script for the mock, as JSON Lines
//     programs.mjs run NAME CLI     runs it with a CLI; prints what the program saw, as JSON
//
// AGENT_SDK is the folder that holds `node_modules`.

import fs from "node:fs";
import path from "node:path";

const PROGRAMS = new Map();
let count = 0;

function program(name, answers, run) {
  PROGRAMS.set(name, { answers, run });
}

const text = (words, more = {}) => ({ blocks: [{ type: "text", text: words }], ...more });
const call = (name, input) => ({ type: "tool_use", name, input });
const calls = (...blocks) => ({
  blocks: blocks.map((block) => ({ ...block, id: `toolu_${++count}_${block.name}` })),
});
const bash = (command) => call("Bash", { command, description: "x" });
const write = (name = "out.txt", content = "written\n") =>
  call("Write", { file_path: path.join(process.cwd(), name), content });

const sdk = () => import(path.join(process.env.AGENT_SDK, "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs"));
const zod = () => import(path.join(process.env.AGENT_SDK, "node_modules/zod/index.js"));

// What a program saw -----------------------------------------------------------------------------

class Seen {
  events = [];

  add(kind, value = null) {
    this.events.push([kind, value]);
  }

  message(message) {
    switch (message.type) {
      case "system":
        if (["thinking_tokens", "informational"].includes(message.subtype)) return;
        return this.add("system", this.system(message));
      case "assistant":
        return this.add("assistant", {
          content: message.message.content.map(block),
          error: message.error ?? null,
          model: message.message.model,
          parent: message.parent_tool_use_id !== null,
        });
      case "user":
        return this.add("user", {
          content: typeof message.message.content === "string" ? message.message.content : message.message.content.map(block),
          parent: message.parent_tool_use_id !== null,
          synthetic: message.isSynthetic ?? false,
        });
      case "stream_event":
        return this.add("stream", message.event.type);
      case "result":
        return this.add("result", {
          subtype: message.subtype,
          is_error: message.is_error,
          num_turns: message.num_turns,
          result: message.result ?? null,
          errors: message.errors ?? null,
          structured_output: message.structured_output ?? null,
          denials: message.permission_denials.map((denial) => denial.tool_name),
          terminal_reason: message.terminal_reason ?? null,
          has_cost: message.total_cost_usd > 0,
          models: Object.keys(message.modelUsage),
        });
      default:
        return this.add(message.type);
    }
  }

  system(message) {
    if (message.subtype === "init") {
      return [
        "init", message.model, message.permissionMode, message.cwd,
        message.mcp_servers.map((server) => [server.name, server.status]),
        message.tools.filter((tool) => tool.startsWith("mcp__")).sort(),
        ["Bash", "Read", "Write", "Edit"].filter((tool) => message.tools.includes(tool)),
        message.agents.filter((agent) => agent.startsWith("my-")),
      ];
    }
    const keep = ["status", "permissionMode", "state", "title", "compact_result", "hook_event", "task_type", "subagent_type", "last_tool_name"];
    const kept = Object.fromEntries(keep.filter((key) => key in message).map((key) => [key, message[key]]));
    return [message.subtype, kept];
  }
}

function block({ signature, ...rest }) {
  return rest;
}

/** Without what is of this run. */
function normal(value) {
  const words = JSON.stringify(value, (_, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
  const plain = words
    .replaceAll(process.cwd(), "<cwd>")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replace(/\ba[0-9a-f]{16}\b/g, "<agent>")
    .replace(/duration_ms: \d+/g, "duration_ms: 0")
    .replace(/subagent_tokens: \d+/g, "subagent_tokens: 0");
  return JSON.parse(plain);
}

function files() {
  const found = {};
  for (const name of fs.readdirSync(".").sort()) {
    if (fs.statSync(name).isFile()) found[name] = fs.readFileSync(name, "utf8");
  }
  return found;
}

// Helpers for programs ---------------------------------------------------------------------------

function options(given = {}) {
  return { pathToClaudeCodeExecutable: CLI, cwd: process.cwd(), settingSources: [], ...given };
}

async function ask(seen, prompt, given = {}) {
  const { query } = await sdk();
  let last;
  for await (const message of query({ prompt, options: options(given) })) {
    seen.message(message);
    last = message;
  }
  return last;
}

/** Prompts one after the other, each when the turn before is over. */
class Prompts {
  waiting = [];
  wake = () => {};

  give(content) {
    this.waiting.push({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" });
    this.wake();
  }

  close() {
    this.waiting.push(null);
    this.wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.waiting.length === 0) await new Promise((wake) => (this.wake = wake));
      const next = this.waiting.shift();
      if (next === null) return;
      yield next;
    }
  }
}

/** A conversation of several turns; `between` is told which turn is over. */
async function talk(seen, prompts, given = {}, between = async () => {}) {
  const { query } = await sdk();
  const given_prompts = new Prompts();
  const left = [...prompts];
  given_prompts.give(left.shift());
  const running = query({ prompt: given_prompts, options: options(given) });
  let turn = 0;
  for await (const message of running) {
    seen.message(message);
    if (message.type !== "result") continue;
    await between(running, turn++);
    if (left.length > 0) given_prompts.give(left.shift());
    else given_prompts.close();
  }
}

async function raising(seen, work) {
  try {
    await work();
  } catch (error) {
    seen.add("raised", error.name);
  }
}

// Programs ---------------------------------------------------------------------------------------

program("ts_query_text", [text("Hello.")], (seen) => ask(seen, "hello"));

program("ts_two_turns", [text("One."), text("Two.")], (seen) => talk(seen, ["one", "two"]));

program("ts_accept_edits", [calls(write()), text("Done.")], (seen) => ask(seen, "write", { permissionMode: "acceptEdits" }));

program("ts_can_use_tool_allows", [calls(write()), text("Allowed.")], (seen) =>
  talk(seen, ["write"], {
    canUseTool: async (tool, input, { suggestions }) => {
      seen.add("asked", [tool, input, suggestions?.length ?? 0]);
      return { behavior: "allow", updatedInput: input };
    },
  }),
);

program("ts_can_use_tool_denies", [calls(write()), text("Refused.")], (seen) =>
  talk(seen, ["write"], { canUseTool: async () => ({ behavior: "deny", message: "not today" }) }),
);

const hook = (seen, answer) => [
  {
    hooks: [
      async (input) => {
        const keep = ["hook_event_name", "tool_name", "tool_input", "prompt", "stop_hook_active"];
        seen.add("hook", Object.fromEntries(keep.filter((key) => key in input).map((key) => [key, input[key]])));
        return answer;
      },
    ],
  },
];

program("ts_hook_denies", [calls(bash("echo hi")), text("Denied.")], (seen) => {
  const output = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "policy" };
  return talk(seen, ["run"], { hooks: { PreToolUse: hook(seen, { hookSpecificOutput: output }) } });
});

program("ts_hook_after_a_tool", [calls(bash("echo hi")), text("Noted.")], (seen) => {
  const output = { hookEventName: "PostToolUse", additionalContext: "note" };
  return talk(seen, ["run"], { allowedTools: ["Bash"], hooks: { PostToolUse: hook(seen, { hookSpecificOutput: output }) } });
});

async function calculator(seen) {
  const [{ createSdkMcpServer, tool }, { z }] = [await sdk(), await zod()];
  const add = tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async (given) => {
    seen.add("called", given);
    return { content: [{ type: "text", text: `sum: ${given.a + given.b}` }] };
  });
  const boom = tool("boom", "Fails", {}, async () => ({ content: [{ type: "text", text: "it broke" }], isError: true }));
  return { calc: createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add, boom] }) };
}

program("ts_custom_tool", [calls(call("mcp__calc__add", { a: 2, b: 3 })), text("Five.")], async (seen) =>
  talk(seen, ["add"], { mcpServers: await calculator(seen), allowedTools: ["mcp__calc__add"] }),
);

program("ts_custom_tool_fails", [calls(call("mcp__calc__boom", {})), text("It failed.")], async (seen) =>
  talk(seen, ["fail"], { mcpServers: await calculator(seen), allowedTools: ["mcp__calc"] }),
);

program("ts_partial_messages", [text("Hello.")], (seen) => ask(seen, "hello", { includePartialMessages: true }));

program("ts_structured_output", [calls(call("StructuredOutput", { color: "red" })), text("never")], (seen) => {
  const schema = { type: "object", properties: { color: { type: "string" } }, required: ["color"] };
  return ask(seen, "give", { outputFormat: { type: "json_schema", schema } });
});

program("ts_max_turns", [calls(bash("echo 1")), calls(bash("echo 2")), text("never")], (seen) =>
  raising(seen, () => ask(seen, "loop", { maxTurns: 1, allowedTools: ["Bash"] })),
);

program("ts_budget", [calls(bash("echo 1")), text("never")], (seen) =>
  raising(seen, () => ask(seen, "spend", { maxBudgetUsd: 0.000001, allowedTools: ["Bash"] })),
);

program("ts_resume", [text("First."), text("Second.")], async (seen) => {
  const first = await ask(seen, "one");
  const second = await ask(seen, "two", { resume: first.session_id });
  seen.add("same session", first.session_id === second.session_id);
});

program("ts_fork", [text("First."), text("Second.")], async (seen) => {
  const first = await ask(seen, "one");
  const second = await ask(seen, "two", { resume: first.session_id, forkSession: true });
  seen.add("same session", first.session_id === second.session_id);
});

program("ts_continue", [text("First."), text("Second.")], async (seen) => {
  const first = await ask(seen, "one");
  const second = await ask(seen, "two", { continue: true });
  seen.add("same session", first.session_id === second.session_id);
});

program("ts_session_id", [text("Hello.")], async (seen) => {
  const id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
  const last = await ask(seen, "hello", { sessionId: id });
  seen.add("named", last.session_id === id);
});

program("ts_set_permission_mode", [text("One."), calls(write()), text("Written.")], (seen) =>
  talk(seen, ["one", "two"], {}, async (running, turn) => {
    if (turn === 0) await running.setPermissionMode("acceptEdits");
  }),
);

program("ts_set_model", [text("First."), text("Second.", { answer_model: "claude-haiku-5-5", times: 5 })], (seen) =>
  talk(seen, ["one", "two"], {}, async (running, turn) => {
    if (turn === 0) await running.setModel("claude-haiku-5-5");
  }),
);

program("ts_subagent", [
  calls(call("Agent", { description: "Help", prompt: "help me", subagent_type: "my-helper", run_in_background: false })),
  text("I helped."),
  text("The helper helped."),
], (seen) =>
  talk(seen, ["delegate"], {
    agents: { "my-helper": { description: "helps", prompt: "You help.", tools: ["Read"] } },
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
  }),
);

program("ts_agent", [calls(bash("echo hi")), text("Only reading.")], (seen) =>
  ask(seen, "run", {
    agent: "my-reader",
    agents: { "my-reader": { description: "reads", prompt: "You read.", tools: ["Read"] } },
    allowedTools: ["Bash"],
  }),
);

program("ts_append_system_prompt", [text("Hello.")], (seen) =>
  ask(seen, "hello", { systemPrompt: { type: "preset", preset: "claude_code", append: "Be kind." } }),
);

program("ts_disallowed_tool", [calls(bash("echo hi")), text("No such tool.")], (seen) =>
  ask(seen, "run", { disallowedTools: ["Bash"] }),
);

program("ts_api_error", [{ fault: "400", times: 50 }], (seen) => raising(seen, () => ask(seen, "hello")));

program("ts_resume_unknown", [text("never")], (seen) =>
  raising(seen, () => ask(seen, "hello", { resume: "11111111-0000-4000-8000-000000000009" })),
);

program("ts_questions_about_the_session", [text("Hello.")], (seen) =>
  talk(seen, ["hello"], {}, async (running) => {
    const commands = await running.supportedCommands();
    seen.add("commands", ["clear", "compact"].filter((name) => commands.some((command) => command.name === name)));
    seen.add("models", (await running.supportedModels()).length > 0);
    seen.add("account", Object.keys(await running.accountInfo()).includes("apiKeySource"));
    seen.add("servers", await running.mcpServerStatus());
    const read = await running.readFile("read.txt");
    seen.add("file", read ? [read.contents, read.lossy] : null);
  }),
);

program("ts_interrupt", [
  text("One two three four five six seven eight nine ten. ".repeat(40), { event_delay_ms: 40, chunk_bytes: 60 }),
  text("After."),
], async (seen) => {
  const { query } = await sdk();
  const prompts = new Prompts();
  prompts.give("long");
  let results = 0;
  let interrupted = false;
  const running = query({ prompt: prompts, options: options({ includePartialMessages: true }) });
  for await (const message of running) {
    if (message.type === "stream_event") {
      if (message.event.type === "content_block_delta" && !interrupted) {
        interrupted = true;
        await running.interrupt();
      }
      continue;
    }
    if (message.type !== "result") continue;
    seen.message(message);
    if (++results === 1) prompts.give("again");
    else prompts.close();
  }
});

async function main(name) {
  const seen = new Seen();
  fs.writeFileSync("read.txt", "to be read\n");
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error("late")), 90_000).unref());
  try {
    await Promise.race([PROGRAMS.get(name).run(seen), late]);
  } catch (error) {
    seen.add("raised at the end", `${error.name}: ${String(error.message).slice(0, 300)}`);
  }
  console.log(JSON.stringify({ events: normal(seen.events), files: normal(files()) }));
  process.exit(0);
}

const [, , what, name, CLI] = process.argv;
if (what === "list") {
  console.log([...PROGRAMS.keys()].join("\n"));
} else if (what === "script") {
  for (const answer of PROGRAMS.get(name).answers) console.log(JSON.stringify({ times: 1, ...answer }));
  console.log(JSON.stringify({ text: "(end of script)" }));
} else {
  await main(name);
}
