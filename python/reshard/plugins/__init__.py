# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints of any format in other frameworks. Each module here needs the package that it is for:

    reshard.plugins.dcp             torch.distributed.checkpoint
    reshard.plugins.transformers    transformers
    reshard.plugins.vllm            vllm
    reshard.plugins.megatron        megatron.core

All of them take the path of a checkpoint, and a program as `reshard.load` has it. The rest of this file is what they
share: what a program makes, and tensors of PyTorch that are filled.

Each process reads its own boxes (`comm=None`): these frameworks have started their processes without MPI, and tell
each other about errors themselves.
"""

import itertools
import os
import tempfile

import torch
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

import reshard

_DTYPES = {"BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
           "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64, "C64": torch.complex64,
           "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}


def results(path, program=""):
    """By key: shape and data type of the tensors that a program makes of a checkpoint. A data type that PyTorch lacks is
    None."""
    stored = {key: (tensor.shape, getattr(torch, tensor.dtype, None)) for key, tensor in reshard.open(path).items()}
    if not program:
        return stored
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "program")
        if not isinstance(program, os.PathLike):
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(program)
        found = reshard.check(path, program if isinstance(program, os.PathLike) else file, comm=None)
    if not found["ok"]:
        reshard.load(path, {}, program)  # raises the error with its place in the program
    made = {one["key"]: (tuple(one["shape"]), _DTYPES.get(one["dtype"])) for one in found["made"]}
    return {key: stored[key] for key in found["keys"]["identity"]} | made


def shards_of(key, tensor):
    """What this process has of a tensor: the boxes of a DTensor, of which strided placements have several, or the whole
    tensor."""
    if not isinstance(tensor, DTensor):
        return [reshard.Shard(tensor.detach())]
    if any(placement.is_partial() for placement in tensor.placements):
        raise ValueError(f"{key!r} is a partial sum on each process, {tensor.placements}; give tensor.redistribute(...)")
    local, runs = tensor.detach().to_local(), [_runs(tensor, axis) for axis in range(tensor.ndim)]
    return [reshard.Shard(local[tuple(slice(begin, begin + extent) for begin, _, extent in box)], tuple(tensor.shape),
                          tuple(offset for _, offset, _ in box)) for box in itertools.product(*runs)]


def _runs(tensor, axis):
    """Places in the local tensor, offsets and extents of what this process has of an axis of a DTensor."""
    index = torch.arange(tensor.shape[axis]).view([-1 if each == axis else 1 for each in range(tensor.ndim)])
    placements = [one if getattr(one, "dim", None) == axis else Replicate() for one in tensor.placements]
    held = distribute_tensor(index, tensor.device_mesh, placements, src_data_rank=None).to_local().flatten().cpu()
    begins = [0, *((held.diff() != 1).nonzero().flatten() + 1).tolist()]
    return [(begin, int(run[0]) if len(run) else 0, len(run)) for begin, run in zip(begins, held.tensor_split(begins[1:]))]


def fill(path, shards, program=""):
    """Fills lists of shards by key, in the memory of any device."""
    def in_memory(key, shard):
        if shard.tensor.is_meta:
            raise ValueError(f"{key!r} is on the device 'meta', which has no memory; call to_empty(device=...) first")
        here = shard.tensor if shard.tensor.is_cpu else torch.empty_like(shard.tensor, device="cpu")
        return reshard.Shard(here, shard.shape, shard.offset)

    here = {key: [in_memory(key, shard) for shard in some] for key, some in shards.items()}
    reshard.load(path, here, program)
    for key, some in shards.items():
        for shard, filled in zip(some, here[key]):
            if filled.tensor is not shard.tensor:
                shard.tensor.copy_(filled.tensor)
