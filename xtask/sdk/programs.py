"""Programs on the Agent SDK for Python, each with the answers that the model gives.

    programs.py list             the names
    programs.py script NAME      the script for the mock, as JSON Lines
    programs.py run NAME CLI     runs it with a CLI; prints what the program saw, as JSON
"""

import asyncio
import dataclasses
import json
import os
import re
import sys

PROGRAMS = {}
COUNT = []


def program(*answers, **more):
    """Registers a program with the answers of the model, in order."""

    def register(function):
        PROGRAMS[function.__name__] = (function, answers, more)
        return function

    return register


def text(words, **more):
    return {"blocks": [{"type": "text", "text": words}], **more}


def call(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


def calls(*blocks):
    named = []
    for block in blocks:
        COUNT.append(1)
        named.append(dict(block, id=f"toolu_{len(COUNT)}_{block['name']}"))
    return {"blocks": named}


def bash(command, description="x"):
    return call("Bash", command=command, description=description)


def write(path="out.txt", content="written\n"):
    return call("Write", file_path=os.path.join(os.getcwd(), path), content=content)


# What a program saw ---------------------------------------------------------------------------


class Seen:
    def __init__(self):
        self.events = []

    def add(self, kind, value=None):
        self.events.append([kind, value])

    def message(self, message):
        from claude_agent_sdk import types

        name = type(message).__name__
        if name == "SystemMessage" or isinstance(message, types.SystemMessage):
            if message.subtype in ("thinking_tokens", "informational"):
                return
            self.add("system", self.system(message))
        elif name == "AssistantMessage":
            self.add("assistant", {"content": blocks(message.content), "error": message.error, "model": message.model, "parent": message.parent_tool_use_id is not None})
        elif name == "UserMessage":
            # Each client has words of its own around a summary.
            is_summary = str(message.content).find("This session is being continued") >= 0
            self.add("user", {"content": "<summary>" if is_summary else blocks(message.content), "parent": message.parent_tool_use_id is not None})
        elif name == "StreamEvent":
            self.add("stream", message.event.get("type"))
        elif name == "ResultMessage":
            self.add("result", {
                "subtype": message.subtype, "is_error": message.is_error,
                "num_turns": message.num_turns, "result": message.result,
                "structured_output": message.structured_output,
                "denials": [denial["tool_name"] if isinstance(denial, dict) else denial.tool_name for denial in message.permission_denials or []],
                "has_cost": (message.total_cost_usd or 0) > 0, "has_usage": bool(message.usage),
            })
        else:
            self.add(name, None)

    @staticmethod
    def system(message):
        data = message.data
        if message.subtype == "init":
            return ["init", data["model"], data["permissionMode"], data["cwd"],
                    [(server["name"], server["status"]) for server in data["mcp_servers"]],
                    sorted(tool for tool in data["tools"] if tool.startswith("mcp__")),
                    [tool for tool in ("Bash", "Read", "Write", "Edit") if tool in data["tools"]],
                    [agent for agent in data["agents"] if agent.startswith("my-")]]
        keep = ("status", "permissionMode", "state", "title", "compact_result", "hook_event")
        return [message.subtype, {key: data[key] for key in keep if key in data}]


def blocks(content):
    if isinstance(content, str):
        return content
    shown = []
    for block in content:
        value = dataclasses.asdict(block)
        value.pop("signature", None)
        value["is"] = type(block).__name__
        shown.append(value)
    return shown


def normal(value):
    """Without what is of this run."""
    words = json.dumps(value, sort_keys=True, default=str)
    words = words.replace(os.getcwd(), "<cwd>").replace(os.environ.get("HOME", "/nowhere"), "<home>")
    words = words.replace(re.sub(r"[^A-Za-z0-9]", "-", os.getcwd()), "<key>")
    words = re.sub(r"\ba[0-9a-f]{16}\b", "<agent>", words)
    words = re.sub(r"tool-results/[0-9a-z]+", "tool-results/<name>", words)
    words = re.sub(r"\bb[0-9a-z]{8}\b(?=[. ])", "<task>", words)
    words = re.sub(r"(duration_ms|subagent_tokens): \d+", r"\1: 0", words)
    words = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", words)
    return json.loads(words)


def files():
    found = {}
    for name in sorted(os.listdir(".")):
        if os.path.isfile(name):
            with open(name) as file:
                found[name] = file.read()
    return found


# Helpers for programs ---------------------------------------------------------------------------


def options(**given):
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(cli_path=CLI, setting_sources=given.pop("setting_sources", []), **given)


async def ask(seen, prompt, **given):
    from claude_agent_sdk import query

    async for message in query(prompt=prompt, options=options(**given)):
        seen.message(message)


async def stream_of(*prompts):
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None, "session_id": ""}


