# SPDX-License-Identifier: MIT
"""What an H200 could do at best. case.py and plot.py read it."""

PEAK = {"fp8": 1979e12, "bf16": 989e12}  # FLOP/s of its tensor cores at 1.83 GHz
COPY = 4.27e12                           # bytes/s of its memory, as a copy reaches it
