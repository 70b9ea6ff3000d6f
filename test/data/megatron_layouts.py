#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What Megatron-Core says who is in which group, and which elements of each parameter a data-parallel rank
has in its distributed optimizer, as facts for test/unit/format/megatron_layouts.cpp.

    python3 megatron_layouts.py >megatron-layouts.jsonl      (megatron-core 0.16, PyTorch, no GPU)

Groups are those of its RankGenerator. Ranges are those of its parameter and gradient buffer, which is made on
the processor here, and of its DistributedOptimizer.
"""

import json
import sys
import types
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.distributed as dist
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.distributed.param_and_grad_buffer import _ParamAndGradBuffer
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer
from megatron.core.parallel_state import RankGenerator
from torch.testing._internal.distributed.fake_pg import FakeStore

torch.cuda.current_device = lambda: "cpu"


def groups(tp, cp, dp, pp, order="tp-cp-ep-dp-pp"):
    generator = RankGenerator(tp=tp, ep=1, dp=dp, pp=pp, cp=cp, order=order)
    names = ("tp", "cp", "dp", "pp", "dp-cp")
    return {"kind": "groups", "tp": tp, "cp": cp, "dp": dp, "pp": pp, "order": order,
            "groups": {name: generator.get_ranks(name) for name in names}}


def ranges_on(rank, ranks, sizes, bucket_size):
    """The range of each parameter that one data-parallel rank has; nothing where it has none of it."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    parameters = [torch.nn.Parameter(torch.zeros(size, dtype=torch.bfloat16)) for size in sizes]
    world = types.SimpleNamespace(tp=dist.group.WORLD, dp_cp=dist.group.WORLD)
    buffer = _ParamAndGradBuffer(
        DistributedDataParallelConfig(use_distributed_optimizer=True), torch.bfloat16, torch.float32, parameters,
        dist.group.WORLD, bucket_size, {p: str(i) for i, p in enumerate(parameters)}, 1.0,
        list(range(len(parameters))), False, world)
    found = [None] * len(sizes)
    for bucket in range(len(buffer.buckets)):
        held = DistributedOptimizer._build_model_gbuf_range(buffer, bucket)["param_map"]
        for i, parameter in enumerate(parameters):
            if parameter in held:
                found[i] = [held[parameter]["param"].start, held[parameter]["param"].end]
    dist.destroy_process_group()
    return found


def optimizer(ranks, sizes, bucket_size):
    """`bucket_size`: at least so many elements, then a bucket is closed; nothing: one bucket."""
    return {"kind": "optimizer", "dp": ranks, "sizes": sizes, "bucket_size": bucket_size or 0,
            "ranges": [ranges_on(rank, ranks, sizes, bucket_size) for rank in range(ranks)]}


def main():
    import megatron.core
    print(json.dumps({"megatron-core": megatron.core.__version__}))
    for case in [(2, 1, 2, 2), (1, 1, 4, 2), (2, 2, 3, 2), (4, 1, 1, 3), (2, 2, 2, 1, "tp-pp-dp-cp-ep")]:
        print(json.dumps(groups(*case)))
    for case in [(2, [100, 60, 300], None), (4, [1000, 1, 63, 64, 65], None), (3, [500, 400, 300, 200, 100], None),
                 (2, [100, 60, 300, 10], 200), (4, [129, 127, 128, 1, 700], 256), (3, [5], 100)]:
        print(json.dumps(optimizer(*case)))


if __name__ == "__main__":
    sys.exit(main())
