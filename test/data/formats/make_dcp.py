#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Directories of torch.distributed.checkpoint, with what is in them.

    python3 make_dcp.py dcp/torch-2.15 [CASE...]     (PyTorch 2.6 or later, or 2.0; no GPU; the directory is made)

Cases of several processes start these themselves, which talk by gloo. Paths inside the checkpoints are relative to
the directory of the script, and the random names of saves are zeros.
"""

import functools
import os
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
os.environ["TORCH_LOGS"] = "-all"

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.distributed.checkpoint.filesystem as filesystem
import torch.multiprocessing
from torch.distributed.checkpoint._nested_dict import flatten_state_dict

from golden import refuse, tensor_entry, torch_bytes, torch_code, write_expected

NEW = hasattr(dcp, "save")
WRITER = {"writer": "torch " + torch.__version__.split("+")[0]}

if hasattr(filesystem, "_generate_uuid"):
    filesystem._generate_uuid = lambda: "00000000-0000-0000-0000-000000000000"


def ramp(*shape, dtype=torch.float32, first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.arange(first, first + count).reshape(shape).to(dtype)


def whole(tensor):
    """The global tensor of a distributed one. Collective."""
    if hasattr(tensor, "full_tensor"):
        return tensor.full_tensor()
    if hasattr(tensor, "local_shards"):
        gathered = torch.zeros(tensor.size(), dtype=tensor.dtype) if dist.get_rank() == 0 else None
        tensor.gather(0, gathered)
        return gathered
    return tensor


def expected_of(state):
    """What all processes together save, for process 0. Collective."""
    flat, paths = flatten_state_dict(state)
    tensors, objects = [], []
    for key, value in flat.items():
        path = paths[key]
        if isinstance(value, torch.Tensor) or hasattr(value, "local_shards"):
            full = whole(value)
            if full is not None:
                tensors.append(tensor_entry(key, path, torch_code(full.dtype), full.shape, torch_bytes(full)))
        else:
            objects.append({"key": key, "path": list(path), "repr": repr(value)})
    return {"tensors": tensors, "objects": objects}


def merged(parts):
    """Each key once, from the first process that has it. Which process's object is kept is for the library to choose."""
    result = {}
    for name in ("tensors", "objects"):
        entries = {}
        for part in parts:
            for entry in part[name]:
                entries.setdefault(entry["key"], []).append(entry)
        result[name] = [same[0] for same in entries.values()]
    for entry, same in zip(result["objects"], entries.values()):
        texts = sorted({one["repr"] for one in same})
        if len(texts) > 1:
            entry["one_of"] = texts
            del entry["repr"]
    return result


def save(state, directory, writer=None, **options):
    writer = writer or filesystem.FileSystemWriter(directory)
    if not NEW:
        dcp.save_state_dict(state, writer, no_dist=not dist.is_initialized())
    elif dist.is_initialized():
        dcp.save(state, storage_writer=writer, **options)
    else:
        dcp.save(state, storage_writer=writer, no_dist=True, **options)


# ---- what is saved

def dtypes():
    names = ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64", "uint16", "float8_e4m3fn"]
    values = {}
    for name in names:
        if not hasattr(torch, name):
            continue
        dtype = getattr(torch, name)
        if name.startswith("float8"):
            values[name] = ramp(6, dtype=torch.uint8, first=60).view(dtype).reshape(2, 3)
        elif name.startswith("uint") and name != "uint8":
            values[name] = torch.tensor([-1, 0, 5], dtype=getattr(torch, name[1:])).view(dtype)
        elif name == "bool":
            values[name] = torch.tensor([True, False, True])
        else:
            values[name] = ramp(2, 3, dtype=dtype, first=250 if name == "uint8" else -2)
    return values


def one_process():
    base = ramp(4, 6, dtype=torch.float16)
    return {"dtypes": dtypes(),
            "views": {"transposed": base.t(), "slice": base[1:3, 2:5], "expanded": ramp(1, 3).expand(2, 3), "base": base},
            "shapes": {"scalar": torch.tensor(1.5), "empty_rows": torch.empty(0, 3), "five": ramp(1, 2, 1, 2, 1, first=3)},
            "list": [ramp(2), {"deep": ramp(1, first=9)}, "text"], "tuple": (ramp(2), 3),
            "parameter": torch.nn.Parameter(ramp(2, first=4)), "name.with.dots": ramp(1), 7: ramp(1, first=7)}


