#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes conform_digest.h: a digest of the conformance programs without comments and white space.

A golden file carries the digest of the programs that made it. When they change, the emulator's test
asks for a new file instead of comparing with an old one."""
import hashlib
import re
import sys

text = "".join(open(path, encoding="utf-8").read() for path in sys.argv[1:])
text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
text = re.sub(r"\s+", "", text)
digest = hashlib.sha256(text.encode()).hexdigest()[:16]
print(f"/* Made by tests/conformance/digest.py. */\n#define CONFORM_DIGEST \"{digest}\"")