async def turn(seen, client, prompt):
    await client.query(prompt)
    async for message in client.receive_response():
        seen.message(message)


# Programs ---------------------------------------------------------------------------------------


@program(text("Hello."))
async def query_text(seen):
    await ask(seen, "hello")


@program(text("One."), text("Two."))
async def client_two_turns(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options()) as client:
        await turn(seen, client, "one")
        await turn(seen, client, "two")


@program(calls(write()), text("Done."))
async def accept_edits(seen):
    await ask(seen, "write", permission_mode="acceptEdits")


@program(calls(write()), text("Not done."))
async def default_mode_denies(seen):
    await ask(seen, "write")


@program(calls(bash("echo from-bash")), text("Ran."))
async def allowed_bash(seen):
    await ask(seen, "run", allowed_tools=["Bash"])


@program(calls(write()), text("Allowed."))
async def can_use_tool_allows(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultAllow

    async def answer(tool, given, context):
        seen.add("asked", [tool, given, len(context.suggestions)])
        return PermissionResultAllow()

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write")


@program(calls(write()), text("Refused."))
async def can_use_tool_denies(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultDeny

    async def answer(tool, given, context):
        return PermissionResultDeny(message="not today")

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write")


@program(calls(write()), text("Changed."))
async def can_use_tool_changes_the_input(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultAllow

    async def answer(tool, given, context):
        return PermissionResultAllow(updated_input=dict(given, content="other\n"))

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write")


@program(calls(write()), text("never"))
async def can_use_tool_interrupts(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultDeny

    async def answer(tool, given, context):
        return PermissionResultDeny(message="stop", interrupt=True)

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write")


@program(calls(write()), text("Failed."))
async def can_use_tool_raises(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async def answer(tool, given, context):
        raise RuntimeError("broken callback")

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write")


@program(calls(write("a.txt")), calls(write("b.txt")), text("Twice."))
async def grants_count_later(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultAllow, PermissionUpdate

    async def answer(tool, given, context):
        seen.add("asked", tool)
        update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
        return PermissionResultAllow(updated_permissions=[update])

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "write two")


def hook(seen, event, answer, matcher=None):
    from claude_agent_sdk import HookMatcher

    async def run(given, tool_use_id, context):
        known = {key: given[key] for key in ("hook_event_name", "tool_name", "tool_input", "prompt", "stop_hook_active") if key in given}
        seen.add("hook", known)
        return answer

    return {event: [HookMatcher(matcher=matcher, hooks=[run])]}


@program(calls(bash("echo hi")), text("Denied."))
async def hook_denies(seen):
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "policy"}}
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(hooks=hook(seen, "PreToolUse", answer, "Bash"))) as client:
        await turn(seen, client, "run")


@program(calls(write()), text("By hook."))
async def hook_allows_and_changes(seen):
    path = os.path.join(os.getcwd(), "hooked.txt")
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"file_path": path, "content": "hooked\n"}}}
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(hooks=hook(seen, "PreToolUse", answer))) as client:
        await turn(seen, client, "write")


@program(calls(bash("echo hi")), text("Noted."))
async def hook_after_a_tool(seen):
    answer = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "note"}}
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(hooks=hook(seen, "PostToolUse", answer), allowed_tools=["Bash"])) as client:
        await turn(seen, client, "run")


@program(text("never"))
async def hook_blocks_a_prompt(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(hooks=hook(seen, "UserPromptSubmit", {"decision": "block", "reason": "no"}))) as client:
        await turn(seen, client, "hello")


@program(text("Once."), text("Twice."))
async def hook_stop_blocks_once(seen):
    from claude_agent_sdk import ClaudeSDKClient, HookMatcher

    count = []

    async def run(given, tool_use_id, context):
        count.append(1)
        seen.add("stop hook", given["stop_hook_active"])
        return {"decision": "block", "reason": "more"} if len(count) == 1 else {}

    async with ClaudeSDKClient(options(hooks={"Stop": [HookMatcher(hooks=[run])]})) as client:
        await turn(seen, client, "hello")


