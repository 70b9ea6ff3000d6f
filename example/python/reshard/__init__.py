# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Sharded tensors and checkpoints, moved from one parallel layout to another.

    import reshard
    found = reshard.check(source="model", target="tp4.json", program="fuse.aoa")
    plan = reshard.plan(source="model", target="tp4.json", program="fuse.aoa")
    reshard.convert("model", "sharded", layout="tp4.json", program="fuse.aoa")

Under mpiexec, every process calls the same; then the processes share the work. Options are those of the command-line
tool, with `_` for `-`: `strict_warnings=True` is --strict-warnings. What is refused raises `reshard.Error`, whose `code`
is for programs.
"""

import atexit
import json
from dataclasses import dataclass
from typing import Any

from ._reshard import Error, close as _close, redistribute as _redistribute, run as _run, version as __version__

__all__ = ["Error", "Shard", "check", "convert", "inspect", "plan", "redistribute", "verify"]

atexit.register(_close)


def _words(options):
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):  # an option that may be given several times
            for one in value:
                words += [option, str(one)]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def _command(*words, **options):
    status, text = _run([*map(str, words), "--json", *_words(options)])
    return json.loads(text)


def inspect(checkpoint, **options) -> dict:
    """What a checkpoint holds: files, tensors, shards."""
    return _command("inspect", checkpoint, **options)


def check(source, program, target=None, **options) -> dict:
    """All that is wrong with an AOA program (a file), before a byte moves: `ok`, `findings`, `keys`, `invertible`.

    `source` and `target` are checkpoints or layout files. A program with errors is no exception: it is what was asked.
    """
    return _command("check", source=source, program=program, target=target, **options)


def plan(source, target, program=None, **options) -> dict:
    """Who would send what to whom: transfers, bytes and messages of every rank."""
    return _command("plan", source=source, target=target, program=program, **options)


def convert(source, target, program=None, layout=None, **options) -> dict:
    """Reads the checkpoint `source` and writes `target`: in a layout, or as a Hugging Face directory."""
    return _command("convert", source, target, program=program, layout=layout, **options)


def verify(checkpoint, **options) -> dict:
    """Compares a checkpoint with the digests that were saved with it."""
    return _command("verify", checkpoint, **options)


@dataclass
class Shard:
    """A box of a tensor: `tensor` (a NumPy array, or anything with `__dlpack__`) begins at `offset` of a tensor of that
    `shape`. Without them it is the whole tensor."""

    tensor: Any
    shape: tuple | None = None
    offset: tuple | None = None

    def _given(self, key):
        shape = tuple(self.tensor.shape) if self.shape is None else tuple(self.shape)
        offset = (0,) * len(shape) if self.offset is None else tuple(self.offset)
        return key, shape, offset, self._elements()

    def _elements(self):
        if type(self.tensor).__module__ == "numpy":
            return self.tensor
        return self.tensor.__dlpack__()


def _shards(tensors):
    given = []
    for key, value in tensors.items():
        for shard in value if isinstance(value, (list, tuple)) else [value]:
            given.append((shard if isinstance(shard, Shard) else Shard(shard))._given(key))
    return given


def redistribute(comm, have, want, program="", file="program"):
    """Fills the tensors of `want` with those of `have`, from whatever rank has them.

    `comm` is a communicator of mpi4py, or None for this process alone; every rank of it calls this. `have` and `want` map
    keys to `Shard`s, or lists of them, or to whole tensors. `program` is AOA text; without it, tensors keep their names.
    """
    address = None
    if comm is not None:
        from mpi4py import MPI

        address = MPI._addressof(comm)
    _redistribute(address, _shards(have), _shards(want), program, file)
