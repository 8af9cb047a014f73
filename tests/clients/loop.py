#!/usr/bin/env python3
"""An example that keeps a long conversation, against `memdir double`: loop.py MEMDIR EXAMPLE"""

import json
import os
import subprocess
import sys
import tempfile

memdir, example = os.path.abspath(sys.argv[1]), sys.argv[2]
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as script:
    for when, text in [("Below is the older part", "They talk about tea."), ("", "It grows in the hills. " * 30)]:
        print(json.dumps({"when": {"last": when}, "reply": {"text": text}}), file=script, flush=True)
    line = [memdir, "double", "--listen", "127.0.0.1:0", "--script", script.name, "--quiet"]
    double = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        address = double.stdout.readline().strip()
        client = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "any"}
        done = subprocess.run(
            [sys.executable, example, memdir], env=os.environ | client, stdout=subprocess.PIPE, text=True, check=True
        )
    finally:
        double.terminate()
        double.wait()
said = done.stdout.split()
messages, most = int(said[0]), int(said[4])
print(done.stdout.strip())
if messages != 200 or not 5 <= most <= 50:
    sys.exit("the conversation was not kept short")