def calculator(seen):
    from claude_agent_sdk import create_sdk_mcp_server, tool

    @tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(given):
        seen.add("called", given)
        return {"content": [{"type": "text", "text": f"sum: {given['a'] + given['b']}"}]}

    @tool("boom", "Fails", {})
    async def boom(given):
        return {"content": [{"type": "text", "text": "it broke"}], "is_error": True}

    return create_sdk_mcp_server("calc", tools=[add, boom])


@program(calls(call("mcp__calc__add", a=2, b=3)), text("Five."))
async def custom_tool(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(mcp_servers={"calc": calculator(seen)}, allowed_tools=["mcp__calc__add"])) as client:
        await turn(seen, client, "add")


@program(calls(call("mcp__calc__boom")), text("It failed."))
async def custom_tool_fails(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(mcp_servers={"calc": calculator(seen)}, allowed_tools=["mcp__calc"])) as client:
        await turn(seen, client, "fail")


@program(calls(call("mcp__calc__add", a=2, b=3)), text("Not allowed."))
async def custom_tool_needs_leave(seen):
    await ask(seen, stream_of("add"), mcp_servers={"calc": calculator(seen)})


@program(text("One two three four five six seven eight nine ten. " * 40, event_delay_ms=40, chunk_bytes=60), text("After."))
async def interrupt(seen):
    from claude_agent_sdk import ClaudeSDKClient, ResultMessage

    async with ClaudeSDKClient(options(include_partial_messages=True)) as client:
        await client.query("long")
        async for message in client.receive_response():
            if type(message).__name__ == "StreamEvent":
                if message.event.get("type") == "content_block_delta":
                    await client.interrupt()
                continue
            if isinstance(message, ResultMessage):
                seen.message(message)
        await client.query("again")
        async for message in client.receive_response():
            if type(message).__name__ != "StreamEvent":
                seen.message(message)


@program(calls(call("StructuredOutput", color="red", n=1)), text("never"))
async def structured_output(seen):
    schema = {"type": "object", "properties": {"color": {"type": "string"}, "n": {"type": "integer"}}, "required": ["color", "n"]}
    await ask(seen, "give", output_format={"type": "json_schema", "schema": schema})


@program(text("Hello."))
async def partial_messages(seen):
    await ask(seen, "hello", include_partial_messages=True)


@program(calls(bash("echo 1")), calls(bash("echo 2")), text("never"))
async def max_turns(seen):
    try:
        await ask(seen, "loop", max_turns=1, allowed_tools=["Bash"])
    except Exception as error:
        seen.add("raised", type(error).__name__)


@program(calls(bash("echo 1")), text("never"))
async def budget(seen):
    try:
        await ask(seen, "spend", max_budget_usd=0.000001, allowed_tools=["Bash"])
    except Exception as error:
        seen.add("raised", type(error).__name__)


@program(text("First."), text("Second."))
async def resume(seen):
    from claude_agent_sdk import query

    session = None
    async for message in query(prompt="one", options=options()):
        seen.message(message)
        session = getattr(message, "session_id", session)
    async for message in query(prompt="two", options=options(resume=session)):
        seen.message(message)
    seen.add("same session", getattr(message, "session_id", None) == session)


@program(text("First."), text("Second."))
async def fork(seen):
    from claude_agent_sdk import query

    session = None
    async for message in query(prompt="one", options=options()):
        session = getattr(message, "session_id", session)
    async for message in query(prompt="two", options=options(resume=session, fork_session=True)):
        seen.message(message)
    seen.add("same session", getattr(message, "session_id", None) == session)


@program(text("First."), text("Second."))
async def continue_conversation(seen):
    from claude_agent_sdk import query

    async for message in query(prompt="one", options=options()):
        session = getattr(message, "session_id", None)
    async for message in query(prompt="two", options=options(continue_conversation=True)):
        seen.message(message)
    seen.add("same session", getattr(message, "session_id", None) == session)


@program(text("never"))
async def resume_unknown(seen):
    try:
        await ask(seen, "hello", resume="11111111-0000-4000-8000-000000000009")
    except Exception as error:
        seen.add("raised", type(error).__name__)


@program(calls(write("a.txt")), text("Refused."), calls(write("b.txt")), text("Written."))
async def set_permission_mode(seen):
    from claude_agent_sdk import ClaudeSDKClient, PermissionResultDeny

    async def answer(tool, given, context):
        return PermissionResultDeny(message="no")

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        await turn(seen, client, "one")
        await client.set_permission_mode("acceptEdits")
        await turn(seen, client, "two")


