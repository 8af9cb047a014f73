#!/usr/bin/env python3
"""memdir's index beside SQLite's FTS5 and usearch's HNSW, on the same generated texts, questions and vectors.

    pip install numpy usearch
    python3 benches/compare.py [--rows 100000] [--queries 1000]

The index bench writes texts, questions and vectors, and what memdir makes of them, to a directory that is removed in the
end (in MEMDIR_BENCH_DIR, else the system's place for temporary files). Everything answers one question at a time on one
thread, top 10, in memory after the first questions; FTS5 and usearch are asked from Python, which costs them some
microseconds. Recall is the share of the ten nearest by exact cosines of the f32 vectors.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
from usearch.index import Index

ROOT = Path(__file__).resolve().parent.parent
TOP = 10
WARM = 20
# The words that memdir (and Lucene) leave out of English.
STOP = set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--from", dest="exported", help="what the bench has exported to a directory before")
    options = parser.parse_args()
    if options.exported:
        return compare(Path(options.exported))
    with tempfile.TemporaryDirectory(prefix="memdir-compare-", dir=os.environ.get("MEMDIR_BENCH_DIR")) as directory:
        export(Path(directory), options)
        compare(Path(directory))


def export(directory, options):
    bench = ["cargo", "bench", "-q", "--bench", "index", "--", "--export", str(directory)]
    bench += ["--rows", str(options.rows), "--queries", str(options.queries)]
    subprocess.run(bench, cwd=ROOT, check=True)


def compare(directory):
    memdir = json.loads((directory / "memdir.json").read_text())
    texts = (directory / "texts").read_text().split("\n")
    questions = (directory / "questions").read_text().split("\n")
    vectors, asked = (
        numpy.fromfile(directory / f"{name}.f32", "<f4").reshape(-1, memdir["dimensions"])
        for name in ("texts", "questions")
    )
    times, exact = exactly(vectors, asked)
    print(f"{len(texts)} texts, {len(questions)} questions, load {os.getloadavg()[0]:.1f}\n")
    print("| index | p50 | p99 | recall@10 | build | on disk |\n|---|--:|--:|--:|--:|--:|")
    kinds = memdir["kinds"]
    build, size = memdir["build"], memdir["bytes"]
    ours = {}
    for kind in ("words", "meaning", "both"):
        found = recall(kinds[kind]["found"], exact) if kind == "meaning" else None
        ours[kind] = row(f"memdir, {kind}", kinds[kind]["milliseconds"], found, build, size)
    theirs = {}
    for name, without in (("FTS5", set()), ("FTS5, stop words left out of the questions", STOP)):
        theirs[name] = row(name, *full_text(directory, texts, questions, without))
    for kind in ("f32", "i8"):
        name = f"usearch HNSW, {kind}"
        times_of, answers, took, weighs = graph(directory, vectors, asked, kind)
        theirs[name] = row(name, times_of, recall(answers, exact), took, weighs)
    theirs["all compared"] = row("all compared (numpy, f32)", times, 1.0, None, vectors.nbytes)
    print()
    for kind, name in [("words", "FTS5"), ("words", "FTS5, stop words left out of the questions")] + [
        ("meaning", name) for name in ("usearch HNSW, f32", "usearch HNSW, i8", "all compared")
    ]:
        ratios = " and ".join(f"{us / them:.2f}" for us, them in zip(ours[kind], theirs[name]))
        print(f"memdir ({kind}) / {name}: p50 and p99 {ratios}")


def row(name, times, found, build, size):
    p50, p99 = numpy.percentile(times, [50, 99])
    found = "" if found is None else f"{found:.3f}"
    build = "" if build is None else f"{build:.1f} s"
    print(f"| {name} | {p50:.2f} ms | {p99:.2f} ms | {found} | {build} | {size / 1e6:.0f} MB |", flush=True)
    return p50, p99


def recall(answers, exact):
    shared = sum(len(set(map(int, one)) & set(map(int, best))) for one, best in zip(answers, exact))
    return shared / sum(map(len, exact))


def timed(questions, answer):
    """Milliseconds and answers, after some questions that do not count."""
    for question in questions[:WARM]:
        answer(question)
    times, answers = [], []
    for question in questions:
        begin = time.perf_counter()
        answers.append(answer(question))
        times.append((time.perf_counter() - begin) * 1e3)
    return times, answers


def exactly(vectors, asked):
    def answer(question):
        cosines = vectors @ question
        best = numpy.argpartition(-cosines, TOP)[:TOP]
        return best[numpy.argsort(-cosines[best])]

    return timed(asked, answer)


def full_text(directory, texts, questions, without):
    file = directory / "fts.db"
    file.unlink(missing_ok=True)
    base = sqlite3.connect(file)
    begin = time.perf_counter()
    # As memdir's: words without the texts, which are in the files.
    base.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='porter unicode61')")
    base.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts))
    base.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    base.commit()
    took = time.perf_counter() - begin
    ask = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"

    def answer(question):
        words = [word for word in re.findall(r"\w+", question) if word not in without]
        return base.execute(ask, (" OR ".join(f'"{word}"' for word in words) or '""', TOP)).fetchall()

    times, _ = timed(questions, answer)
    base.close()
    return times, None, took, file.stat().st_size


def graph(directory, vectors, asked, kind):
    index = Index(ndim=vectors.shape[1], metric="cos", dtype=kind)
    begin = time.perf_counter()
    index.add(numpy.arange(len(vectors)), vectors)
    took = time.perf_counter() - begin
    file = directory / "graph"
    index.save(file)
    times, answers = timed(asked, lambda question: index.search(question, TOP, threads=1).keys)
    return times, answers, took, file.stat().st_size


if __name__ == "__main__":
    main()
