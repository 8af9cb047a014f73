#!/usr/bin/env python3
"""memdir beside two other MCP memory servers, on the same notes, over standard input and output.

    cargo build --release
    npm install --prefix PEERS --ignore-scripts \\
        @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31
    python3 benches/mcp_compare.py PEERS [--bin target/release/memdir] [--sizes 10,1000,10000,100000]

Bare lines of JSON-RPC go in and out, in interleaved rounds; the time of one ends when its answer has been read. What a
server does not offer is left out, and what takes it longer than --budget seconds ends there. Stores are made in a
directory that is removed in the end (in MEMDIR_BENCH_DIR, else the system's place for temporary files). Markdown tables
are printed, and a JSON summary as the last line.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REVISION = "2025-11-25"
PEER = "node_modules/@modelcontextprotocol/{}/dist/index.js"
# Each topic is that of so many notes.
ON_A_TOPIC = 10
CLIENTS, ITEMS = 8, 50
MARK = "## end"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", help="where the other two were installed to")
    parser.add_argument("--bin", default=ROOT / "target/release/memdir")
    parser.add_argument("--sizes", default="10,1000,10000,100000", help="notes in the store, by commas")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--budget", type=float, default=6, help="seconds for a server's calls of one kind and size")
    options = parser.parse_args()
    os.umask(0o077)
    summary = {"load": [], "calls": {}, "start": {}, "resident": {}, "kept": {}}
    sizes = [int(size) for size in options.sizes.split(",")]
    kinds = (Memdir, Graph, Files)
    with tempfile.TemporaryDirectory(prefix="memdir-mcp-", dir=os.environ.get("MEMDIR_BENCH_DIR")) as work:
        for size in sizes:
            base = Path(work) / str(size)
            servers = [kind(options, base / kind.name, size) for kind in kinds]
            for server in servers:
                begin = time.perf_counter()
                server.load()
                server.run()
                tell(f"{size} notes: {server.name} is ready after {time.perf_counter() - begin:.1f} s")
            summary["load"].append(round(os.getloadavg()[0], 1))
            summary["calls"][size] = calls(servers, options)
            tell(f"{size} notes: {json.dumps(summary['calls'][size])}")
            summary["resident"][size] = {server.name: server.stop() for server in servers}
        base = Path(work) / "few"
        summary["start"] = start([kind(options, base / kind.name, 10) for kind in kinds], options.rounds)
        base = Path(work) / "shared"
        summary["kept"] = {kind.name: kept(kind, options, base / kind.name) for kind in kinds}
    report(sizes, [kind.name for kind in kinds], summary)
    print(json.dumps(summary))


def tell(progress):
    print(progress, file=sys.stderr, flush=True)


def note(i, size):
    """A note's name below its directory, its topic and its text."""
    topic = f"topic{i % max(1, size // ON_A_TOPIC):05}"
    text = f"# Note {i}\n\nFrom the review of {topic}: deploy by hand, step {i % 7} first, and note what failed.\n"
    return f"{i // 1000:03}/{i % 1000:03}.md", topic, text