@program(text("First."), text("Second.", answer_model="claude-haiku-5-5", times=5))
async def set_model(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options()) as client:
        await turn(seen, client, "one")
        await client.set_model("claude-haiku-5-5")
        await turn(seen, client, "two")


@program({"fault": "400", "times": 50})
async def api_error(seen):
    try:
        await ask(seen, "hello")
    except Exception as error:
        seen.add("raised", type(error).__name__)


@program(text("Hello."))
async def system_prompt(seen):
    await ask(seen, "hello", system_prompt="You are a test.", model="claude-haiku-5-5")


@program(calls(bash("echo hi")), text("No such tool."))
async def disallowed_tool(seen):
    await ask(seen, "run", disallowed_tools=["Bash"])


@program(calls(bash("echo hi")), text("None."))
async def no_tools(seen):
    await ask(seen, "run", tools=[])


@program(text("One."), text("Two."))
async def streamed_prompts(seen):
    await ask(seen, stream_of("one"))


@program(calls(call("Agent", description="Help", prompt="help me", subagent_type="my-helper", run_in_background=False)), text("I helped."), text("The helper helped."))
async def subagent(seen):
    from claude_agent_sdk import AgentDefinition

    helper = AgentDefinition(description="helps", prompt="You help.", tools=["Read"])
    await ask(seen, stream_of("delegate"), agents={"my-helper": helper}, permission_mode="bypassPermissions")


@program(calls(bash("echo hi; exit 3")), text("It failed."))
async def failing_command(seen):
    await ask(seen, "run", allowed_tools=["Bash"])


@program({"blocks": [{"type": "thinking", "thinking": "Hmm."}, {"type": "text", "text": "Thought."}]})
async def thinking(seen):
    await ask(seen, "think")


@program(calls(bash("sleep 1; echo a"), bash("echo b")), text("Both."))
async def parallel_calls(seen):
    await ask(seen, "both", allowed_tools=["Bash"])


@program(text("Hello."))
async def server_info(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options()) as client:
        info = await client.get_server_info()
        seen.add("info", [bool(info.get("commands")), info.get("output_style")])
        await turn(seen, client, "hello")
        status = await client.get_mcp_status()
        seen.add("servers", status)
        usage = await client.get_context_usage()
        seen.add("usage", sorted(key for key in ("totalTokens", "maxTokens", "percentage", "categories") if key in usage))


@program(text("Hello."))
async def bad_option(seen):
    try:
        await ask(seen, "hello", extra_args={"no-such-option": None})
    except Exception as error:
        seen.add("raised", type(error).__name__)


@program(calls(write("kept.txt", "new\n")), text("Edited."))
async def rewind(seen):
    from claude_agent_sdk import ClaudeSDKClient, UserMessage

    with open("kept.txt", "w") as file:
        file.write("old\n")
    given = dict(permission_mode="acceptEdits", enable_file_checkpointing=True, extra_args={"replay-user-messages": None})
    async with ClaudeSDKClient(options(**given)) as client:
        await client.query("edit")
        prompt = None
        async for message in client.receive_response():
            if isinstance(message, UserMessage) and message.uuid and isinstance(message.content, str):
                prompt = message.uuid
            seen.message(message)
        seen.add("has prompt", prompt is not None)
        await client.rewind_files(prompt)


def leave(name, content):
    """A file of the project that is there before."""
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    with open(name, "w") as file:
        file.write(content)


async def talk(seen, prompts, **given):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(**given)) as client:
        for prompt in prompts:
            await turn(seen, client, prompt)


@program(text("First."), text("Second."))
async def clear_command(seen):
    await talk(seen, ["one", "/clear", "two"])


@program(text("First."), text("The summary."), text("Second.", times=5))
async def compact_command(seen):
    await talk(seen, ["one", "/compact", "two"])


@program(text("Hello, Ada."))
async def custom_command(seen):
    leave(".claude/commands/greet.md", "---\ndescription: greets\n---\nSay hello to $ARGUMENTS\n")
    await talk(seen, ["/greet Ada"], setting_sources=["project"])


@program(calls(bash("touch made.txt")), text("Made."), calls(bash("touch other.txt")), text("Not made."))
async def command_with_allowed_tools(seen):
    leave(".claude/commands/make.md", "---\nallowed-tools: Bash(touch:*)\n---\nMake the file\n")
    await talk(seen, ["/make", "again"], setting_sources=["project"])


@program(text("What is that?"))
async def unknown_command(seen):
    await talk(seen, ["/nosuchcommand now"])


