# SPDX-License-Identifier: MIT
"""Small helpers for programs of several processes. torch is imported when they are called."""
import os


def init_dist(local_rank, num_local_ranks):
    """Joins the process group: (rank, number of ranks, group).

    MASTER_ADDR, MASTER_PORT (8361), WORLD_SIZE (number of nodes, 1) and RANK (of this node, 0) come
    from the environment. NCCL and this rank's GPU where there are GPUs, gloo otherwise.
    """
    import torch
    import torch.distributed as dist
    address = os.getenv("MASTER_ADDR", "127.0.0.1")
    port = int(os.getenv("MASTER_PORT", "8361"))
    nodes, node = int(os.getenv("WORLD_SIZE", "1")), int(os.getenv("RANK", "0"))
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method=f"tcp://{address}:{port}",
                            world_size=nodes * num_local_ranks,
                            rank=node * num_local_ranks + local_rank)
    if on_gpu:
        torch.set_default_device("cuda")
        torch.cuda.set_device(local_rank)
    group = dist.new_group(list(range(nodes * num_local_ranks)))
    return dist.get_rank(), dist.get_world_size(), group


def uneven_all_gather(tensor, dim=0, group=None):
    """All ranks' tensors joined along `dim`, where their extents may differ."""
    import torch
    import torch.distributed as dist
    extent = torch.tensor([tensor.shape[dim]], device=tensor.device)
    extents = [torch.empty_like(extent) for _ in range(dist.get_world_size(group))]
    dist.all_gather(extents, extent, group=group)
    extents = [int(e) for e in extents]
    padded = tensor.new_zeros([max(extents), *tensor.movedim(dim, 0).shape[1:]])
    padded[:tensor.shape[dim]] = tensor.movedim(dim, 0)
    parts = [torch.empty_like(padded) for _ in extents]
    dist.all_gather(parts, padded, group=group)
    joined = torch.cat([part[:extent] for part, extent in zip(parts, extents)])
    return joined.movedim(0, dim).contiguous()


def dist_print(s="", once_in_node=False):
    """Prints and waits for all ranks; with once_in_node only the first of each node prints."""
    import torch.distributed as dist
    local_ranks = int(os.getenv("LOCAL_WORLD_SIZE", dist.get_world_size()))
    if not once_in_node or dist.get_rank() % local_ranks == 0:
        print(s, flush=True)
    dist.barrier()
