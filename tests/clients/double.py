#!/usr/bin/env python3
"""The official Python client against `memdir double`: double.py MEMDIR [WORD]

One stand-in is asked by all checks; with WORD, those run whose names have it. The client is strict where the types say
so: `Client(_strict_response_validation=True)` refuses responses of another shape.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import anthropic
import httpx2
from anthropic import Anthropic, AsyncAnthropic, beta_tool
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

KEY = "test-key"
MODEL = "claude-opus-5-5"
BINDING = "thinking-binding-controls-2026-08-01"
EDITING = "context-management-2025-06-27"
COMPACTION = "compact-2026-01-12"
COMPACTION_NOW = "compact-2026-09-04"
WEATHER = {
    "name": "weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def rule(reply, times=None, **when):
    return {"when": when, "reply": reply} | ({"times": times} if times else {})


def uses(name, **input):
    return {"tool_use": {"name": name, "input": input}}


SCRIPT = [
    rule({"text": "It is sunny."}, result="sunny"),
    rule(uses("memory", command="view", path="/memories/tea.md"), result="created"),
    rule({"text": "It says green."}, result="Green."),
    rule({"text": "Four."}, last="2 + 2"),
    rule({"text": "You said: {last}"}, last="number"),
    rule({"thinking": "Look it up.", "text": "One moment.", **uses("weather", city="Rome")}, last="weather"),
    rule({"thinking": "Green or black? Green.", "text": "Green."}, last="tea"),
    rule({"text": "Then black."}, last="none left"),
    rule({"error": {"status": 429, "retry_after": 1}}, times=1, last="hurry"),
    rule({"text": "There."}, last="hurry"),
    rule({"error": {"status": 429, "retry_after": 7}}, last="limit"),
    rule({"error": {"type": "overloaded_error"}}, last="overload"),
    rule({"error": {"status": 500}}, last="fail"),
    rule({"text": "This goes on for a while, and then it does not.", "breaks_after": 3}, last="break"),
    rule({"text": "So far.", "breaks_after": 3, "error": {"type": "overloaded_error"}}, last="give up"),
    rule(uses("memory", command="create", path="/memories/tea.md", file_text="Green.\n"), last="remember", turn=0),
    rule({"text": "They spoke of tea."}, compaction=True),
    rule({"text": "Well."}, last="go on"),
]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Place:
    """A stand-in that runs, and a directory."""

    def __init__(self, memdir, base):
        self.base = Path(base)
        script = self.base / "script.jsonl"
        script.write_text("".join(json.dumps(line) + "\n" for line in SCRIPT))
        line = [memdir, "double", "--listen", "127.0.0.1:0", "--key", KEY, "--script", str(script), "--quiet"]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url

    def client(self, kind=Anthropic, **options):
        options = {"api_key": KEY, "max_retries": 0, "timeout": 60, "_strict_response_validation": True} | options
        return kind(base_url=self.url, **options)

    def end(self):
        self.process.terminate()
        same(self.process.wait(10), 0)


def same(told, expected):
    assert told == expected, f"\n  told     {told!r}\n  expected {expected!r}"


def user(*content):
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def said(message):
    return {"role": "assistant", "content": [block.to_dict() for block in message.content]}


def ask(*messages, model="claude-opus-5", max_tokens=1024, **more):
    messages = [user(message) if isinstance(message, str) else message for message in messages]
    return {"model": model, "max_tokens": max_tokens, "messages": messages} | more


def refused(kind, words, make, request):
    try:
        answer = make(**request)
    except kind as error:
        assert type(error) is kind, repr(error)
        assert words in error.body["error"]["message"], error
        same(error.body["type"], "error")
        same(error.request_id, error.body["request_id"])
        return error
    raise AssertionError(f"it is answered: {answer}")


@check
def a_message_is_answered(place):
    message = place.client().messages.create(**ask("2 + 2?"))
    same((message.role, message.type, message.model), ("assistant", "message", "claude-opus-5"))
    same([block.text for block in message.content], ["Four."])
    same((message.stop_reason, message.stop_sequence), ("end_turn", None))
    assert message.id.startswith("msg_") and message._request_id.startswith("req_"), message
    assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0, message.usage


@check
def a_stream_adds_up(place):
    thinking = {"type": "adaptive"}
    request = ask("What is the weather?", model=MODEL, tools=[WEATHER], thinking=thinking)
    texts, kinds = [], set()
    for api in (place.client().messages, place.client().beta.messages):
        with api.stream(**request) as stream:
            for event in stream:
                kinds.add(event.type)
                if event.type == "text":
                    texts.append(event.text)
            message = stream.get_final_message()
        whole = api.create(**request)
        same([block.type for block in message.content], ["thinking", "text", "tool_use"])
        same((message.content[0].thinking, message.content[1].text), ("Look it up.", "One moment."))
        same((message.content[2].name, message.content[2].input), ("weather", {"city": "Rome"}))
        same(message.stop_reason, "tool_use")
        same(message.content[0].signature, whole.content[0].signature)
        same((message.usage.input_tokens, message.usage.output_tokens), (whole.usage.input_tokens, whole.usage.output_tokens))
    same("".join(texts), "One moment." * 2)
    assert {"thinking", "signature", "text", "input_json", "content_block_stop", "message_stop"} <= kinds, kinds


@check
def what_is_asked_for_ends_it(place):
    client = place.client()
    message = client.messages.create(**ask("say number one, stop, two", stop_sequences=["stop"]))
    same((message.stop_reason, message.stop_sequence), ("stop_sequence", "stop"))
    same(message.content[0].text, "You said: say number one, ")
    message = client.messages.create(**ask("number " * 50, max_tokens=5))
    same((message.stop_reason, message.usage.output_tokens), ("max_tokens", 5))


@check
def the_tool_runner_runs(place):
    cities = []

    @beta_tool
    def weather(city: str) -> str:
        """The weather of a city

        Args:
            city: its name
        """
        cities.append(city)
        return "sunny"

    api = place.client().beta.messages
    runner = api.tool_runner(**ask("What is the weather?", tools=[weather]))
    same(runner.until_done().content[-1].text, "It is sunny.")
    runner = api.tool_runner(**ask("What is the weather?", model=MODEL, tools=[weather], stream=True))
    same([stream.get_final_message().stop_reason for stream in runner], ["tool_use", "end_turn"])
    same(cities, ["Rome", "Rome"])


@check
def the_memory_tool_runs(place):
    tool = BetaLocalFilesystemMemoryTool(base_path=str(place.base / "memory"))
    request = ask("Please remember that I like it green.", tools=[tool])
    runner = place.client().beta.messages.tool_runner(**request)
    same(runner.until_done().content[-1].text, "It says green.")
    same((place.base / "memory/memories/tea.md").read_text(), "Green.\n")


@check
def tokens_are_counted(place):
    client = place.client()
    request = ask("2 + 2?", system="Be short.", tools=[WEATHER])
    used = client.messages.create(**request).usage.input_tokens
    del request["max_tokens"]
    same(client.messages.count_tokens(**request).input_tokens, used)
    same(client.beta.messages.count_tokens(**request).input_tokens, used)


@check
def models_are_listed(place):
    client = place.client()
    models = {model.id: model for model in client.models.list(limit=2)}
    assert MODEL in models and len(models) > 2, models.keys()
    assert all(model.type == "model" and model.display_name for model in models.values()), models
    same(client.models.retrieve(MODEL).id, MODEL)
    refused(anthropic.NotFoundError, "nothing-5", client.models.retrieve, {"model_id": "nothing-5"})


@check
def each_error_has_its_class(place):
    client = place.client()
    make = client.messages.create
    refused(anthropic.BadRequestError, "messages: at least one message is required", make, ask())
    refused(anthropic.BadRequestError, "max_tokens", make, ask("a", max_tokens=-1))
    refused(anthropic.BadRequestError, "Extra inputs are not permitted", make, ask("a", extra_body={"mood": "good"}))
    refused(anthropic.AuthenticationError, "nvalid", place.client(api_key="no").messages.create, ask("a"))
    elsewhere = {"origin": "http://example.com"}
    refused(anthropic.PermissionDeniedError, "page", make, ask("a", extra_headers=elsewhere))
    missing = {"path": "/v1/none", "cast_to": object}
    refused(anthropic.NotFoundError, "Not", client.get, missing)
    refused(anthropic.RequestTooLargeError, "maximum size", make, ask("a" * (33 << 20)))
    limited = refused(anthropic.RateLimitError, "", make, ask("limit"))
    same(limited.response.headers["retry-after"], "7")
    same(refused(anthropic.OverloadedError, "", make, ask("overload")).status_code, 529)
    refused(anthropic.InternalServerError, "", make, ask("fail"))
    # A call of a streaming client is refused just so.
    stream = ask("overload", stream=True)
    refused(anthropic.OverloadedError, "", make, stream)


@check
def who_is_told_to_wait_comes_back(place):
    began = time.monotonic()
    message = place.client(max_retries=2).messages.create(**ask("hurry"))
    same(message.content[0].text, "There.")
    assert time.monotonic() - began >= 1, "it did not wait"


def conversation(client):
    """One of two turns, the second of which follows thinking."""
    first = user("Which tea?")
    answer = client.messages.create(**ask(first, model=MODEL, thinking={"type": "adaptive"}))
    same([block.type for block in answer.content], ["thinking", "text"])
    return ask(first, said(answer), "There is none left.", model=MODEL, thinking={"type": "adaptive"})


@check
def thinking_comes_back_as_it_was_or_not_at_all(place):
    client = place.client()
    make = client.messages.create
    same(make(**conversation(client)).content[-1].text, "Then black.")

    altered = conversation(client)
    altered["messages"][1]["content"][0]["thinking"] = "Black."
    refused(anthropic.BadRequestError, "messages.1.content.0: Invalid `signature` in `thinking` block", make, altered)

    moved = conversation(client)
    moved["messages"][0] = user("Which coffee?")
    error = refused(anthropic.BadRequestError, "messages.1.content.0", make, moved)
    assert "bound to a different conversation" in str(error), error

    make = client.beta.messages.create
    moved["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    message = make(**moved, betas=[BINDING])
    same(message.content[-1].text, "Then black.")
    dropped = [(one.type, one.path, one.reason) for one in message.input_transformations]
    same(dropped, [("thinking_dropped", "messages.1.content.0", "prefix_binding_mismatch")])
    same(make(**conversation(client), betas=[BINDING]).input_transformations, [])


@check
def a_result_needs_its_call(place):
    client = place.client()
    make = client.messages.create
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    words = "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"
    refused(anthropic.BadRequestError, words, make, ask(user(result), tools=[WEATHER]))
    lone = ask("weather?", {"role": "assistant", "content": [call]}, "and?", tools=[WEATHER])
    words = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
    refused(anthropic.BadRequestError, words, make, lone)
    whole = ask("weather?", {"role": "assistant", "content": [call]}, user(result), tools=[WEATHER])
    same(make(**whole).content[0].text, "It is sunny.")


@check
def a_second_request_reads_from_the_cache(place):
    client = place.client()
    text = "All of this is kept in the cache. " * 1000
    system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    first = client.messages.create(**ask("2 + 2?", system=system)).usage
    assert first.cache_creation_input_tokens > 4096 and first.cache_read_input_tokens == 0, first
    same(first.cache_creation.ephemeral_5m_input_tokens, first.cache_creation_input_tokens)
    second = client.messages.create(**ask("Another 2 + 2?", system=system)).usage
    same(second.cache_read_input_tokens, first.cache_creation_input_tokens)
    same(second.cache_creation_input_tokens, 0)


def rounds(count, text):
    """So many rounds of a tool, whose results are large."""
    messages = [user("weather?")]
    for number in range(count):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "weather", "input": {"city": "Rome"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        messages += [{"role": "assistant", "content": [call]}, user(result)]
    return messages + [{"role": "assistant", "content": "It is."}, user("go on")]


@check
def results_are_cleared(place):
    api = place.client().beta.messages
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 2000},
        "keep": {"type": "tool_uses", "value": 1},
    }
    request = ask(*rounds(4, "sunny " * 1000), tools=[WEATHER])
    plain = api.create(**request)
    request |= {"context_management": {"edits": [edit]}, "betas": [EDITING]}
    message = api.create(**request)
    (applied,) = message.context_management.applied_edits
    same((applied.type, applied.cleared_tool_uses), ("clear_tool_uses_20250919", 3))
    same(message.usage.input_tokens, plain.usage.input_tokens - applied.cleared_input_tokens)
    with api.stream(**request) as stream:
        same(stream.get_final_message().context_management, message.context_management)
    del request["max_tokens"]
    counted = api.count_tokens(**request)
    same(counted.context_management.original_input_tokens, plain.usage.input_tokens)
    same(counted.input_tokens, message.usage.input_tokens)


@check
def a_conversation_is_summed_up_when_it_is_long(place):
    api = place.client().beta.messages
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50000}}
    messages = [user("tea " * 60000), {"role": "assistant", "content": "Well."}, user("go on")]
    request = ask(*messages, context_management={"edits": [edit]}, betas=[COMPACTION])
    message = api.create(**request)
    same([block.type for block in message.content], ["compaction", "text"])
    same(message.content[0].content, "They spoke of tea.")
    with api.stream(**request) as stream:
        same([block.type for block in stream.get_final_message().content], ["compaction", "text"])
    request["messages"] += [said(message), user("go on")]
    shorter = api.create(**request)
    assert shorter.usage.input_tokens < 1000, shorter.usage
    same([block.type for block in shorter.content], ["text"])


@check
def a_conversation_is_summed_up_when_it_is_asked_for(place):
    api = place.client().beta.messages
    request = ask("tea?", compaction={"type": "summarize"}, betas=[COMPACTION_NOW])
    message = api.create(**request)
    same([block.type for block in message.content], ["compaction"])
    same((message.content[0].content, message.stop_reason), ("They spoke of tea.", "compaction"))
    with api.stream(**request) as stream:
        same(stream.get_final_message().content[0].content, "They spoke of tea.")
    after = ask(said(message), user("go on"), betas=[COMPACTION_NOW])
    same(api.create(**after).content[0].text, "Well.")


@check
def a_stream_that_breaks_is_an_error(place):
    client = place.client()
    try:
        with client.messages.stream(**ask("break")) as stream:
            message = stream.get_final_message()
    except (httpx2.RemoteProtocolError, anthropic.APIConnectionError):
        pass
    else:
        raise AssertionError(f"it is whole: {message}")
    try:
        with client.messages.stream(**ask("give up")) as stream:
            message = stream.get_final_message()
    except anthropic.APIStatusError as error:
        same(error.body["error"]["type"], "overloaded_error")
    else:
        raise AssertionError(f"it is whole: {message}")


@check
def many_ask_at_once(place):
    async def all_of_them():
        async with place.client(AsyncAnthropic) as client:

            async def streamed(number):
                async with client.messages.stream(**ask(f"number {number}")) as stream:
                    return await stream.get_final_message()

            numbers = range(50)
            asked = [client.messages.create(**ask(f"number {number}")) for number in numbers]
            messages = await asyncio.gather(*asked, *map(streamed, numbers))
            expected = [f"You said: number {number}" for number in numbers] * 2
            same([message.content[0].text for message in messages], expected)
            same(len({message.id for message in messages}), 100)

    asyncio.run(all_of_them())


def main():
    memdir, word = sys.argv[1], "".join(sys.argv[2:])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="memdir-double-") as base:
        place = Place(memdir, base)
        for function in CHECKS:
            if word not in function.__name__:
                continue
            try:
                function(place)
                print(f"ok      {function.__name__}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {function.__name__}", flush=True)
                traceback.print_exc()
        place.end()
    sys.exit(f"{failed} checks failed" if failed else 0)


if __name__ == "__main__":
    main()