@program(calls(call("Read", file_path=os.path.join(os.getcwd(), "a.txt"))), calls(call("Edit", file_path=os.path.join(os.getcwd(), "a.txt"), old_string="one", new_string="two")), text("Edited."))
async def read_and_edit(seen):
    leave("a.txt", "one\n")
    await ask(seen, "edit", permission_mode="acceptEdits")


@program(calls(call("Edit", file_path=os.path.join(os.getcwd(), "a.txt"), old_string="one", new_string="two")), text("Not read."))
async def edit_without_reading(seen):
    leave("a.txt", "one\n")
    await ask(seen, "edit", permission_mode="acceptEdits")


@program(calls(write()), text("Only planning."))
async def plan_mode(seen):
    await ask(seen, "write", permission_mode="plan")


@program(calls(bash("rm kept.txt")), text("Removed."))
async def bypass_permissions(seen):
    leave("kept.txt", "x\n")
    await ask(seen, "remove", permission_mode="bypassPermissions")


@program(calls(write()), text("Denied."))
async def dont_ask(seen):
    await ask(seen, "write", permission_mode="dontAsk")


@program(calls(bash("rm kept.txt")), text("Denied."))
async def disallowed_rule(seen):
    leave("kept.txt", "x\n")
    await ask(seen, "remove", allowed_tools=["Bash"], disallowed_tools=["Bash(rm:*)"])


@program(calls(call("Nope", a=1)), text("No such tool."))
async def unknown_tool(seen):
    await ask(seen, "call")


@program(calls(bash("seq 1 20000")), text("Long."))
async def long_output(seen):
    await ask(seen, "run", allowed_tools=["Bash"])


@program(calls(bash('echo "$GREETING"')), text("Greeted."))
async def environment(seen):
    await ask(seen, "run", allowed_tools=["Bash"], env={"GREETING": "hi from env"})


@program(text("Remembered."))
async def hook_adds_context(seen):
    answer = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "the door is blue"}}
    await talk(seen, ["which door?"], hooks=hook(seen, "UserPromptSubmit", answer))


@program(calls(bash("echo hi")), text("never"))
async def hook_stops_after_a_tool(seen):
    answer = {"continue_": False, "stopReason": "enough"}
    await talk(seen, ["run"], hooks=hook(seen, "PostToolUse", answer), allowed_tools=["Bash"])


@program(text("Two parts."))
async def prompt_of_blocks(seen):
    await ask(seen, stream_of([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]))


@program(calls(write("../beside/out.txt")), text("Written there."))
async def added_directory(seen):
    os.makedirs("../beside", exist_ok=True)
    await ask(seen, "write", permission_mode="acceptEdits", add_dirs=[os.path.abspath("../beside")])


@program(calls(call("mcp__calc__add", a=2, b=3)), text("Off."), calls(call("mcp__calc__add", a=2, b=3)), text("On."))
async def server_switched_off_and_on(seen):
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(options(mcp_servers={"calc": calculator(seen)}, allowed_tools=["mcp__calc"])) as client:
        await turn(seen, client, "add")
        status = await client.get_mcp_status()
        seen.add("status", [(server["name"], server["status"]) for server in status["mcpServers"]])
        await turn(seen, client, "add again")


# What a host keeps in a store of its own, and what it resumes from there.


def kept(messages):
    """Who said what; each client has notes of its own beside that."""
    said = []
    for message in messages:
        content = message.message.get("content")
        words = content if isinstance(content, str) else [block.get("text", block["type"]) for block in content]
        said.append([message.type, words])
    return said


@program(calls(bash("echo kept")), text("Kept."))
async def session_store(seen):
    from claude_agent_sdk import InMemorySessionStore, get_session_messages_from_store, list_sessions_from_store

    store = InMemorySessionStore()
    await ask(seen, "keep this", session_store=store, session_id="3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", allowed_tools=["Bash"])
    sessions = await list_sessions_from_store(store, directory=os.getcwd())
    seen.add("sessions", [(info.session_id, info.first_prompt, info.cwd) for info in sessions])
    seen.add("messages", kept(await get_session_messages_from_store(store, sessions[0].session_id, directory=os.getcwd())))