def write_files(directory, size):
    for i in range(size):
        name, _, text = note(i, size)
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class Server:
    """One server and a store of so many notes. Subclasses say how calls are worded, as (tool, arguments)."""

    def __init__(self, options, base, size):
        self.options, self.base, self.size, self.made = options, base, size, 0
        base.mkdir(parents=True, exist_ok=True)

    def run(self):
        environment = {**os.environ, **self.environment()}
        self.process = subprocess.Popen(
            self.line(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        client = {"name": "bench", "version": "1"}
        self.id = 0
        self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self.id:
                return answer["result"]
        raise RuntimeError(f"{self.name} has ended")

    def call(self, tool, arguments):
        """The answer; what failed is an exception."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{self.name}: {tool}: {result['content'][0]['text'][:200]}")
        return result

    def stop(self):
        """Ends it; the most memory that it had, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        return round(int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024)

    def environment(self):
        return {}


class Memdir(Server):
    name = "memdir"

    def line(self):
        return [self.options.bin, "mcp", "--dir", self.base]

    def load(self):
        write_files(self.base / "memories/notes", self.size)
        # What others wrote is taken in by who looks next.
        subprocess.run([self.options.bin, "check", "--dir", self.base], check=True, stdout=subprocess.DEVNULL)

    def write(self, i):
        _, _, text = note(i, self.size)
        return "memory", {"command": "create", "path": f"/memories/new/{i}.md", "file_text": text}

    def append(self, i):
        path = f"/memories/notes/{note(0, self.size)[0]}"
        return "memory", {"command": "insert", "path": path, "insert_line": 3, "insert_text": f"- item {i}.\n"}

    def read(self, i):
        return "memory", {"command": "view", "path": f"/memories/notes/{note(i, self.size)[0]}"}

    def search(self, i):
        return "memory_retrieve", {"query": note(i, self.size)[1], "limit": ON_A_TOPIC}

    def begin_shared(self):
        return "memory", {"command": "create", "path": "/memories/shared.md", "file_text": f"{MARK}\n"}

    def add_shared(self, item):
        line = {"insert_line": 0, "insert_text": f"{item}\n"}
        return "memory", {"command": "insert", "path": "/memories/shared.md", **line}

    def shared(self):
        return (self.base / "memories/shared.md").read_text()


class Graph(Server):
    name = "server-memory"

    def line(self):
        return ["node", Path(self.options.peers) / PEER.format(self.name)]

    def environment(self):
        return {"MEMORY_FILE_PATH": str(self.base.resolve() / "graph.jsonl")}

    def entity(self, i):
        return {"name": f"note-{i}", "entityType": "note", "observations": [note(i, self.size)[2]]}

    def load(self):
        lines = (json.dumps({"type": "entity", **self.entity(i)}) for i in range(self.size))
        (self.base / "graph.jsonl").write_text("\n".join(lines))

    def write(self, i):
        return "create_entities", {"entities": [self.entity(self.size + i)]}

    def append(self, i):
        return "add_observations", {"observations": [{"entityName": "note-0", "contents": [f"item {i}."]}]}

    def read(self, i):
        return "open_nodes", {"names": [f"note-{i}"]}

    def search(self, i):
        return "search_nodes", {"query": note(i, self.size)[1]}

    def begin_shared(self):
        return "create_entities", {"entities": [{"name": "note-0", "entityType": "note", "observations": []}]}

    def add_shared(self, item):
        return "add_observations", {"observations": [{"entityName": "note-0", "contents": [item]}]}

    def shared(self):
        return (self.base / "graph.jsonl").read_text()


class Files(Server):
    name = "server-filesystem"
    # It finds files by their names alone.
    search = None

    def line(self):
        return ["node", Path(self.options.peers) / PEER.format(self.name), self.base]

    def path(self, name):
        return str(self.base.resolve() / name)

    def load(self):
        write_files(self.base / "notes", self.size)
        (self.base / "new").mkdir()

    def write(self, i):
        return "write_file", {"path": self.path(f"new/{i}.md"), "content": note(i, self.size)[2]}

    def append(self, i):
        edit = {"oldText": "# Note 0\n", "newText": f"# Note 0\n- item {i}.\n"}
        return "edit_file", {"path": self.path(f"notes/{note(0, self.size)[0]}"), "edits": [edit]}

    def read(self, i):
        return "read_text_file", {"path": self.path(f"notes/{note(i, self.size)[0]}")}

    def begin_shared(self):
        return "write_file", {"path": self.path("shared.md"), "content": f"{MARK}\n"}

    def add_shared(self, item):
        edit = {"oldText": MARK, "newText": f"{item}\n{MARK}"}
        return "edit_file", {"path": self.path("shared.md"), "edits": [edit]}

    def shared(self):
        return Path(self.path("shared.md")).read_text()


CALLS = {"write": "a new note", "append": "a line to a note", "read": "read a note", "search": "search"}


def calls(servers, options):
    """Milliseconds by kind of call and server; the first round warms up and does not count."""
    times = {call: {server.name: [] for server in servers} for call in CALLS}
    spent = {(call, server.name): 0.0 for call in CALLS for server in servers}
    for round_ in range(options.rounds + 1):
        for call in CALLS:
            # Everybody begins as often as anybody else.
            for server in servers[round_ % 3 :] + servers[: round_ % 3]:
                word = getattr(server, call)
                if word is None or spent[call, server.name] > options.budget:
                    continue
                for _ in range(10):
                    server.made += 1
                    is_new = call in ("write", "append")
                    tool, arguments = word(server.made if is_new else server.made * 37 % server.size)
                    begin = time.perf_counter()
                    server.call(tool, arguments)
                    took = time.perf_counter() - begin
                    if round_:
                        times[call][server.name].append(took * 1e3)
                        spent[call, server.name] += took
                        if spent[call, server.name] > options.budget:
                            break
    return {call: {name: figures(of) for name, of in by_name.items() if of} for call, by_name in times.items()}


def figures(values):
    p99 = sorted(values)[round(0.99 * (len(values) - 1))]
    return {"p50": round(statistics.median(values), 3), "p99": round(p99, 3), "n": len(values)}


def start(servers, rounds):
    """Milliseconds from the start of the process to the answer of `initialize`."""
    times = {server.name: [] for server in servers}
    for server in servers:
        server.load()
    for _ in range(rounds):
        for server in servers:
            begin = time.perf_counter()
            server.run()
            times[server.name].append((time.perf_counter() - begin) * 1e3)
            server.stop()
    return {name: figures(values) for name, values in times.items()}


def kept(kind, options, base):
    """How many items of all clients are there in the end, and how many were said to be added."""
    clients = [kind(options, base, 0) for _ in range(CLIENTS)]
    for client in clients:
        client.run()
    clients[0].call(*clients[0].begin_shared())
    said, at_once = [0] * CLIENTS, threading.Barrier(CLIENTS)

    def add(number):
        at_once.wait()
        for i in range(ITEMS):
            try:
                clients[number].call(*clients[number].add_shared(f"item {number} {i}."))
                said[number] += 1
            except RuntimeError:
                pass

    threads = [threading.Thread(target=add, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.stop()
    text = clients[0].shared()
    there = sum(f"item {number} {i}." in text for number in range(CLIENTS) for i in range(ITEMS))
    return {"there": there, "said": sum(said)}


def milliseconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def report(sizes, names, summary):
    print(f"| p50 (p99), ms | {' | '.join(f'{size:,} notes' for size in sizes)} |")
    print("|---|" + "--:|" * len(sizes))
    for call, what in CALLS.items():
        for name in names:
            by_size = [summary["calls"][size][call].get(name) for size in sizes]
            if any(by_size):
                cells = [f"{milliseconds(one['p50'])} ({milliseconds(one['p99'])})" for one in by_size]
                print(f"| {what}, {name} | {' | '.join(cells)} |")
    for name in names:
        memory = [f"{summary['resident'][size][name]} MiB" for size in sizes]
        print(f"| resident at most, {name} | {' | '.join(memory)} |")
    print(f"\n| | {' | '.join(names)} |\n|---|" + "--:|" * len(names))
    begun = [f"{milliseconds(summary['start'][name]['p50'])} ms" for name in names]
    print(f"| start to the answer of `initialize` | {' | '.join(begun)} |")
    there = [f"{one['there']} of {one['said']}" for one in (summary["kept"][name] for name in names)]
    print(f"| {CLIENTS} clients at once: items kept of those said to be added | {' | '.join(there)} |")
    print()


if __name__ == "__main__":
    main()
