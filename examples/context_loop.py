"""A long conversation from Python: `memdir context render` says before each request what to send of it.

Any client will do. This one is the official SDK, with the API's address and key from the environment.
"""

import json
import subprocess

import anthropic

MODEL, SMALL_MODEL = "claude-sonnet-5", "claude-haiku-4-5"


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


class Conversation:
    def __init__(self, policy, command="memdir"):
        pipe = subprocess.PIPE
        line = [command, "context", "render", "--policy", policy]
        self.process = subprocess.Popen(line, stdin=pipe, stdout=pipe)
        self.client = anthropic.Anthropic()
        # All that was ever said, and what was learned beside it: keep both, as they are.
        self.messages, self.notes = [], []

    def rendered(self, request):
        line = {"request": request | {"messages": self.messages}, "notes": self.notes}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"]["message"])
        return answer

    def ask(self, text):
        self.messages.append({"role": "user", "content": text})
        request = {"model": MODEL, "max_tokens": 1024, "messages": []}
        rendered = self.rendered(request)
        while wanted := rendered["wanted"]:
            summary = self.client.messages.create(
                model=SMALL_MODEL, max_tokens=wanted["max_tokens"], messages=wanted["messages"]
            )
            note = {"wanted": wanted, "answer": text_of(summary)}
            if summary.stop_reason != "end_turn":
                note = {"note": {"summary_failed": {"why": summary.stop_reason}}}
            self.notes.append({"after": len(self.messages)} | note)
            rendered = self.rendered(request)
        betas = {"anthropic-beta": ",".join(rendered["needs"]["betas"])} if rendered["needs"]["betas"] else {}
        answer = self.client.messages.create(**rendered["request"], extra_headers=betas)
        self.messages.append({"role": "assistant", "content": answer.to_dict()["content"]})
        # What the API counted makes the next estimate exact.
        usage = {"usage": answer.usage.to_dict(), "edits": rendered["edits"]}
        self.notes.append({"after": len(self.messages)} | usage)
        return text_of(answer), len(rendered["request"]["messages"])


if __name__ == "__main__":
    import sys

    conversation = Conversation("compact_with_summary=2000", *sys.argv[1:])
    most = 0
    for number in range(100):
        answer, sent = conversation.ask(f"Question {number}: " + "what of the tea in the north? " * 10)
        most = max(most, sent)
    print(f"{len(conversation.messages)} messages, at most {most} of them in one request")
