# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes checkpoints of equal tensors, each with the library of its format, for `bench/storage --checkpoint`.

    write_formats.py DIRECTORY [--mebibytes 512] [--keys many|few] [--ranks 1] FORMAT...

FORMAT is torch_dcp, megatron, flex, flex_safetensors, npy, npz or gguf. Each is written to DIRECTORY/FORMAT, with an
ending if it is a file. There are 291 tensors of float16, or 16 of float32 (`--keys few`), cut by rows if there are
several ranks; npy has one tensor with all bytes. Needs the library of the format: torch, megatron-core, paddle, numpy or gguf.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "test/data/formats"))
from golden import free_ports

FILES = {"npy": ".npy", "npz": ".npz", "gguf": ".gguf"}
COLUMNS = 4096


def model(options):
    """The number of tensors, their rows and their type."""
    if options.keys == "few":
        return 16, options.mebibytes * 4, np.float32
    return 291, max(8, options.mebibytes * 448 // 1024), np.float16


def part(i, options, rank=0, ranks=1):
    """The rows of tensor `i` that a rank has: small numbers."""
    _, rows, dtype = model(options)
    first, last = rows * rank // ranks, rows * (rank + 1) // ranks
    numbers = np.arange(first * COLUMNS, last * COLUMNS, dtype=np.uint32)
    return ((numbers * 40503 + i & 0x3FF).astype(dtype)).reshape(last - first, COLUMNS)


def parts(options):
    return {f"layers.{1000 + i}.weight": part(i, options, options.rank, options.ranks) for i in range(model(options)[0])}


def begin_torch(options):
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=options.rank, world_size=options.ranks)


def write_torch_dcp(options, path):
    import torch
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    begin_torch(options)
    mesh = init_device_mesh("cpu", (options.ranks,))
    rows = model(options)[1]
    state = {key: DTensor.from_local(torch.from_numpy(array), mesh, [Shard(0)], run_check=False, shape=(rows, COLUMNS),
                                     stride=(COLUMNS, 1)) for key, array in parts(options).items()}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(path, sync_files=False))


def write_megatron(options, path):
    import multiprocessing.dummy
    import torch
    torch.cuda.synchronize = lambda *_: None  # it waits for a GPU before it writes
    torch.cuda.current_device = lambda: torch.device("cpu")
    from megatron.core import dist_checkpointing
    import megatron.core.dist_checkpointing.strategies.filesystem_async as filesystem_async
    from megatron.core.dist_checkpointing.mapping import ShardedTensor

    class Threads:
        """Replaces the processes that Megatron-Core starts, which would inherit locks of gloo's threads."""

        def __getattr__(self, name):
            return getattr(torch.multiprocessing, name)

        def get_context(self, kind):
            return multiprocessing.dummy

    filesystem_async.mp = Threads()
    begin_torch(options)
    if options.rank == 0:
        os.makedirs(path)
    torch.distributed.barrier()
    cut = (0, options.rank, options.ranks)
    state = {key: ShardedTensor.from_rank_offsets(key, torch.from_numpy(array), cut) for key, array in parts(options).items()}
    dist_checkpointing.save(state, path)


def write_flex(options, path, **form):
    import paddle
    import paddle.distributed as dist
    from paddle.distributed.flex_checkpoint.dcp.save_state_dict import save_state_dict
    from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight
    if options.ranks > 1:
        dist.init_parallel_env()
    rows = model(options)[1]
    first = rows * options.rank // options.ranks
    state = {key: ShardedWeight(key, paddle.to_tensor(array), array.shape, (rows, COLUMNS), (first, 0)) for key, array in parts(options).items()}
    save_state_dict(state, path, **form)


def write_npy(options, path):
    count, rows, dtype = model(options)
    np.save(path, np.concatenate([part(i, options) for i in range(count)]))


def write_gguf(options, path):
    from gguf import GGUFWriter
    writer = GGUFWriter(path, "llama")
    for key, array in parts(options).items():
        writer.add_tensor(key, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


WRITERS = {
    "torch_dcp": write_torch_dcp,
    "megatron": write_megatron,
    "flex": write_flex,
    "flex_safetensors": lambda options, path: write_flex(options, path, safetensors=True),
    "npy": write_npy,
    "npz": lambda options, path: np.savez(path, **parts(options)),
    "gguf": write_gguf,
}


def start(options, name):
    """Runs this script once for each rank of a format."""
    ports = free_ports(options.ranks + 1)
    ends = [f"127.0.0.1:{port}" for port in ports[1:]]
    processes = []
    for rank in range(1 if name in FILES else options.ranks):
        more = {"PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": str(options.ranks), "PADDLE_TRAINER_ENDPOINTS": ",".join(ends),
                "PADDLE_CURRENT_ENDPOINT": ends[rank], "PADDLE_MASTER": f"127.0.0.1:{ports[0]}", "PADDLE_DISTRI_BACKEND": "gloo"}
        words = [options.directory, name, "--mebibytes", str(options.mebibytes), "--keys", options.keys, "--rank", str(rank),
                 "--ranks", str(1 if name in FILES else options.ranks), "--port", str(ports[0])]
        processes.append(subprocess.Popen([sys.executable, __file__, *words], env={**os.environ, **more}))
    if any([process.wait() for process in processes]):
        sys.exit(f"{name} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("formats", nargs="+", choices=sorted(WRITERS))
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--keys", choices=["many", "few"], default="many")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rank", type=int, help="used by the script itself")
    parser.add_argument("--port", type=int, help="used by the script itself, too")
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    for name in options.formats:
        if options.rank is None:
            start(options, name)
        else:
            WRITERS[name](options, os.path.join(options.directory, name + FILES.get(name, "")))


if __name__ == "__main__":
    main()
