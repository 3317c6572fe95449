# SPDX-License-Identifier: MIT
"""deep_gemm.utils.dist over gloo, in two processes."""
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("torch")

RANK = """
import sys
import torch
import torch.distributed
from deep_gemm import init_dist, uneven_all_gather
from deep_gemm.utils.dist import dist_print
rank, size, group = init_dist(int(sys.argv[1]), 2)
assert (rank, size) == (int(sys.argv[1]), 2)
mine = torch.arange(12.).view(2, 6)[:, :3 + 2 * rank] + 100 * rank
joined = uneven_all_gather(mine, dim=1, group=group)
assert joined.tolist() == [[0, 1, 2, 100, 101, 102, 103, 104], [6, 7, 8, 106, 107, 108, 109, 110]]
assert uneven_all_gather(torch.zeros(0 if rank else 4, 2)).shape == (4, 2)
dist_print("each")
dist_print("once", once_in_node=True)
torch.distributed.destroy_process_group()
"""


def test_two_ranks():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                   "CUDA_VISIBLE_DEVICES": ""}  # two ranks on one GPU would wait for ever
    for name in ("WORLD_SIZE", "RANK"):
        environment.pop(name, None)
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, str(rank)], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
    outputs = [rank.communicate(timeout=180) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert "".join(out for out, _ in outputs).split().count("each") == 2
    assert "".join(out for out, _ in outputs).split().count("once") == 1
