# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints of any format in Megatron-Core:

    model.load_state_dict(reshard.plugins.megatron.load(model.sharded_state_dict(), "model", program))
"""

from __future__ import annotations

from typing import Any

from megatron.core.dist_checkpointing import ShardedTensor
from megatron.core.dist_checkpointing.dict_utils import dict_list_map_inplace, merge, nested_values
from megatron.core.dist_checkpointing.mapping import apply_factory_merges
from megatron.core.dist_checkpointing.state_dict_utils import load_preprocess

import reshard
from reshard._files import Path
from reshard._tensors import Program
from . import fill


def load(sharded_state_dict: dict[str, Any], path: Path, program: Program = "") -> dict[str, Any]:
    """The state dict that `dist_checkpointing.load` returns, with the tensors of a checkpoint in any format. Extra states
    of modules (`_extra_state`) stay as they are; other objects are refused."""
    state, local, factories = load_preprocess(sharded_state_dict)
    shards: dict[str, list[reshard.Shard]] = {}
    for value in nested_values(state):
        if isinstance(value, ShardedTensor):
            value.init_data("cpu")
            data = value.data.detach()[(None,) * value.prepend_axis_num]
            shards.setdefault(value.key, []).append(reshard.Shard(data, value.global_shape, value.global_offset))
        elif not value.key.endswith("_extra_state"):
            raise reshard.Error(f"{value.key!r} is an object, and only tensors are read; leave it out of the state dict")
    fill(path, shards, program)
    dict_list_map_inplace(lambda value: value.data, state)
    merge(state, local)
    found: dict[str, Any] = apply_factory_merges(state, factories)
    return found
