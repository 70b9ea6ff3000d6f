# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints of any format in torch.distributed.checkpoint:

    dcp.load(state_dict, storage_reader=reshard.plugins.dcp.Reader("model.gguf", program))
    dcp.save(state_dict, storage_writer=reshard.plugins.dcp.Writer("saved", comm=MPI.COMM_WORLD))
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata, TensorProperties, TensorStorageMetadata
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.distributed.tensor import DTensor

import reshard
from reshard._files import Path
from reshard._tensors import Program, torch_dtype
from . import fill


class _Checkpoint:
    """A checkpoint and a program, under which plans stay as they are."""

    def __init__(self, path: Path, program: Program = "", **options: Any) -> None:
        self.path, self.program, self.options = path, program, options

    def reset(self, checkpoint_id: Path | None = None) -> None:
        self.path = self.path if checkpoint_id is None else checkpoint_id

    def prepare_local_plan(self, plan: Any) -> Any:
        return plan

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        return plans

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return True


def _done(result: Any) -> Any:
    future: Any = torch.futures.Future()
    future.set_result(result)
    return future


class Reader(_Checkpoint, StorageReader):
    """Reads what a program makes of a checkpoint; each process reads its own boxes."""

    def read_metadata(self) -> Metadata:
        def described(tensor: reshard.Tensor) -> TensorStorageMetadata:
            properties, shape = TensorProperties(torch_dtype(tensor.dtype)), torch.Size(tensor.shape)
            return TensorStorageMetadata(properties, shape, [ChunkStorageMetadata(torch.Size([0] * len(shape)), shape)])

        return Metadata({key: described(one) for key, one in reshard.open(self.path, program=self.program).items()})

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:
        self.metadata: dict[str, Any] = dict(metadata.state_dict_metadata)

    def read_data(self, plan: Any, planner: Any) -> Any:
        tensors = [planner.resolve_tensor(item).detach() for item in plan.items]
        shards: dict[str, Any] = {}
        for item, tensor in zip(plan.items, tensors):
            key = item.storage_index.fqn
            whole = getattr(planner, "state_dict", {}).get(item.dest_index.fqn)
            if isinstance(whole, DTensor):  # the plan takes a strided shard for one box
                shards[key] = whole
            else:
                shards.setdefault(key, []).append(reshard.Shard(tensor, self.metadata[key].size, item.storage_offsets))
        fill(self.path, shards, self.program)
        for item, tensor in zip(plan.items, tensors):
            planner.commit_tensor(item, tensor)
        return _done(None)


class Writer(_Checkpoint, StorageWriter):
    """Writes a checkpoint by `reshard.save`, with its options. Several processes need `comm=`."""

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        comm = self.options.get("comm")
        if (1 if comm is None else comm.size) != len(plans):
            raise reshard.Error(f"{len(plans)} processes write {self.path!r}, but `comm` has "
                                f"{'one process' if comm is None else comm.size}; give Writer(..., comm=) their communicator of mpi4py")
        return plans

    def write_data(self, plan: Any, planner: Any) -> Any:
        shards: dict[str, list[Any]] = {}
        for item in plan.items:
            data, of = planner.resolve_data(item), item.tensor_data
            shard = reshard.Shard(data.detach().cpu(), of.size, of.chunk.offsets) if of else data  # `save` refuses objects
            shards.setdefault(item.index.fqn, []).append(shard)
        reshard.save(self.path, shards, self.program, **self.options)
        return _done([WriteResult(item.index, 0, None) for item in plan.items])

    def finish(self, metadata: Metadata, results: Any) -> None:
        pass
