#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Directories of Megatron-Core's dist_checkpointing, with what is in them.

    python3 make_megatron.py megatron/core-0.16 [CASE...]     (megatron-core, PyTorch, packaging, psutil; no GPU)

    PYTHONPATH=OLDER python3 make_megatron.py megatron/core-0.8     (megatron-core 0.8 in OLDER)

Four processes, two of them a tensor-parallel group, which talk by gloo.
"""

import argparse
import multiprocessing.dummy
import os
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"

import torch
import torch.distributed as dist
import torch.distributed.checkpoint.filesystem as filesystem
import torch.multiprocessing

torch.cuda.synchronize = lambda *_: None  # it waits for a GPU before it writes
torch.cuda.current_device = lambda: torch.device("cpu")
filesystem._generate_uuid = lambda: "00000000-0000-0000-0000-000000000000"

from megatron.core import dist_checkpointing
import megatron.core.dist_checkpointing.strategies.filesystem_async as filesystem_async
from megatron.core.dist_checkpointing.mapping import ShardedObject, ShardedTensor, ShardedTensorFactory

from golden import dotted, is_torch_tensor, leaves, tensor_entry, torch_bytes, torch_code, write_expected

class Threads:
    """In place of the processes that it starts for writing, which would inherit locks of gloo's threads."""

    def __getattr__(self, name):
        return getattr(torch.multiprocessing, name)

    def get_context(self, kind):
        return multiprocessing.dummy


filesystem_async.mp = Threads()
OLD = hasattr(ShardedTensor, "from_rank_offsets_flat")  # 0.8, with ranges, and made for an older PyTorch and NumPy
if OLD:
    import numpy
    import megatron.core.dist_checkpointing.strategies.async_utils as async_utils
    async_utils.mp = Threads()
    numpy.product = numpy.prod
    write_item = filesystem._write_item
    filesystem_async._write_item = lambda *what: write_item(filesystem._StorageWriterTransforms(), *what,
                                                            filesystem.SerializationFormat.TORCH_SAVE)
WRITER = {}
TENSOR, DATA = 2, 2  # the extents of the groups


