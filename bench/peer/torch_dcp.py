# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Measures how long other libraries take for the checkpoints of `bench/storage`.

    torch_dcp.py [--ranks 1,2,4] [--where memory,disk] [--megabytes 1024] [--repeat 7] [--json FILE]

torch.distributed.checkpoint, over gloo, saves the 291 bf16 tensors by rows, and loads them by rows and by columns; the
safetensors package, which uses one process, saves and loads them whole. Each is measured in turn with `write` of the
same bytes by the same number of processes, and with `read` from the page cache into memory that was written to before;
nothing waits for the disk. The lines of --json have the same form as those of `bench/storage --json`. Needs torch and
safetensors. All loaded elements are compared.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time

import safetensors.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing
from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

COUNT, COLUMNS = 291, 4096


def whole(i, rows):
    """Tensor `i`: finite values that differ from row to row and from tensor to tensor."""
    bits = torch.arange(rows * COLUMNS, dtype=torch.int32).mul_(40503).add_(i).bitwise_and_(0x3FFF)
    return bits.to(torch.int16).view(torch.bfloat16).view(rows, COLUMNS)


class Tensors:
    """The shards of one rank."""

    def __init__(self, options, axis, rank, ranks):
        rows = max(8, options.megabytes * 448 // 1024) // 4 * 4
        self.parts = {}
        for i in range(COUNT):
            part = whole(i, rows).chunk(ranks, dim=axis)[rank] if ranks > 1 else whole(i, rows)
            self.parts[f"layers.{1000 + i}.weight"] = part.contiguous()
        self.expected = {key: part.clone() for key, part in self.parts.items()}
        self.axis, self.rows = axis, rows

    def state(self, mesh):
        return {key: DTensor.from_local(part, mesh, [Shard(self.axis)], run_check=False, shape=(self.rows, COLUMNS),
                                        stride=(COLUMNS, 1)) for key, part in self.parts.items()}

    def clear(self):
        for part in self.parts.values():
            part.zero_()

    def check(self, parts=None):
        for key, part in (parts or self.parts).items():
            if not torch.equal(part, self.expected[key]):
                raise RuntimeError(f"{key} is not what was saved")

    def bytes(self):
        return sum(part.numel() * 2 for part in self.parts.values())


def write_plain(path, data):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    done = 0
    while done < len(data):
        done += os.write(file, data[done:])
    os.close(file)


def read_plain(path, data):
    with open(path, "rb", buffering=0) as file:
        done = 0
        while done < len(data):
            done += file.readinto(data[done:])


class Bench:
    """The measurements of one rank."""

    def __init__(self, options, rank, ranks):
        self.options, self.rank, self.ranks = options, rank, ranks
        self.lines = []

    def on_first(self, work):
        dist.barrier()
        if self.rank == 0:
            work()
        dist.barrier()

    def seconds(self, work, before=lambda: None):
        before()
        dist.barrier()
        begin = time.perf_counter()
        work()
        longest = torch.tensor([time.perf_counter() - begin], dtype=torch.float64)
        dist.all_reduce(longest, dist.ReduceOp.MAX)
        return longest.item()

    def compare(self, case, where, against, ours, reference, before=lambda: None, before_reference=lambda: None):
        """Measures both in turn; the first time of each does not count."""
        times = [(self.seconds(reference, before_reference), self.seconds(ours, before))
                 for _ in range(self.options.repeat + 1)][1:]
        median_reference, median = (statistics.median(column) for column in zip(*times))
        self.lines.append({"case": case, "ranks": self.ranks, "where": where, "keys": "many", "median_s": median,
                           "ratio": median_reference / median, "against": against})
        if self.rank == 0:
            print(f"{case:22} {self.ranks}  {where:6}  {median * 1e3:9.2f}  {median_reference / median:6.3f}  {against}", flush=True)

    def run_in(self, where, directory):
        saved, plain = directory + "/saved", f"{directory}/plain{self.rank}"
        mesh = init_device_mesh("cpu", (self.ranks,))
        rows = Tensors(self.options, 0, self.rank, self.ranks)
        buffer = memoryview(bytearray(b"x" * rows.bytes()))
        remove = lambda: self.on_first(lambda: shutil.rmtree(saved, ignore_errors=True))
        remove_plain = lambda: os.path.exists(plain) and os.unlink(plain)
        save = lambda: dcp.save(rows.state(mesh), storage_writer=FileSystemWriter(saved, sync_files=False))
        self.compare("dcp_save", where, "write", save, lambda: write_plain(plain, buffer), remove, remove_plain)
        self.compare("dcp_load", where, "read", self.load(rows, mesh, saved), lambda: read_plain(plain, buffer), rows.clear)
        rows.check()
        columns = Tensors(self.options, 1, self.rank, self.ranks)
        self.compare("dcp_load_columns", where, "read", self.load(columns, mesh, saved), lambda: read_plain(plain, buffer),
                     columns.clear)
        columns.check()
        remove()
        if self.ranks == 1:
            self.safetensors(where, directory, rows, plain, buffer)
        remove_plain()

    def load(self, tensors, mesh, path):
        return lambda: dcp.load(tensors.state(mesh), storage_reader=FileSystemReader(path))

    def safetensors(self, where, directory, tensors, plain, buffer):
        """Measures the safetensors package: one process, one file."""
        path = directory + "/model.safetensors"
        loaded = {}
        remove = lambda: os.path.exists(path) and os.unlink(path)
        tensors.parts = {key: part.clone() for key, part in tensors.expected.items()}

        def load():
            loaded.clear()
            loaded.update({key: part.clone() for key, part in safetensors.torch.load_file(path).items()})
        self.compare("safetensors_save", where, "write", lambda: safetensors.torch.save_file(tensors.parts, path),
                     lambda: write_plain(plain, buffer), remove, lambda: os.path.exists(plain) and os.unlink(plain))
        self.compare("safetensors_load", where, "read", load, lambda: read_plain(plain, buffer))
        tensors.check(loaded)
        remove()


def run_rank(rank, ranks, options, places, meeting, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    bench = Bench(options, rank, ranks)
    for where, directory in places:
        bench.run_in(where, directory)
    if rank == 0:
        with open(results, "w") as file:
            json.dump(bench.lines, file)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--where", default="memory,disk")
    parser.add_argument("--memory", default="/dev/shm", help="a directory in memory")
    parser.add_argument("--disk", default=tempfile.gettempdir(), help="a directory on a disk")
    parser.add_argument("--megabytes", type=int, default=1024, help="the size of the model, in MiB")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", help="write the numbers to this file")
    options = parser.parse_args()
    print("case                   ranks  where   median ms   ratio  against")
    lines = []
    for ranks in map(int, options.ranks.split(",")):
        places = [(where, tempfile.mkdtemp(prefix="torch-dcp-", dir=getattr(options, where)))
                  for where in options.where.split(",")]
        own = tempfile.mkdtemp()
        try:
            torch.multiprocessing.spawn(run_rank, (ranks, options, places, own + "/meeting", own + "/lines"), ranks)
            with open(own + "/lines") as file:
                lines += json.load(file)
        finally:
            for directory in [own, *(directory for _, directory in places)]:
                shutil.rmtree(directory, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")


if __name__ == "__main__":
    main()
