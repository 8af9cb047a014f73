#!/usr/bin/env python3
"""The MCP Inspector's command line against `memdir mcp`: inspector.py NODE MODULES MEMDIR"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    node, modules, memdir = sys.argv[1:]
    launcher = Path(modules) / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    with tempfile.TemporaryDirectory(prefix="memdir-inspector-") as store:

        def ask(method, *arguments):
            line = [node, launcher, "--cli", memdir, "mcp", "--dir", store, "--method", method, *arguments]
            asked = subprocess.run(line, capture_output=True, text=True, timeout=30)
            if asked.returncode != 0:
                sys.exit(f"{method} {arguments}: exit {asked.returncode}\n{asked.stdout}{asked.stderr}")
            return json.loads(asked.stdout)

        def call(tool, **arguments):
            pairs = [f"{name}={value}" for name, value in arguments.items()]
            return ask("tools/call", "--tool-name", tool, "--tool-arg", *pairs)

        # Strict: a schema that a client might not understand is an error.
        tools = ask("tools/list", "--strict")["tools"]
        same([tool["name"] for tool in tools], ["memory", "memory_store", "memory_retrieve", "memory_delete"])
        told = call("memory", command="create", path="/memories/a.md", file_text="# A\n")
        same(told["content"], [{"type": "text", "text": "File created successfully at: /memories/a.md"}])
        told = call("memory_store", content="Tea is green.", category="user_preference", importance=4)
        same(told["structuredContent"]["success"], True)
        uris = {resource["uri"] for resource in ask("resources/list")["resources"]}
        same(uris, {"memory:///memories/a.md", f"memory://{told['structuredContent']['path']}"})
        same(len(ask("resources/templates/list")["resourceTemplates"]), 1)
        read = ask("resources/read", "--uri", "memory:///memories/a.md")["contents"]
        same([(content["mimeType"], content["text"]) for content in read], [("text/markdown", "# A\n")])
        prompts = {prompt["name"] for prompt in ask("prompts/list")["prompts"]}
        same(prompts, {"memory_bootstrap", "memory_consolidate", "memory_handover"})
        filled = ask("prompts/get", "--prompt-name", "memory_bootstrap")
        assert "Tea is green." in json.dumps(filled), filled
    print("ok")


def same(told, expected):
    assert told == expected, f"\n  told     {told!r}\n  expected {expected!r}"


if __name__ == "__main__":
    main()
