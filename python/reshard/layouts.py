# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Layouts of other frameworks, as dictionaries in the form of layout files.

    layout = reshard.layouts.from_transformers(model, tp=4)
    mine = reshard.load("checkpoint", layout=layout, comm=comm)
    json.dump(layout, open("tp4.json", "w"))      # for reshard.convert and the command-line tool
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ._error import Error

__all__ = ["from_megatron", "from_mesh", "from_tensors", "from_transformers"]

Layout = dict[str, Any]
_Runs = list[tuple[int, int]]


class ParallelState(Protocol):
    """What `from_megatron` asks of the module `megatron.core.parallel_state`."""

    def get_tensor_model_parallel_world_size(self) -> int: ...
    def get_pipeline_model_parallel_world_size(self) -> int: ...
    def get_context_parallel_world_size(self) -> int: ...
    def get_expert_model_parallel_world_size(self) -> int: ...
    def get_data_parallel_world_size(self) -> int: ...
    def get_virtual_pipeline_model_parallel_world_size(self) -> int | None: ...


# --- Boxes of a DTensor -----------------------------------------------------------------------------------------------


def _chunks(runs: _Runs, count: int) -> list[_Runs]:
    """Runs of indices, one after the other, in pieces as `torch.chunk` cuts them: rounded up, the last ones may be empty."""
    total = sum(end - begin for begin, end in runs)
    most = -(-total // count)
    return [_between(runs, min(total, most * i), min(total, most * (i + 1))) for i in range(count)]


def _between(runs: _Runs, first: int, last: int) -> _Runs:
    """The runs of the elements from the `first` to the `last` of all runs."""
    found, position = [], 0
    for begin, end in runs:
        left, right = max(first, position), min(last, position + end - begin)
        if left < right:
            found.append((begin + left - position, begin + right - position))
        position += end - begin
    return found


def _share(runs: _Runs, placement: Any, ranks: int, coordinate: int) -> _Runs:
    """What one rank has of runs that a mesh axis cuts. `_StridedShard` gives it a share of each of some equal pieces."""
    pieces = _chunks(runs, getattr(placement, "split_factor", 1))
    return [run for piece in pieces for run in _chunks(piece, ranks)[coordinate]]


def _runs_of(shape: Sequence[int], placements: Sequence[Any], extents: Sequence[int],
             coordinates: Sequence[int]) -> list[_Runs]:
    """For each axis of a tensor, the runs of indices that a rank has, in the order of its local tensor."""
    axes: list[_Runs] = [[(0, size)] for size in shape]
    of_fsdp: dict[tuple[int, int], tuple[_Runs, int, int]] = {}  # by axis and factor: what it cuts, ranks, a coordinate
    for placement, ranks, coordinate in zip(placements, extents, coordinates):
        if placement.is_partial():
            raise Error("a DTensor is Partial: its ranks have terms of a sum, not its values; redistribute it to "
                        "Replicate() or Shard(...) first")
        if placement.is_replicate():
            continue
        axis = placement.dim + len(shape) if placement.dim < 0 else placement.dim
        share = _share(axes[axis], placement, ranks, coordinate)
        if (axis, ranks) in of_fsdp:  # FSDP2 has cut what tensor parallelism cuts here
            before, earlier_ranks, earlier = of_fsdp[axis, ranks]
            if share != _chunks(_chunks(before, ranks)[coordinate], earlier_ranks)[earlier]:
                raise Error(f"axis {axis} of a DTensor has {shape[axis]} elements, which {tuple(placements)} do not cut evenly; "
                            "FSDP2 and DTensor give such parts to different ranks, so give whole tensors")
        if hasattr(placement, "split_factor"):
            of_fsdp[axis, placement.split_factor] = axes[axis], ranks, coordinate
        axes[axis] = share
    return [runs or [(0, 0)] for runs in axes]  # a rank without elements has an empty box


def boxes_of(tensor: Any) -> list[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
    """The boxes of a DTensor that this process has: a view of the local tensor, the shape of the whole, the offset.

    The process has several if a mesh axis cuts pieces of the tensor, such as a fused gate and up.
    """
    mesh, shape = tensor.device_mesh, tuple(tensor.shape)
    coordinates = mesh.get_coordinate()
    if coordinates is None:
        return []
    local = tensor.to_local().detach()
    axes = _runs_of(shape, tensor.placements, tuple(mesh.shape), coordinates)
    expected = [sum(end - begin for begin, end in runs) for runs in axes]
    if list(local.shape) != expected:
        raise Error(f"the local tensor of a DTensor has the shape {list(local.shape)}, but its placements "
                    f"{tuple(tensor.placements)} give this rank {expected} of {list(shape)}")
    found = []
    for box in itertools.product(*axes):
        view = local
        for axis, (begin, end) in enumerate(box):
            before = sum(b - a for a, b in itertools.takewhile(lambda run: run != (begin, end), axes[axis]))
            view = view.narrow(axis, before, end - begin)
        found.append((view, shape, tuple(begin for begin, _ in box)))
    return found


# --- Layouts ----------------------------------------------------------------------------------------------------------

_CODES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
          "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
          "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0"}


def from_tensors(tensors: Mapping[str, Any]) -> Layout:
    """The layout of DTensors, such as `module.state_dict()` has after `fully_shard` or `parallelize_module`.

    Every process that gives the same keys has the same result, which lists the shards of all ranks. Other tensors are on all ranks of the
    tensors' mesh. A mesh that is a part of a larger one, such as `mesh["tp"]`, is repeated along its other axes.
    """
    meshes = [tensor.device_mesh for tensor in tensors.values() if hasattr(tensor, "device_mesh")]
    if not meshes:
        raise Error("no tensor is a DTensor; from_mesh makes a layout of a DeviceMesh and placements")
    ranks = 1 + max(max(_places(mesh)) for mesh in meshes)
    listed = {}
    for key, tensor in tensors.items():
        if not hasattr(tensor, "dtype"):
            raise Error(f"'{key}': a value of type {type(tensor).__name__} is not a tensor; leave it out")
        places = _places(tensor.device_mesh) if hasattr(tensor, "device_mesh") else {rank: () for rank in range(ranks)}
        code = _CODES.get(str(tensor.dtype).rpartition(".")[2])
        if code is None:
            raise Error(f"'{key}': a layout has no data type {tensor.dtype}")
        shards = [shard for rank, at in sorted(places.items()) for shard in _listed_shards(tensor, rank, at)]
        listed[key] = {"dtype": code, "shape": list(tensor.shape), "shards": shards}
    return {"ranks": ranks, "tensors": listed}


def _listed_shards(tensor: Any, rank: int, coordinates: Sequence[int]) -> list[dict[str, Any]]:
    placements = tensor.placements if coordinates else ()
    extents = tuple(tensor.device_mesh.shape) if coordinates else ()
    axes = _runs_of(tuple(tensor.shape), placements, extents, coordinates)
    return [{"rank": rank, "offset": [begin for begin, _ in box], "shape": [end - begin for begin, end in box]}
            for box in itertools.product(*axes)]


def _places(mesh: Any) -> dict[int, tuple[int, ...]]:
    """For each rank, its coordinates on a mesh, which may be a part of a larger one."""
    root = mesh._get_root_mesh() if hasattr(mesh, "_get_root_mesh") else mesh
    axes: Sequence[int]
    names, own = root.mesh_dim_names or (), mesh.mesh_dim_names or ()
    if root is mesh:
        axes = range(mesh.mesh.ndim)
    elif own and set(own) <= set(names):
        axes = [names.index(name) for name in own]
    else:
        raise Error(f"the mesh {tuple(own)} is not made of axes of its root mesh {tuple(names)}; give tensors on the root mesh, "
                    "or on some of its axes")
    every = itertools.product(*map(range, root.mesh.shape))
    return {int(root.mesh[at]): tuple(at[axis] for axis in axes) for at in every}


def from_mesh(mesh: Any, placements: Mapping[str, Any]) -> Layout:
    """A layout of rules: `placements` maps patterns of keys to what each mesh axis does with such a tensor.

    `mesh` is a DeviceMesh, or a dictionary of the axes' names and extents, the last of which varies fastest among ranks.
    A pattern has `*` for a name between two dots and `**` for any text. Its value is a placement for each mesh axis, as in
    PyTorch, or a dictionary as in a layout file.

    >>> from_mesh({"dp": 2, "tp": 4}, {"**.q_proj.weight": {"tp": 0}})
    {'mesh': [['dp', 2], ['tp', 4]], 'rules': [{'match': '**.q_proj.weight', 'shard': {'tp': 0}}]}
    """
    axes = _axes_of(mesh)
    rules = []
    for pattern, given in placements.items():
        if isinstance(given, Mapping):
            shard = dict(given)
        elif not isinstance(given, Sequence) or isinstance(given, str):
            raise Error(f"'{pattern}': a placement for each mesh axis, or a dictionary, is expected, not {given!r}")
        elif len(given) != len(axes):
            raise Error(f"'{pattern}': {len(given)} placements were given, but the mesh has {len(axes)} axes")
        else:
            shard = {name: cut for (name, _), one in zip(axes, given) if (cut := _cut(pattern, one)) is not None}
            cuts = [cut["axis"] if isinstance(cut, dict) else cut for cut in shard.values()]
            if len(set(cuts)) < len(cuts) and any(isinstance(cut, dict) for cut in shard.values()):
                raise Error(f"'{pattern}': a strided placement cuts an axis that another mesh axis cuts, too, which rules "
                            "cannot say; from_tensors lists such shards")
        rules.append({"match": pattern, "shard": shard})
    return {"mesh": axes, "rules": rules}


def _axes_of(mesh: Any) -> list[list[Any]]:
    if isinstance(mesh, Mapping):
        return [[name, operator.index(extent)] for name, extent in mesh.items()]
    ranks = [int(rank) for rank in mesh.mesh.flatten()]
    if ranks != list(range(len(ranks))):
        raise Error(f"the mesh has the ranks {ranks} in this order, but a layout of rules counts them row by row from 0; "
                    "give the mesh of all ranks")
    names = mesh.mesh_dim_names or [f"dim_{axis}" for axis in range(mesh.mesh.ndim)]
    return [[name, int(extent)] for name, extent in zip(names, mesh.mesh.shape)]


class _Shard:
    """The number of an axis as a placement."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def is_replicate(self) -> bool:
        return False

    def is_partial(self) -> bool:
        return False


def _cut(pattern: str, placement: Any) -> Any:
    """A placement of PyTorch, as a layout file describes it; None if it cuts nothing."""
    if placement is None:
        return None
    if hasattr(placement, "__index__") and not isinstance(placement, bool):
        placement = _Shard(operator.index(placement))
    if not hasattr(placement, "is_replicate"):
        raise Error(f"'{pattern}': {placement!r} is neither a placement nor the number of an axis")
    if placement.is_replicate():
        return None
    if placement.is_partial():
        raise Error(f"'{pattern}': Partial() describes a sum, not where a tensor's elements are")
    if placement.dim < 0:
        raise Error(f"'{pattern}': the axis {placement.dim} must count from the front, as tensors of a pattern may have "
                    "different numbers of axes")
    groups = getattr(placement, "split_factor", 1)
    return placement.dim if groups == 1 else {"axis": placement.dim, "parts": groups}


# The axis that each style of transformers cuts, for a tensor with 1, 2 and 3 axes, and the number of fused tensors.
_STYLES = {"colwise": ((0, 0, 1), 1), "colwise_rep": ((0, 0, 1), 1), "colwise_gather_output": ((0, 0, 1), 1),
           "rowwise": ((None, 1, 2), 1), "rowwise_rep": ((None, 1, 2), 1), "rowwise_split_input": ((None, 1, 2), 1),
           "packed_colwise": ((0, 0, 1), 2), "packed_rowwise": ((None, 1, 2), 2), "embedding_rowwise": ((0, 0, 0), 1),
           "embedding_colwise": ((None, 1, 1), 1), "grouped_gemm": ((0, 0, 0), 1)}
# Styles that change how a module computes, and cut no parameter.
_WHOLE = {"all_reduce", "ep_dispatch_experts", "local_params", "mla_kv_a_proj", "moe_identity_expert", "moe_tp_experts",
          "replicate", "replicated_with_grad_allreduce", "sequence_parallel"}


def from_transformers(model: Any, tp: int, *, plan: Mapping[str, str] | None = None) -> Layout:
    """The layout of a model of transformers on `tp` ranks, by its plan for tensor parallelism.

    `model` is a model, which may be on the device meta, so that it needs no memory:

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)

    `plan` replaces `model.tp_plan`; `model.ep_plan`, for example, gives each rank some of the experts. Tensors of the
    model that the plan does not name are on all ranks.
    """
    styles = dict(model.tp_plan if plan is None else plan)
    if not styles:
        raise Error(f"{type(model).__name__} has no plan for tensor parallelism; give one as `plan`")
    for name, style in styles.items():
        if style not in _STYLES and style not in _WHOLE:
            raise Error(f"'{name}': the style '{style}' is unknown; known are {', '.join(sorted({*_STYLES, *_WHOLE}))}")
    cuts: dict[str, Any] = {}
    for key, tensor in model.state_dict().items():
        pattern = re.sub(r"\.\d+(?=\.|$)", ".*", key)
        cuts[pattern] = _cut_of_style(styles.get(pattern) or styles.get(pattern.rpartition(".")[0]), tensor)
    rules = [{"match": pattern, "shard": {} if cut is None else {"tp": cut}} for pattern, cut in cuts.items()]
    return {"mesh": [["tp", operator.index(tp)]], "rules": rules}


def _cut_of_style(style: str | None, tensor: Any) -> Any:
    if style not in _STYLES or not 1 <= tensor.ndim <= 3:
        return None
    axes, groups = _STYLES[style]
    axis = axes[tensor.ndim - 1]
    return axis if axis is None or groups == 1 or tensor.ndim == 1 else {"axis": axis, "parts": groups}


# Modules of Megatron-Core by the axis of their weight that tensor parallelism cuts; biases of columns are cut as well.
_MEGATRON = {"**.linear_qkv.weight": 0, "**.linear_qkv.bias": 0, "**.linear_proj.weight": 1, "**.linear_fc2.weight": 1,
             "embedding.word_embeddings.weight": 0, "output_layer.weight": 0}


def from_megatron(parallel_state: ParallelState, layers: int, gated: bool, *,
                  placements: Mapping[str, Mapping[str, Any]] | None = None) -> Layout:
    """The layout of a GPTModel of Megatron-Core by its parallel state, the module `megatron.core.parallel_state`.

    Ranks have the default order, `tp-cp-ep-dp-pp`. `layers` is the number of the model's layers, which the pipeline's
    stages share evenly. If `gated` is true (SwiGLU), `linear_fc1` is a gate on top of an up, of which each rank has its
    part. `placements` replaces the rules for `linear_qkv`, `linear_proj`, `linear_fc1`, `linear_fc2`, the embedding and
    the output layer: it maps patterns of keys to `{"tp": axis}`. Experts on different ranks are refused, as no rule gives
    their numbers to ranks, and so are interleaved stages.
    """
    if (chunks := parallel_state.get_virtual_pipeline_model_parallel_world_size() or 1) > 1:
        raise Error(f"each stage of the pipeline has {chunks} chunks of layers, but a layout gives it one")
    if (experts := parallel_state.get_expert_model_parallel_world_size()) > 1:
        raise Error(f"the experts are on {experts} ranks, which no rule describes; list the shards of sharded_state_dict()")
    axes = {"pp": parallel_state.get_pipeline_model_parallel_world_size(),
            "dp": parallel_state.get_data_parallel_world_size(),
            "cp": parallel_state.get_context_parallel_world_size(),
            "tp": parallel_state.get_tensor_model_parallel_world_size()}
    stages = axes["pp"]
    if layers < 1:
        raise Error(f"a model has at least one layer, not {layers}")
    cuts: dict[str, Mapping[str, Any]] = {pattern: {"tp": axis} for pattern, axis in _MEGATRON.items()}
    cuts["**.linear_fc1.*"] = {"tp": {"axis": 0, "parts": 2} if gated else 0}
    chosen = cuts if placements is None else placements
    layout = from_mesh({name: extent for name, extent in axes.items() if extent > 1 or name == "tp"},
                       {**chosen, "**": chosen.get("**", {})})
    if stages > 1:
        if layers % stages:
            raise Error(f"{layers} layers cannot be shared evenly by {stages} stages")
        layout["stages"] = {"mesh_axis": "pp", "layers": "decoder.layers.{layer}.", "counts": [layers // stages] * stages,
                            "first": ["embedding.**"], "last": ["decoder.final_layernorm.**", "output_layer.**"]}
    return layout
