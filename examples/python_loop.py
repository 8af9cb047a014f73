"""The memory of a Python agent: one memdir process, a JSON line in, a JSON line out."""

import json
import subprocess


class Memory:
    def __init__(self, base, command="memdir", actor="assistant"):
        pipe = subprocess.PIPE
        line = [command, "call", "--dir", base, "--actor", actor]
        self.process = subprocess.Popen(line, stdin=pipe, stdout=pipe)

    def answer(self, call):
        """The answer to a tool_use block; to an assistant message, the user message to send back."""
        self.process.stdin.write(json.dumps(call).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("memdir has ended; it said why on standard error")
        return json.loads(answer)


if __name__ == "__main__":
    import sys

    memory = Memory(*sys.argv[1:])
    note = {"command": "create", "path": "/memories/tea.md", "file_text": "Green, without sugar.\n"}
    view = {"command": "view", "path": "/memories/tea.md"}
    for number, call in enumerate([note, view]):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": call}
        print(memory.answer(block)["content"])
