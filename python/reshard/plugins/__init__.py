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

import torch

import reshard
from reshard import _tensors
from reshard._reshard import Files


def results(path, program=""):
    """By key: shape and data type of the tensors that a program makes of a checkpoint. A data type that PyTorch lacks is
    None."""
    files, text = Files(_tensors.path_of(path), False), _tensors.program_of(program, "program", False)
    with _tensors.hint_of_path(text):
        listed = files.results(text) if text[0] else files.tensors()
    return {key: (tuple(shape), getattr(torch, dtype, None)) for key, dtype, shape, _ in listed}


def fill(path, wanted, program=""):
    """Fills tensors, DTensors and lists of Shards by key, in the memory of any device."""
    shards = {key: _boxes(key, value) for key, value in wanted.items()}
    here = {key: [reshard.Shard(_in_memory(one.tensor), one.shape, one.offset) for one in some] for key, some in shards.items()}
    reshard.load(path, here, program)
    for key, some in shards.items():
        for shard, filled in zip(some, here[key]):
            if filled.tensor is not shard.tensor:
                shard.tensor.copy_(filled.tensor)


def _boxes(key, value):
    try:
        shards = [one if isinstance(one, reshard.Shard) else reshard.Shard(one.detach()) for one in _tensors.boxes_of(value)]
    except reshard.Error as problem:
        raise reshard.Error(f"{key!r}: {problem}", problem.code) from None
    if any(shard.tensor.is_meta for shard in shards):
        raise reshard.Error(f"{key!r} is on the device 'meta', which has no memory; call to_empty(device=...) first")
    return shards


def _in_memory(tensor):
    return tensor if tensor.is_cpu else torch.empty_like(tensor, device="cpu")