def objects():
    return {"weight": ramp(2, 3), "lr": 0.5, "name": "run", "none": None, "yes": True, "numbers": [1, 2], "tuple": (4, 5.5),
            "deep": {"step": 3, "none": {"a": {"b": 1}}}, "big": 2**70, "empty": {}}


def training_step(model, optimizer):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


def numbered(model):
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(ramp(*parameter.shape, first=100 * number))
    return model


# ---- torch 2.6 and later

def dtensors():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    flat, square = init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    on = lambda tensor, *placements: distribute_tensor(tensor, flat if len(placements) == 1 else square, placements)
    return {"rows": {"even": on(ramp(4, 2), Shard(0)), "uneven": on(ramp(7, 2), Shard(0)), "short": on(ramp(3, 2), Shard(0)),
                     "one": on(ramp(1, 3), Shard(0))},
            "columns": {"even": on(ramp(2, 4, dtype=torch.bfloat16), Shard(1)), "uneven": on(ramp(2, 5), Shard(1))},
            "replicated": on(ramp(2, 2), Replicate()), "scalar": on(torch.tensor(2.5), Replicate()), "plain": ramp(3),
            "both": on(ramp(4, 6), Shard(0), Shard(1)), "half": on(ramp(4, 2), Replicate(), Shard(0)),
            "twice": on(ramp(10, dtype=torch.int64), Shard(0), Shard(0)), "empty": on(torch.empty(0, 4), Shard(0)),
            "lr": 0.5}


def wrapped_optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=0.25, foreach=False)


def fsdp2():
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model = numbered(torch.nn.Sequential(torch.nn.Linear(2, 5, bias=False), torch.nn.LayerNorm(3, bias=False)))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = wrapped_optimizer(model)
    training_step(model, optimizer)
    weights, state = get_state_dict(model, optimizer)
    # Each value of a group is an item of its own; three are enough.
    state["param_groups"] = [{name: group[name] for name in ("lr", "betas", "params")} for group in state["param_groups"]]
    return {"model": weights, "optim": state}


def fsdp2_tp():
    """Tensor parallelism within, FSDP2 over it, and of the optimizer only the state."""
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = numbered(torch.nn.Sequential(torch.nn.Linear(2, 14, bias=False), torch.nn.Linear(14, 3, bias=False)))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = wrapped_optimizer(model)
    training_step(model, optimizer)
    weights, state = get_state_dict(model, optimizer)
    return {"model": weights, "optim": {"state": {name: {"exp_avg": of["exp_avg"]} for name, of in state["state"].items()}}}


def fsdp1(mesh_form):
    """FSDP1 gives DTensors where it was given a mesh, ShardedTensors otherwise. Of the optimizer, state that is enough."""
    from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
    more = {}
    if mesh_form:
        from torch.distributed.device_mesh import init_device_mesh
        more["device_mesh"] = init_device_mesh("cpu", (dist.get_world_size(),))
    model = numbered(torch.nn.Sequential(torch.nn.Linear(2, 5, bias=False), torch.nn.Linear(5, 1, bias=False)))
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True, **more)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    FullyShardedDataParallel.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
    state = FullyShardedDataParallel.optim_state_dict(model, optimizer)["state"]
    return {"model": model.state_dict(), "optim": {"state": {name: {"exp_avg": of["exp_avg"], "step": of["step"]} for name, of in state.items()}}}


def by_rank():
    """Pipeline stages: keys that only some have, and an object of the same name on each."""
    rank = dist.get_rank()
    return {f"stage{rank}": {"weight": ramp(2, first=10 * rank), "object": f"of {rank}"}, "shared": {"weight": ramp(3), "rank": rank}}


# ---- torch 2.0