def ramp(*shape, dtype=torch.float32, first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.arange(first, first + count).reshape(shape).to(dtype)


def places():
    """This rank's place in its tensor-parallel group, and which copy it is."""
    return dist.get_rank() % TENSOR, dist.get_rank() // TENSOR


class Save:
    """A sharded state dict, and what is in it as a whole."""

    def __init__(self):
        self.state, self.tensors, self.objects = {}, [], []

    def whole(self, key, tensor):
        self.tensors.append(tensor_entry(key, None, torch_code(tensor.dtype), tensor.shape, torch_bytes(tensor)))

    def sharded(self, key, tensor, axis, name=None):
        """Cut along an axis, or everywhere the same (None)."""
        place, copy = places()
        if axis is None:
            value = ShardedTensor.from_rank_offsets(key, tensor, replica_id=dist.get_rank())
        else:
            value = ShardedTensor.from_rank_offsets(key, tensor.chunk(TENSOR, axis)[place].contiguous(), (axis, place, TENSOR),
                                                    replica_id=copy)
        self.state[name or key] = value
        self.whole(key, tensor)

    def layers(self, key, tensor, axis):
        """Layers are an axis that is put before the tensor's own: here, one layer to each pipeline stage."""
        place, stage = places()
        local = tensor[stage].chunk(TENSOR, axis)[place].contiguous()
        self.state[f"{key}.{stage}"] = ShardedTensor.from_rank_offsets(key, local, (0, stage, DATA), (axis + 1, place, TENSOR),
                                                                      prepend_axis_num=1)
        self.whole(key, tensor)

    def gated(self, key, gate, up, separate):
        """Two halves, each cut, in one local tensor: two chunks of one tensor, or two tensors."""
        place, copy = places()
        local = torch.cat([gate.chunk(TENSOR)[place], up.chunk(TENSOR)[place]])

        def build(key, both, replica_id, flattened_range):
            w, v = both.chunk(2)
            if separate:
                return [ShardedTensor.from_rank_offsets(f"{key}_{letter}", half.contiguous(), (0, place, TENSOR), replica_id=replica_id)
                        for letter, half in (("w", w), ("v", v))]
            return [ShardedTensor.from_rank_offsets(key, half.contiguous(), (0, place + TENSOR * number, 2 * TENSOR), replica_id=replica_id)
                    for number, half in enumerate((w, v))]

        self.state[key] = ShardedTensorFactory(key, local, build, torch.cat, replica_id=copy)
        if separate:
            self.whole(f"{key}_w", gate)
            self.whole(f"{key}_v", up)
        else:
            self.whole(key, torch.cat([gate, up]))

    def object(self, key, value_of):
        """One object on each rank of a tensor-parallel group."""
        place, copy = places()
        self.state[key] = ShardedObject(key, value_of(place), (TENSOR,), (place,), replica_id=copy)
        for each in range(TENSOR):
            self.objects.append({"key": f"{key}/shard_{each}_{TENSOR}", "repr": repr([value_of(each)])})  # kept in a list

    def flat(self, key, tensor):
        """ZeRO's ranges of a tensor-parallel block: three elements on one data-parallel rank, the others on the next."""
        place, copy = places()
        block = tensor.chunk(TENSOR)[place].contiguous()
        cut = [0, 3, block.numel()]
        self.state[key] = ShardedTensor.from_rank_offsets_flat(key, block.flatten()[cut[copy]:cut[copy + 1]].clone(), tuple(block.shape),
                                                               (0, place, TENSOR), flattened_range=slice(cut[copy], cut[copy + 1]))
        self.whole(key, tensor)

    def common(self, **values):
        self.state.update(values)
        self.common_values = values


def model():
    save = Save()
    save.sharded("embedding.word_embeddings.weight", ramp(6, 2, dtype=torch.bfloat16), 0)
    save.layers("decoder.layers.self_attention.linear_proj.weight", ramp(2, 2, 4, first=10), 1)
    save.gated("decoder.layers.mlp.linear_fc1.weight", ramp(4, 2, first=100), ramp(4, 2, first=200), separate=False)
    save.sharded("decoder.final_layernorm.weight", ramp(3), None)
    save.sharded("optimizer.state.exp_avg.decoder.final_layernorm.weight", ramp(3, first=7), None)
    save.object("rng_state", lambda place: [{"seed": 10 + place}])
    save.object("decoder.layers.self_attention.core_attention._extra_state", lambda place: None)
    save.common(iteration=12, checkpoint_version=3.0, args=argparse.Namespace(hidden_size=2, bf16=True), opt_param_scheduler={"max_lr": 0.5},
                common_tensor=ramp(2, dtype=torch.int64))
    return save


def small(separate=False):
    save = Save()
    save.gated("linear_fc1.weight", ramp(4, 2, first=100), ramp(4, 2, first=200), separate)
    save.common(iteration=12)
    return save


def flattened():
    save = Save()
    save.flat("optimizer.state.exp_avg.weight", ramp(6, 4))
    save.sharded("weight", ramp(6, 4, first=50), 0)
    save.common(iteration=12)
    return save


CASES = {"torch_dist": (model, {}), "separate_halves": (lambda: small(True), {}),
         "content_metadata": (small, {"content_metadata": {"distrib_optim_sharding_type": "dp_reshardable"}})}
if OLD:
    CASES = {"flattened": (flattened, {})}


def write_case(directory, name):
    make, options = CASES[name]
    path = os.path.join(directory, name)
    save = make()
    if dist.get_rank() == 0:
        os.makedirs(path)
    dist.barrier()
    values = dict(save.common_values)
    dist_checkpointing.save(save.state, path, **options)
    if dist.get_rank() == 0:
        common = []
        for at, leaf in leaves({**values, **options}, is_torch_tensor):
            if isinstance(leaf, torch.Tensor):
                common.append({**tensor_entry(dotted(at), at, torch_code(leaf.dtype), leaf.shape, torch_bytes(leaf))})
            else:
                common.append({"key": dotted(at), "path": list(at), "repr": repr(leaf)})
        write_expected(path, {"writer": WRITER["writer"], "processes": 4, "tensors": save.tensors, "aliases": [], "objects": save.objects,
                              "common": common})


def process(rank, count, directory, names, writer):
    WRITER["writer"] = writer
    dist.init_process_group("gloo", init_method=f"file://{os.path.abspath(directory)}/.meeting", rank=rank, world_size=count)
    for name in names:
        write_case(directory, name)
        dist.barrier()
    dist.destroy_process_group()


def main():
    import importlib.metadata
    writer = f"megatron-core {importlib.metadata.version('megatron-core')}, torch {torch.__version__.split('+')[0]}"
    directory, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(directory, exist_ok=True)
    for name in names:
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
    torch.multiprocessing.start_processes(process, (TENSOR * DATA, directory, names, writer), TENSOR * DATA, start_method="fork")
    if os.path.exists(os.path.join(directory, ".meeting")):
        os.remove(os.path.join(directory, ".meeting"))


if __name__ == "__main__":
    main()
