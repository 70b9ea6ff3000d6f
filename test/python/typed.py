# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Calls that type checkers accept: `mypy --strict typed.py` and `basedpyright typed.py`. It is not run."""

from __future__ import annotations

import pathlib

import numpy
import reshard
from mpi4py import MPI


def commands(comm: MPI.Comm) -> None:
    found: reshard.Result = reshard.check("model", pathlib.Path("fuse.aoa"), target="tp4.json", strict="ignore")
    ok: bool = found["ok"]
    reshard.plan("model", "tp4.json", comm=comm)
    reshard.inspect(pathlib.Path("model"), comm=None)
    reshard.convert("model", "made", layout="tp4.json", number=["loss=1.5", "step=7"], force=ok, comm="all")
    reshard.verify("made")


def tensors(comm: MPI.Comm) -> int | None:
    rows = numpy.zeros((2, 8), "float32")
    try:
        reshard.redistribute(comm, {"w": reshard.Shard(rows, shape=(4, 8), offset=(2 * comm.rank, 0))}, {"w": [rows]},
                             "w -> w", strict_warnings=True)
        reshard.redistribute(None, {"w": rows}, {"w": rows}, pathlib.Path("program.aoa"))
    except reshard.Error as problem:
        print(problem.code, problem.rank, problem.file, problem.key)
        return problem.line
    return None


def checkpoints(comm: MPI.Comm) -> dict[str, object]:
    model: reshard.Checkpoint = reshard.open("model", mapped=True)
    for key, tensor in model.items():
        print(key, tensor.dtype, tensor.shape, tensor[2:4, ..., 0])
    layout = reshard.layouts.from_mesh({"tp": 4}, {"**": {"tp": 0}})
    reshard.load("model", layout=layout, rank=3, framework="torch")
    reshard.save("saved", {"w": numpy.zeros(3)}, comm=comm, whole=True, force=True)
    return reshard.load("model", {"q": slice(0, 4), "norm": ...}, "q -> q", comm=comm)
