# SPDX-License-Identifier: MIT
"""What bench/gpu.py is made of: cases of every family, their peers, timing, reports."""
