#!/usr/bin/env python3
"""The official Python client against `memdir mcp`, in both revisions of the protocol: client.py MEMDIR [WORD]

Each check has a store of its own; with WORD, those run whose names have it. The client itself validates structured
content against the output schemas.
"""

import asyncio
import base64
import json
import sys
import tempfile
import traceback
import warnings
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import mcp_types as types
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

# How the client begins, and what is spoken then.
REVISIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
# So long a check may take before it has failed.
LIMIT = 30
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Place:
    """A store, and clients of it."""

    def __init__(self, memdir, base, mode):
        self.memdir, self.base, self.mode = memdir, base, mode
        self.memories = base / "memories"
        self.memories.mkdir(parents=True)

    def client(self, **options):
        server = StdioServerParameters(command=self.memdir, args=["mcp", "--dir", str(self.base)])
        return Client(server, mode=self.mode, read_timeout_seconds=LIMIT, **options)

    def write(self, name, text):
        file = self.memories / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())


def same(told, expected):
    assert told == expected, f"\n  told     {told!r}\n  expected {expected!r}"


async def said(client, tool, **arguments):
    """The text of a call that succeeds, and its structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None, f"{tool} has no structured content"
    return result.content[0].text, result.structured_content


async def memory(client, **arguments):
    text, structured = await said(client, "memory", **arguments)
    same(structured, {"result": text})
    return text


async def entry(client, tool, **arguments):
    text, structured = await said(client, tool, **arguments)
    same(json.loads(text), structured)
    return structured


async def refused(client, tool, words, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    same([block.text for block in result.content], [words])


async def fails(request, *codes):
    try:
        answer = await request
    except MCPError as error:
        assert error.code in codes, f"{error.code} is not of {codes}: {error.message}"
        return error
    raise AssertionError(f"it is answered: {answer}")


@check
async def introduces_itself(place):
    async with place.client() as client:
        same(client.protocol_version, REVISIONS[place.mode])
        same(client.server_info.name, "memdir")
        assert client.server_info.title and client.server_info.version
        assert "never an order" in client.instructions, client.instructions
        can = client.server_capabilities
        assert can.tools and can.prompts and can.resources, can
        assert can.resources.subscribe and can.resources.list_changed, can.resources


@check
async def tools_are_listed(place):
    async with place.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    same(sorted(tools), ["memory", "memory_delete", "memory_retrieve", "memory_store"])
    for name, tool in tools.items():
        hints = tool.annotations
        assert tool.title or hints.title, name
        same((name, hints.open_world_hint), (name, False))
        same((name, hints.read_only_hint), (name, name == "memory_retrieve"))
        same((name, hints.destructive_hint), (name, name in ("memory", "memory_delete")))
        assert not {"oneOf", "anyOf", "allOf"} & tool.input_schema.keys(), name
        same((name, tool.input_schema["type"]), (name, "object"))
        assert tool.output_schema, f"{name} has no output schema"
    view = tools["memory"].description
    for word in ["/memories", "view", "create", "str_replace", "insert", "delete", "rename"]:
        assert word in view, f"the description does not say {word}"


@check
async def every_command_is_answered_to_the_letter(place):
    listing = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:\n"
    edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
    async with place.client() as client:
        ask = partial(memory, client)
        told = await ask(command="view", path="/memories")
        same(told, listing.format("/memories") + "0B\t/memories")
        told = await ask(command="create", path="/memories/a.md", file_text="one\ntwo\n")
        same(told, "File created successfully at: /memories/a.md")
        told = await ask(command="str_replace", path="/memories/a.md", old_str="two", new_str="2")
        same(told, edited + "     1\tone\n     2\t2\n     3\t")
        told = await ask(command="insert", path="/memories/a.md", insert_line=1, insert_text="between\n")
        same(told, "The file /memories/a.md has been edited.")
        told = await ask(command="view", path="/memories/a.md", view_range=[2, 3])
        same(told, "Here's the content of /memories/a.md with line numbers:\n     2\tbetween\n     3\t2")
        told = await ask(command="rename", old_path="/memories/a.md", new_path="/memories/b/c.md")
        same(told, "Successfully renamed /memories/a.md to /memories/b/c.md")
        same((place.memories / "b/c.md").read_text(), "one\nbetween\n2\n")
        same(await ask(command="delete", path="/memories/b"), "Successfully deleted /memories/b")
        same(list(place.memories.iterdir()), [])


@check
async def an_image_is_shown(place):
    place.write("pixel.png", PIXEL)
    async with place.client() as client:
        result = await client.call_tool("memory", {"command": "view", "path": "/memories/pixel.png"})
    image = result.content[-1]
    same((image.type, image.mime_type, base64.b64decode(image.data)), ("image", "image/png", PIXEL))


@check
async def failures_are_results(place):
    place.write("a.md", "one\n")
    async with place.client() as client:
        no = partial(refused, client, "memory")
        words = "The path /memories/x.md does not exist. Please provide a valid path."
        await no(words, command="view", path="/memories/x.md")
        await no("Error: File /memories/a.md already exists", command="create", path="/memories/a.md", file_text="")
        words = "No replacement was performed, old_str `x` did not appear verbatim in /memories/a.md."
        await no(words, command="str_replace", path="/memories/a.md", old_str="x", new_str="y")
        words = "Error: Path /memories/../../etc/passwd would escape /memories directory"
        await no(words, command="view", path="/memories/../../etc/passwd")
        for tool, arguments in [
            ("memory", {"command": "read"}),
            ("memory_store", {"content": "a", "category": "none", "importance": 3}),
            ("memory_delete", {"memory_id": "mem_none", "reason": "it is not there"}),
        ]:
            result = await client.call_tool(tool, arguments)
            assert result.is_error and result.content[0].text, (tool, result)
        await fails(client.call_tool("no_such_tool", {}), types.INVALID_PARAMS)


@check
async def entries_are_stored_found_and_deleted(place):
    async with place.client() as client:
        ask = partial(entry, client)
        fact = "Orders are kept in PostgreSQL 16."
        arguments = {"category": "decision_log", "importance": 5, "tags": ["db"], "key": "orders.db"}
        stored = await ask("memory_store", content=fact, **arguments)
        same((stored["success"], stored["path"][:23]), (True, "/memories/decision_log/"))
        found = await ask("memory_retrieve", query="which database for the orders")
        same([(one["id"], one["content"]) for one in found["memories"]], [(stored["memory_id"], fact)])
        text = await memory(client, command="view", path=stored["path"])
        assert fact in text, text
        newer = await ask("memory_store", content="Orders are kept in SQLite now.", **arguments)
        same(newer["superseded"], [stored["memory_id"]])
        same(await ask("memory_delete", memory_id=newer["memory_id"], reason="over"), {"success": True})
        same(await ask("memory_retrieve", query="which database for the orders"), {"memories": []})


@check
async def resources_are_listed_in_pages(place):
    names = [f"many/{i:03}.md" for i in range(230)] + ["plain.txt", "with blank & ü.md"]
    for name in names:
        place.write(name, name)
    uris, pages, cursor = {}, 0, None
    async with place.client() as client:
        while cursor is not None or not pages:
            page = await client.list_resources(cursor=cursor)
            if place.mode == "auto":
                same((page.ttl_ms, page.cache_scope), (0, "private"))
            for resource in page.resources:
                assert resource.uri not in uris, f"twice: {resource.uri}"
                uris[resource.uri] = resource
            pages, cursor = pages + 1, page.next_cursor
        assert pages > 1, pages
        same(len(uris), len(names))
        for name, kind in [("many/007.md", "text/markdown"), ("plain.txt", "text/plain")]:
            resource = uris[f"memory:///memories/{name}"]
            same((resource.mime_type, resource.size), (kind, len(name)))
            assert resource.annotations.last_modified, resource
        # Whatever is listed can be read.
        texts = [(await client.read_resource(uri)).contents[0].text for uri in list(uris)[::10]]
        assert set(texts) <= set(names), texts
        await fails(client.list_resources(cursor="made up"), types.INVALID_PARAMS)


@check
async def resources_are_read(place):
    place.write("a/note.md", "# Note\n\nText\n")
    place.write("pixel.png", PIXEL)
    async with place.client() as client:
        templates = (await client.list_resource_templates()).resource_templates
        same([template.uri_template for template in templates], ["memory:///memories/{+path}"])
        read = await client.read_resource("memory:///memories/a/note.md")
        if place.mode == "auto":
            same((read.ttl_ms, read.cache_scope), (0, "private"))
        (note,) = read.contents
        told = (note.uri, note.mime_type, note.text)
        same(told, ("memory:///memories/a/note.md", "text/markdown", "# Note\n\nText\n"))
        (pixel,) = (await client.read_resource("memory:///memories/pixel.png")).contents
        same((pixel.mime_type, base64.b64decode(pixel.blob)), ("image/png", PIXEL))
        gone = -32002 if place.mode == "legacy" else types.INVALID_PARAMS
        uri = "memory:///memories/x.md"
        same((await fails(client.read_resource(uri), gone)).data, {"uri": uri})
        for bad in ["memory:///memories/../../etc/passwd", "memory:///memories/%2e%2e/x", "file:///etc/passwd"]:
            await fails(client.read_resource(bad), gone, types.INVALID_PARAMS)


@check
async def prompts_are_listed_and_filled_in(place):
    async with place.client() as client:
        fact = "The user prefers dark mode."
        arguments = {"content": fact, "category": "user_preference", "importance": 5}
        await client.call_tool("memory_store", arguments)
        prompts = (await client.list_prompts()).prompts
        same(sorted(one.name for one in prompts), ["memory_bootstrap", "memory_consolidate", "memory_handover"])
        for prompt in prompts:
            assert prompt.title and prompt.description, prompt
            assert not any(argument.required for argument in prompt.arguments or []), prompt
            filled = await client.get_prompt(prompt.name)
            assert filled.messages and all(message.content.text.strip() for message in filled.messages), filled
            if prompt.name == "memory_bootstrap":
                assert any(fact in message.content.text for message in filled.messages), filled
        await fails(client.get_prompt("no_such_prompt"), types.INVALID_PARAMS)


@check
async def an_edit_by_hand_is_told(place):
    watched, other = "memory:///memories/a.md", "memory:///memories/b.md"
    place.write("a.md", "one\n")
    place.write("b.md", "one\n")
    told = asyncio.Queue()

    async def hear(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            told.put_nowait(message.params.uri)
        elif isinstance(message, types.ResourceListChangedNotification):
            told.put_nowait("list")

    async def forward(events):
        async for event in events:
            if isinstance(event, ResourceUpdated):
                told.put_nowait(event.uri)
            elif isinstance(event, ResourcesListChanged):
                told.put_nowait("list")

    async def told_until(last):
        seen = set()
        while last not in seen:
            seen.add(await told.get())
        return seen

    async with AsyncExitStack() as stack:
        if place.mode == "legacy":
            client = await stack.enter_async_context(place.client(message_handler=hear))
            await client.subscribe_resource(watched)
            # Who has seen the list is told when it changes.
            await client.list_resources()
        else:
            client = await stack.enter_async_context(place.client())
            events = client.listen(resource_subscriptions=[watched], resources_list_changed=True)
            events = await stack.enter_async_context(events)
            same(events.honored.resource_subscriptions, [watched])
            assert events.honored.resources_list_changed, events.honored
            forwarding = asyncio.create_task(forward(events))
            stack.callback(forwarding.cancel)
        place.write("b.md", "two\n")
        place.write("a.md", "two\n")
        seen = await told_until(watched)
        assert other not in seen, seen
        same((await client.read_resource(watched)).contents[0].text, "two\n")
        place.write("new.md", "one\n")
        assert other not in await told_until("list")
        await client.call_tool("memory", {"command": "delete", "path": "/memories/a.md"})
        assert other not in await told_until(watched)
        if place.mode == "legacy":
            await client.unsubscribe_resource(watched)


@check
async def two_sessions_share_a_store(place):
    async with place.client() as one, place.client() as two:
        await memory(one, command="create", path="/memories/log.md", file_text="begin\n")

        async def add(client, name):
            for i in range(40):
                await memory(
                    client, command="insert", path="/memories/log.md", insert_line=0, insert_text=f"{name} {i}\n"
                )

        await asyncio.gather(add(one, "one"), add(two, "two"))
        lines = (place.memories / "log.md").read_text().splitlines()
        same(sorted(lines), sorted(["begin", *(f"{name} {i}" for name in ("one", "two") for i in range(40))]))
        fact = "The deploy runs on Tuesdays."
        await entry(one, "memory_store", content=fact, category="project_context", importance=3)
        found = await entry(two, "memory_retrieve", query="when does the deploy run")
        same([memory["content"] for memory in found["memories"]][:1], [fact])


@check
async def calls_at_once_are_all_answered(place):
    async with place.client() as client:
        paths = [f"/memories/{i}.md" for i in range(100)]
        calls = [memory(client, command="create", path=path, file_text="x\n") for path in paths]
        told = await asyncio.gather(*calls)
        same(told, [f"File created successfully at: {path}" for path in paths])


def main():
    memdir, word = sys.argv[1], "".join(sys.argv[2:])
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    failed = 0
    for mode, revision in REVISIONS.items():
        for function in CHECKS:
            if word not in function.__name__:
                continue
            with tempfile.TemporaryDirectory(prefix="memdir-client-") as base:
                place = Place(memdir, Path(base) / "store", mode)
                try:
                    asyncio.run(asyncio.wait_for(function(place), LIMIT))
                    print(f"ok      {revision} {function.__name__}", flush=True)
                except Exception:
                    failed += 1
                    print(f"FAILED  {revision} {function.__name__}", flush=True)
                    traceback.print_exc()
    sys.exit(f"{failed} checks failed" if failed else 0)


if __name__ == "__main__":
    main()
