#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds that share a cache of cubins compile each of them once, at the same time or one after the other
(tools/embed_kernels.py). Compilers are stand-ins that count and take their time; the builds are processes
of their own, as they are in life."""
import multiprocessing
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import embed_kernels  # noqa: E402

BUILDS = 4


class Compiler:
    """Notes each compilation in a file; `text` says what comes of it."""
    version_text = "stand-in 1"

    def __init__(self, folder, seconds):
        self.notes, self.seconds = os.path.join(folder, "notes"), seconds

    def options(self, _architecture):
        return []

    def compile(self, text, macros, _architecture):
        with open(self.notes, "a", encoding="utf-8") as file:
            file.write(f"{macros[0]}\n")
        time.sleep(self.seconds)
        if text == "bad":
            return None, "this text is bad"
        return f"{text} with {macros[0]}".encode(), "8 bytes spill stores" if text == "spills" else ""

    def count(self, macro):
        with open(self.notes, encoding="utf-8") as file:
            return file.read().split().count(macro)


def build(folder, text, macro, seconds, results):
    compiler = Compiler(folder, seconds)
    results.put(embed_kernels.compile_entry("kernel", [macro], text, compiler,
                                            os.path.join(folder, "cache", "deep")))


def build_at_once(folder, text, macro):
    """What the builds got, all of which began before the first could end."""
    results = multiprocessing.Queue()
    builds = [multiprocessing.Process(target=build, args=(folder, text, macro, 0.5, results))
              for _ in range(BUILDS)]
    for one in builds:
        one.start()
    got = [results.get(timeout=30) for _ in builds]
    for one in builds:
        one.join(30)
    return got


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL  {what}")
    print(f"ok    {what}")


def dies_while_it_compiles(folder, macro):
    results = multiprocessing.Queue()
    first = multiprocessing.Process(target=build, args=(folder, "good", macro, 60, results))
    first.start()
    for _ in range(300):
        if os.path.exists(os.path.join(folder, "notes")) and Compiler(folder, 0).count(macro):
            break
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.join(30)


def main():
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(folder, 0)
        got = build_at_once(folder, "good", "A=1")
        check(got == [(b"good with A=1", None)] * BUILDS, "every build gets the cubin")
        check(compiler.count("A=1") == 1, "it was compiled once")
        got = build_at_once(folder, "good", "A=2")
        check(got == [(b"good with A=2", None)] * BUILDS, "another key is another cubin")
        got = build_at_once(folder, "bad", "A=3")
        check(got == [(None, "this text is bad")] * BUILDS, "every build hears of a fault")
        got = build_at_once(folder, "spills", "A=4")
        check(got == [(None, "8 bytes of spill stores")] * BUILDS, "and of a spill")
        check(compiler.count("A=3") == compiler.count("A=4") == 1, "found once")
        dies_while_it_compiles(folder, "A=5")
        got = build_at_once(folder, "good", "A=5")
        check(got == [(b"good with A=5", None)] * BUILDS, "a build that was killed stops nobody")
        check(compiler.count("A=5") == 2, "what it left undone is done by one of them")


if __name__ == "__main__":
    main()
