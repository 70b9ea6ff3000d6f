# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Files of ranks that have DTensors, as torch.save writes them: usage: make_torch_ranks.py OUT

OUT/fsdp_tp: FSDP over tensor parallelism on 2 x 2 ranks, with uneven cuts; OUT/whole.pt: the whole tensors.
OUT/old: one tensor in the form of torch 2.4, whose mesh has a tensor of ranks; made by hand after its source.
"""

import collections
import os
import sys
import types

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

RANKS = 4


def save_rank(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29534", RANK=str(rank), WORLD_SIZE=str(RANKS))
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    net = torch.nn.Sequential(torch.nn.Linear(3, 10), torch.nn.Linear(10, 5))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape))
    beside = {"buffer": torch.tensor([0.5, 1.0, 2.0]), "step": 7}
    if rank == 0:
        torch.save({**{key: value.clone() for key, value in net.state_dict().items()}, **beside}, f"{out}/whole.pt")
    parallelize_module(net, mesh["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
    fully_shard(net, mesh=mesh["dp"])
    torch.save({**net.state_dict(), **beside}, f"{out}/fsdp_tp/model_world_size_{RANKS}_rank_{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def class_of(module, name):
    """A class of the names that older versions of torch have."""
    path = ""
    for part in module.split("."):
        path = part if not path else path + "." + part
        sys.modules.setdefault(path, types.ModuleType(path))
    made = type(name, (), {"__module__": module})
    setattr(sys.modules[module], name, made)
    return made


def make(kind, **members):
    value = kind()
    value.__dict__.update(members)
    return value


class Rebuilt:
    """What pickles as the call that makes a DTensor."""

    def __init__(self, kind, state):
        self.kind, self.state = kind, state

    def __reduce_ex__(self, protocol):
        return (torch._tensor._rebuild_from_type_v2,
                (torch._utils._rebuild_wrapper_subclass, self.kind, (), (None, self.state)))


def save_old(out):
    tensor = "torch.distributed._tensor."
    kind = class_of(tensor + "api", "DTensor")
    spec = class_of(tensor + "placement_types", "DTensorSpec")
    mesh = class_of("torch.distributed.device_mesh", "DeviceMesh")
    cut = class_of(tensor + "placement_types", "Shard")
    meta = collections.namedtuple("TensorMeta", "shape stride dtype")
    meta.__module__ = tensor + "placement_types"
    sys.modules[meta.__module__].TensorMeta = meta
    whole = torch.arange(15, dtype=torch.float32).reshape(5, 3)
    for rank, part in enumerate(whole.split(3)):
        on = make(mesh, device_type="cpu", mesh=torch.tensor([0, 1]), mesh_dim_names=("fsdp",), _coordinate_on_dim=[rank])
        how = make(spec, mesh=on, placements=(make(cut, dim=0),),
                   tensor_meta=meta(whole.shape, whole.stride(), whole.dtype))
        torch.save({"w": Rebuilt(kind, {"_local_tensor": part.clone(), "_spec": how})}, f"{out}/old/rank{rank}.pt")


if __name__ == "__main__":
    for directory in ("fsdp_tp", "old"):
        os.makedirs(f"{sys.argv[1]}/{directory}", exist_ok=True)
    multiprocessing.spawn(save_rank, (sys.argv[1],), RANKS)
    save_old(sys.argv[1])
