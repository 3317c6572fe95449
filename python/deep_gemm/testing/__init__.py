# SPDX-License-Identifier: MIT
"""What tests and benches of this package and of its callers share."""
from . import numeric, utils
from .bench import bench, bench_kineto, empty_suppress, suppress_stdout_stderr
from .numeric import assert_bitwise_equal, calc_diff, count_bytes
from .utils import get_arch_major, ignore_env, test_filter
