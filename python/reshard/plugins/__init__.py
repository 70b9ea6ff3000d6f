# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints of any format in other frameworks. Each module here needs the package that it is for:

    reshard.plugins.dcp             torch.distributed.checkpoint
    reshard.plugins.transformers    transformers
    reshard.plugins.vllm            vllm
    reshard.plugins.megatron        megatron.core

All of them take the path of a checkpoint, and a program as `reshard.load` has it. The rest of this file is what they
share: tensors of PyTorch that are filled.

Each process reads its own boxes (`comm=None`), as these frameworks have started their processes without MPI. An error of
one process reaches the others only in `dcp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

import reshard
from reshard import _tensors
from reshard._files import Path
from reshard._tensors import Program


def fill(path: Path, wanted: Mapping[str, Any], program: Program = "") -> None:
    """Fills tensors, DTensors and lists of Shards by key, in the memory of any device."""
    shards = {key: _boxes(key, value) for key, value in wanted.items()}
    here = {key: [reshard.Shard(_in_memory(one.tensor), one.shape, one.offset) for one in some] for key, some in shards.items()}
    reshard.load(path, here, program)
    for key, some in shards.items():
        for shard, filled in zip(some, here[key]):
            if filled.tensor is not shard.tensor:
                shard.tensor.copy_(filled.tensor)


def _boxes(key: str, value: Any) -> list[reshard.Shard]:
    try:
        boxes = _tensors.boxes_of(value)
    except reshard.Error as problem:
        raise reshard.Error(f"{key!r}: {problem}", problem.code) from None
    shards = [box if isinstance(box, reshard.Shard) else reshard.Shard(box.detach()) for box in boxes]
    if any(shard.tensor.is_meta for shard in shards):
        raise reshard.Error(f"{key!r} is on the device 'meta', which has no memory; call to_empty(device=...) first")
    return shards


def _in_memory(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_cpu else torch.empty_like(tensor, device="cpu")
