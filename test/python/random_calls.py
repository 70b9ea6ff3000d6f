# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Random calls of the Python module, each compared with what NumPy makes of the same tensors: random_calls.py [COUNT
[SEED]], alone or under mpiexec, with the folder of the module in PYTHONPATH. With PyTorch, half of the tensors are its; with
RESHARD_CUDA_LIBRARY, a third are on GPUs."""

import os
import random
import shutil
import sys
import tempfile

import numpy
import reshard
from on_gpu import OnGpu, cuda

try:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
except ImportError:
    comm = None
try:
    import torch
except ImportError:
    torch = None
rank, ranks = (comm.rank, comm.size) if comm else (0, 1)
count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
common = random.Random(seed)  # draws the same on all ranks
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int16", "int64", "bool"]


def boxes(shape):
    """A box of a tensor for each rank: slices along one axis, or all of it; and who else has copies."""
    if not shape or common.random() < 0.2:
        holders = common.sample(range(ranks), common.randint(1, ranks))
        return [(tuple(slice(0, n) for n in shape) if r in holders else None) for r in range(ranks)]
    axis = common.randrange(len(shape))
    cuts = sorted(common.randint(0, shape[axis]) for _ in range(ranks - 1))
    ends = list(zip([0, *cuts], [*cuts, shape[axis]]))
    common.shuffle(ends)
    return [tuple(slice(*ends[r]) if a == axis else slice(0, n) for a, n in enumerate(shape)) for r in range(ranks)]


def tensor_of(array):
    """The array in memory of any strides, of NumPy, PyTorch, or on a GPU."""
    kind = common.randrange(4)
    if kind == 1 and array.ndim:
        array = numpy.asfortranarray(array)
    elif kind == 2 and array.ndim:
        spread = numpy.zeros((2 * array.shape[0], *array.shape[1:]), array.dtype)
        spread[::2] = array
        array = spread[::2]
    else:
        array = array.copy()
    if cuda and common.random() < 1 / 3:
        return OnGpu(array, common.randrange(2))
    return torch.from_numpy(array) if torch and common.random() < 0.5 else array


def shards_of(tensors, values):
    """What this rank has of tensors, each cut at random; `values` makes the elements of a box."""
    mine, filled = {}, {}
    for key, whole in tensors.items():
        per_rank = boxes(whole.shape)
        for r in range(ranks):  # all ranks draw alike
            if per_rank[r] is None:
                continue
            made = tensor_of(numpy.asarray(values(whole[per_rank[r]])))
            if r == rank:
                mine[key] = reshard.Shard(made, whole.shape, tuple(part.start for part in per_rank[r]))
                filled[key] = (made, whole[per_rank[r]])
    return mine, filled


def program_and_results(tensors):
    """A random program, and what it makes, by NumPy."""
    lines, results = [], {}
    for key, whole in tensors.items():
        kind = common.randrange(5)
        if kind == 0 and whole.ndim == 2:
            lines.append(f"{key}^T -> {key}_t")
            results[f"{key}_t"] = whole.T
        elif kind == 1 and whole.dtype == "float32":
            lines.append(f'{key} -> {key}_d, dtype="float64"')
            results[f"{key}_d"] = whole.astype("float64")
        elif kind == 2 and whole.ndim and whole.shape[0] > 1 and whole.shape[0] % 2 == 0:
            lines.append(f"{key} -> {key}_a, {key}_b, axis=0")
            results[f"{key}_a"], results[f"{key}_b"] = numpy.split(whole, 2)
        elif kind == 3 and whole.ndim:
            lines.append(f"{key}, {key} -> {key}_j, axis=0")
            results[f"{key}_j"] = numpy.concatenate([whole, whole])
        else:
            lines.append(f"{key} -> {key}_r")
            results[f"{key}_r"] = whole
    return "\n".join(lines), results


def check(filled, what):
    for key, (made, expected) in filled.items():
        assert numpy.array_equal(numpy.asarray(made), expected), (what, key, numpy.asarray(made), expected)


def random_tensors():
    made = {}
    for i in range(common.randint(1, 5)):
        shape = tuple(common.choice([0, 1, 2, 3, 5, 6, 8]) for _ in range(common.randint(0, 4)))
        array = numpy.frombuffer(common.randbytes(8 * max(1, int(numpy.prod(shape)))), "uint8")
        dtype = common.choice(DTYPES)
        size = int(numpy.prod(shape))
        made[f"t{i}"] = (array[:size].astype(dtype) if dtype != "bool" else array[:size] > 127).reshape(shape)
    return made


def refused_everywhere(have, want):
    """A mistake of one rank is an error of all, and names it."""
    wrong_rank = common.randrange(ranks)
    mistake = common.choice([{"have": {"x": 3}}, {"want": {"x": "text"}}, {"program": "w ->"}, {"have": None}])
    given = {"have": have, "want": want} | (mistake if rank == wrong_rank else {})
    try:
        reshard.redistribute(comm, **given)
    except reshard.Error as problem:
        assert ranks == 1 or f"rank {wrong_rank}" in str(problem), problem
    else:
        raise AssertionError("it was not refused")


def one_call(directory, number):
    tensors = random_tensors()
    program, results = program_and_results(tensors) if common.random() < 0.6 else ("", tensors)
    have, _ = shards_of(tensors, lambda box: box)
    want, filled = shards_of(results, numpy.zeros_like)
    kind = common.choice(["redistribute", "load", "save", "boxes", "wrong"])
    path = os.path.join(directory, f"call{number}")
    if kind == "wrong":
        refused_everywhere(have, want)
    elif kind == "redistribute":
        reshard.redistribute(comm, have, want, program)
        check(filled, program)
    elif kind == "save":
        reshard.save(path, have, program, comm=comm, whole=common.random() < 0.5)
        assert all(numpy.array_equal(array, results[key]) for key, array in reshard.load(path).items()), program
    else:
        reshard.save(path, have, comm=comm)
        if kind == "load":
            reshard.load(path, want, program, comm=comm)
            check(filled, program)
        else:
            found = reshard.load(path, {key: shard_box(shard) for key, shard in want.items()}, program, comm=comm)
            assert found.keys() == filled.keys()
            check({key: (found[key], expected) for key, (_, expected) in filled.items()}, program)
    if comm:
        comm.barrier()
    if rank == 0:
        shutil.rmtree(path, ignore_errors=True)
    return kind


def shard_box(shard):
    return tuple(slice(first, first + extent) for first, extent in zip(shard.offset, shard.tensor.shape)) or ...


folder = tempfile.mkdtemp() if rank == 0 else None
folder = comm.bcast(folder) if comm else folder
kinds = {}
for number in range(count):
    try:
        kind = one_call(folder, number)
    except BaseException:
        print(f"rank {rank}: call {number} of seed {seed}", file=sys.stderr, flush=True)
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        if comm:
            comm.Abort(1)
        raise
    kinds[kind] = kinds.get(kind, 0) + 1
if rank == 0:
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{count} random calls on {ranks} rank(s) with {'PyTorch' if torch else 'NumPy'}, all equal: {kinds}")
sys.stdout.flush()
