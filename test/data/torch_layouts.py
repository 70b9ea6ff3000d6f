#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What PyTorch says each rank holds, as facts for test/unit/layout/torch_layouts.cpp.

    python3 torch_layouts.py >torch-layouts.jsonl      (PyTorch 2.6 or later, no GPU)

Two sources: the arithmetic of DTensor for a mesh and placements, and the elements that each rank of a job has
of a weight, tensor parallel or not, after `fully_shard` (FSDP2). The
process group is PyTorch's fake one, which has ranks but sends nothing.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.testing._internal.distributed.fake_pg import FakeStore


def text_of(placement):
    """`S(0)`, `R`, or `_S(0, 2)`: strided, split into two."""
    if placement.is_replicate():
        return "R"
    factor = getattr(placement, "split_factor", None)
    return f"S({placement.dim})" if factor is None else f"_S({placement.dim}, {factor})"


def on_each_rank(mesh, work):
    """What `work(device_mesh)` gives on each rank of a mesh, in their order."""
    size = 1
    for _, extent in mesh:
        size *= extent
    results = []
    for rank in range(size):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
        names, extents = zip(*mesh)
        results.append(work(init_device_mesh("cpu", extents, mesh_dim_names=names)))
        dist.destroy_process_group()
    return results


def dtensor(mesh, placements, shape):
    held = on_each_rank(mesh, lambda device_mesh: compute_local_shape_and_global_offset(
        torch.Size(shape), device_mesh, placements))
    return {"kind": "dtensor", "mesh": mesh, "placements": [text_of(p) for p in placements], "shape": shape,
            "ranks": [{"shape": list(local), "offset": list(offset)} for local, offset in held]}


def parameter(mesh, axis, shape):
    """A weight that tensor parallelism cuts along `axis` (nothing: not at all), under FSDP2.

    Its elements are their own numbers. What tensor parallelism leaves of it is cut out here, since the fake
    group sends nothing.
    """
    def work(device_mesh):
        layer = torch.nn.Linear(shape[1], shape[0], bias=False)
        weight = torch.arange(shape[0] * shape[1], dtype=torch.float32).reshape(shape)
        if axis is not None:
            tp = device_mesh["tp"]
            local, offset = compute_local_shape_and_global_offset(weight.shape, tp, [Shard(axis)])
            part = weight[tuple(slice(o, o + n) for o, n in zip(offset, local))].contiguous()
            weight = DTensor.from_local(part, tp, [Shard(axis)], run_check=False, shape=weight.shape,
                                        stride=weight.stride())
        layer.weight = torch.nn.Parameter(weight)
        fully_shard(layer, mesh=device_mesh["dp"] if axis is not None else device_mesh)
        held = layer.weight
        return [text_of(p) for p in held.placements], held.to_local().flatten().tolist()
    found = on_each_rank(mesh, work)
    return {"kind": "fsdp2", "mesh": mesh, "placements": found[0][0], "shape": shape,
            "elements": [[int(x) for x in elements] for _, elements in found]}


def main():
    print(json.dumps({"torch": torch.__version__.split("+")[0]}))
    line = [("tp", 4)]
    grid = [("dp", 2), ("tp", 3)]
    cases = [
        dtensor(line, [Shard(0)], [8, 2]),
        dtensor(line, [Shard(0)], [10, 2]),
        dtensor(line, [Shard(0)], [5, 2]),
        dtensor(line, [Shard(0)], [2, 3]),
        dtensor(line, [Shard(1)], [3, 7]),
        dtensor(line, [Replicate()], [3, 7]),
        dtensor(grid, [Replicate(), Shard(0)], [7, 2]),
        dtensor(grid, [Shard(0), Shard(0)], [10, 2]),
        dtensor(grid, [Shard(0), Shard(0)], [4]),
        dtensor(grid, [Shard(1), Shard(0)], [7, 5]),
        dtensor(grid, [Shard(0), Replicate()], [3, 2]),
        dtensor([("pp", 2), ("dp", 2), ("tp", 2)], [Replicate(), Shard(0), Shard(1)], [5, 5]),
    ]
    for case in cases:
        print(json.dumps(case))
    two = [("dp", 2), ("tp", 2)]
    for case in [
        (line, None, [10, 2]),
        (line, None, [2, 3]),
        (two, 0, [8, 2]),
        (two, 0, [10, 1]),
        (two, 1, [5, 6]),
        ([("dp", 3), ("tp", 2)], 0, [16, 1]),
        ([("dp", 2), ("tp", 3)], 0, [7, 2]),
    ]:
        print(json.dumps(parameter(*case)))


if __name__ == "__main__":
    sys.exit(main())
