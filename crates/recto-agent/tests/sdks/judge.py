"""Asks a mock through the official SDK, and prints what it got as one JSON object."""

import json
import sys

import anthropic

base = sys.argv[1]
client = anthropic.Anthropic(api_key="sk-judge", base_url=base)
MODEL = "claude-opus-5-5"
TOOL = {
    "name": "read_file",
    "description": "Reads a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
got = {}


def ask(content, messages=None, **more):
    messages = messages or [{"role": "user", "content": content}]
    return client.messages.create(model=MODEL, max_tokens=2000, messages=messages, **more)


def stream(content, **more):
    messages = [{"role": "user", "content": content}]
    with client.messages.stream(model=MODEL, max_tokens=2000, messages=messages, **more) as events:
        text = "".join(events.text_stream)
        return text, events.get_final_message()


def error(work):
    try:
        work()
    except anthropic.APIStatusError as failure:
        return failure
    raise SystemExit("no error")


def kind(failure):
    return failure.body["error"]["type"]


answer = ask("text")
got["text"] = [answer.content[0].text, answer.stop_reason]
got["request_id"] = answer._request_id[:4]
got["text_stream"] = stream("text")[0]


def call(answer):
    use = next(block for block in answer.content if block.type == "tool_use")
    return [use.name, use.input, answer.stop_reason]


answer = ask("tools", tools=[TOOL])
got["tools"] = call(answer)
got["tools_stream"] = call(stream("tools", tools=[TOOL])[1])
result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "file content"}
turns = [
    {"role": "user", "content": "tools"},
    {"role": "assistant", "content": answer.content},
    {"role": "user", "content": [result]},
]
got["tool_answer"] = ask(None, messages=turns, tools=[TOOL]).content[0].text

thinking = {"type": "enabled", "budget_tokens": 1024}
answer = stream("think", thinking=thinking)[1]
first, second = answer.content
got["thinking"] = [first.type, first.thinking, len(first.signature) > 20, second.text]
blocks = [block.model_dump(exclude_none=True) for block in answer.content]
turns = [
    {"role": "user", "content": "think"},
    {"role": "assistant", "content": blocks},
    {"role": "user", "content": "think"},
]
got["thinking_again"] = ask(None, messages=turns, thinking=thinking).content[1].text
blocks[0]["thinking"] = "Two and two is five."
failure = error(lambda: ask(None, messages=turns, thinking=thinking))
got["thinking_altered"] = [failure.status_code, kind(failure)]

got["retry"] = ask("retry").content[0].text
failure = error(lambda: ask("overloaded"))
got["overloaded"] = [failure.status_code, kind(failure)]
failure = error(lambda: stream("broken"))
got["broken"] = kind(failure)
got["slow"] = stream("slow pieces")[0]
got["unknown_event"] = stream("unknown event")[0]

failure = error(lambda: client.messages.create(
    model=MODEL, max_tokens=0, messages=[{"role": "user", "content": "text"}]))
got["invalid"] = [failure.status_code, kind(failure), failure.body["error"]["message"]]
got["not_found"] = error(lambda: client.models.retrieve("no-such-model")).status_code
count = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "text"}])
got["count"] = count.input_tokens > 0
got["models"] = any(model.id.startswith("claude-") for model in client.models.list())
print(json.dumps(got))