@program(text("First."), text("Second."))
async def session_store_resume(seen):
    import shutil

    from claude_agent_sdk import InMemorySessionStore, get_session_messages_from_store, query

    store = InMemorySessionStore()
    async for message in query(prompt="one", options=options(session_store=store)):
        session = getattr(message, "session_id", None)
    # Nothing but the store is left to resume from.
    shutil.rmtree(os.path.join(os.environ["CLAUDE_CONFIG_DIR"], "projects"))
    async for message in query(prompt="two", options=options(session_store=store, resume=session)):
        seen.message(message)
    seen.add("same session", message.session_id == session)
    seen.add("messages", kept(await get_session_messages_from_store(store, session, directory=os.getcwd())))


@program(
    calls(call("Agent", description="look", prompt="look around", subagent_type="general-purpose", run_in_background=False)),
    text("I looked."),
    text("Done."),
)
async def session_store_subagent(seen):
    from claude_agent_sdk import InMemorySessionStore, get_subagent_messages_from_store, list_subagents_from_store, query

    store = InMemorySessionStore()
    async for message in query(prompt="have a look", options=options(session_store=store, allowed_tools=["Agent"])):
        session = getattr(message, "session_id", None)
    for agent in await list_subagents_from_store(store, session, directory=os.getcwd()):
        messages = await get_subagent_messages_from_store(store, session, agent, directory=os.getcwd())
        seen.add("subagent", [message.parent_tool_use_id for message in messages if message.type == "assistant"])


@program(text("First."), text("Second."))
async def session_store_that_fails(seen):
    from claude_agent_sdk import InMemorySessionStore

    class Broken(InMemorySessionStore):
        async def append(self, key, entries):
            raise OSError("no room")

    await ask(seen, "one", session_store=Broken())


@program(text("First."), text("Second."), text("Third."))
async def a_turn_is_dropped(seen):
    from claude_agent_sdk import ClaudeSDKClient, get_session_messages, query

    async with ClaudeSDKClient(options()) as client:
        for prompt in ("one", "two"):
            await client.query(prompt)
            async for message in client.receive_response():
                session = getattr(message, "session_id", None)
    said = get_session_messages(session, directory=os.getcwd())
    for prompt in (said[0].uuid, said[2].uuid):
        cut = options(resume=session, fork_session=True, resume_session_at=said[1].uuid, resume_drops_turn=prompt)
        try:
            async for message in query(prompt="three", options=cut):
                seen.message(message)
            seen.add("said", kept(get_session_messages(message.session_id, directory=os.getcwd())))
        except Exception as error:
            seen.add("refused", "Resume rejected by --resume-drops-turn:" in str(error))


@program(text("In style."))
async def output_style(seen):
    os.makedirs(".claude", exist_ok=True)
    with open(".claude/settings.local.json", "w") as file:
        json.dump({"outputStyle": "Explanatory"}, file)
    from claude_agent_sdk import query

    async for message in query(prompt="speak", options=options(setting_sources=["local"])):
        if getattr(message, "subtype", "") == "init":
            seen.add("style", message.data["output_style"])


@program(text("Greeted."))
async def plugin(seen):
    os.makedirs("../plug/.claude-plugin", exist_ok=True)
    os.makedirs("../plug/commands", exist_ok=True)
    with open("../plug/.claude-plugin/plugin.json", "w") as file:
        json.dump({"name": "plug", "version": "1.0.0", "description": "x"}, file)
    with open("../plug/commands/greet.md", "w") as file:
        file.write("---\ndescription: greets\n---\nGreet $ARGUMENTS.\n")
    from claude_agent_sdk import query

    async for message in query(prompt="/plug:greet Ann", options=options(plugins=[{"type": "local", "path": os.path.abspath("../plug")}])):
        if getattr(message, "subtype", "") == "init":
            seen.add("plugins", [plugin["name"] for plugin in message.data["plugins"] if not plugin["name"].startswith("cc-")])
            seen.add("commands", [name for name in message.data["slash_commands"] if "greet" in name])
        seen.message(message)


async def main(name):
    function, _, _ = PROGRAMS[name]
    seen = Seen()
    try:
        await asyncio.wait_for(function(seen), 90)
    except Exception as error:
        seen.add("raised at the end", type(error).__name__ + ": " + str(error)[:300])
    print(json.dumps({"events": normal(seen.events), "files": normal(files())}))


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print("\n".join(PROGRAMS))
    elif sys.argv[1] == "script":
        for answer in PROGRAMS[sys.argv[2]][1]:
            print(json.dumps({"times": 1, **answer}))
        print(json.dumps({"text": "(end of script)"}))
    else:
        CLI = sys.argv[3]
        asyncio.run(main(sys.argv[2]))