def old_sharded():
    from torch.distributed._shard.sharding_spec import ChunkShardingSpec
    from torch.distributed._shard import sharded_tensor
    spec = lambda axis: ChunkShardingSpec(dim=axis, placements=[f"rank:{rank}/cpu" for rank in range(4)])
    values = {}
    for name, shape, axis in (("rows", (7, 2), 0), ("columns", (2, 4), 1)):
        tensor = sharded_tensor.empty(spec(axis), *shape)
        for shard in tensor.local_shards():
            (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
            shard.tensor.copy_(ramp(*shape)[row:row + rows, column:column + columns])
        values[name] = tensor
    return {**values, "plain": ramp(3), "nested": {"lr": 0.5, "steps": [1, 2], "weight": ramp(2)}}


# ---- cases

def safetensors_writer(directory):
    return filesystem.FileSystemWriter(directory, serialization_format=filesystem.SerializationFormat.SAFETENSORS)


def huggingface_writer(directory, **options):
    return dcp.HuggingFaceStorageWriter(directory, save_distributed=True, **options)


def huggingface():
    state = dtensors()
    return {name: value for name, value in {"rows": state["rows"]["uneven"], "short": state["rows"]["short"], "both": state["both"],
                                           "columns": state["columns"]["even"], "scalar": state["scalar"],
                                           "twice": state["twice"]}.items()}


def lowest_rank_planner():
    return dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=True)


def extension_writer(directory):
    from torch.distributed.checkpoint._extension import ZStandard  # needs the package zstandard
    return filesystem.FileSystemWriter(directory, _extensions=[ZStandard()])


def few():
    return {"a": {"weight": ramp(2, 3)}, "b": ramp(4, dtype=torch.bfloat16), "c": ramp(2, first=5), "lr": 0.5}


FileWriter = filesystem.FileSystemWriter
NEW_CASES = {  # name: (processes, state, writer of a directory, more)
    "one_process": (1, one_process, FileWriter, {}),
    "objects": (1, objects, FileWriter, {}),
    "file_per_item": (1, few, functools.partial(FileWriter, single_file_per_rank=False), {}),
    "two_threads": (1, few, functools.partial(FileWriter, thread_count=2), {}),
    "safetensors_items": (1, few, safetensors_writer, {}),
    "extension": (1, few, extension_writer, {"refused": "transform_descriptors: ['stream.zstd/1']"}),
    "dtensor": (4, dtensors, FileWriter, {}),
    "dtensor_safetensors": (4, huggingface, safetensors_writer, {}),
    "fsdp2": (4, fsdp2, FileWriter, {}),
    "fsdp2_tp": (4, fsdp2_tp, FileWriter, {}),
    "fsdp1": (2, functools.partial(fsdp1, False), FileWriter, {}),
    "fsdp1_mesh": (2, functools.partial(fsdp1, True), FileWriter, {}),
    "by_rank": (4, by_rank, FileWriter, {}),
    "lowest_rank": (4, few, FileWriter, {"planner": lowest_rank_planner}),
    "huggingface": (4, huggingface, huggingface_writer, {}),
    "huggingface_two_files": (4, huggingface, functools.partial(huggingface_writer, fqn_to_index_mapping={
        "rows": 1, "short": 2, "both": 1, "columns": 2, "scalar": 2, "twice": 1}), {}),
}
OLD_CASES = {
    "one_process": (1, one_process, FileWriter, {}),
    "objects": (1, objects, FileWriter, {}),
    "file_per_item": (1, few, functools.partial(FileWriter, single_file_per_rank=False), {}),
    "sharded_tensor": (4, old_sharded, FileWriter, {}),  # it can neither save a DTensor without a GPU, nor FSDP
}
CASES = NEW_CASES if NEW else OLD_CASES


def write_case(directory, name):
    """On each process of a case."""
    processes, state, writer, more = CASES[name]
    path = os.path.join(directory, name)
    state = state()
    mine = expected_of(state)
    parts = [mine]
    if processes > 1:
        parts = [None] * processes
        dist.all_gather_object(parts, mine)
    options = {"planner": more["planner"]()} if "planner" in more else {}
    save(state, path, writer(path), **options)
    if not dist.is_initialized() or dist.get_rank() == 0:
        facts = {**WRITER, "processes": processes}
        write_expected(path, refuse(more["refused"], **facts) if "refused" in more else {**facts, **merged(parts)})


def process(rank, count, directory, name):
    dist.init_process_group("gloo", init_method=f"file://{os.path.abspath(directory)}/.meeting", rank=rank, world_size=count)
    torch.manual_seed(0)
    write_case(directory, name)
    dist.barrier()
    dist.destroy_process_group()


def main():
    directory, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(directory, exist_ok=True)
    for name in names:
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        count = CASES[name][0]
        if count == 1:
            write_case(directory, name)
        else:
            torch.multiprocessing.spawn(process, (count, directory, name), count)
            if os.path.exists(os.path.join(directory, ".meeting")):
                os.remove(os.path.join(directory, ".meeting"))


if __name__ == "__main__":
    main()
