# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Sharded tensors and checkpoints, moved from one parallel layout to another.

    import reshard
    found = reshard.check(source="model", target="tp4.json", program="fuse.aoa")
    plan = reshard.plan(source="model", target="tp4.json", program="fuse.aoa")
    reshard.convert("model", "sharded", layout="tp4.json", program="fuse.aoa")

Under mpiexec, all processes make the same calls and share the work; a call by one process alone waits for the others,
unless it has `comm=None` (this process) or a communicator of mpi4py. Options are those of the command-line tool, with
`_` for `-`: `strict_warnings=True` is --strict-warnings. Refused input raises `reshard.Error`, whose `code` is for
programs. Results list all warnings and notes in `warnings` and `notes`; each warning is issued as a `reshard.Warning`,
too.
"""

import atexit
import functools
import inspect as inspection
import json
import keyword
import operator
import os
import re
import reprlib
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _mpi
from ._reshard import Error, close as _close, options_of, redistribute as _redistribute
from ._reshard import refuse as _refuse, run as _run, run_everywhere as _run_everywhere, version as __version__

__all__ = ["Error", "Shard", "Warning", "check", "convert", "inspect", "plan", "redistribute", "verify"]


class Warning(UserWarning):
    """A warning of the library."""


atexit.register(_close)
_options_of = functools.cache(options_of)
del options_of


def _keyword(option):
    """`shard_size` for `shard-size`; keywords of Python get a `_` at the end."""
    name = option.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _words(command, positional, options):
    """The words of a command line; options that are False or None are omitted."""
    flags = {_keyword(name): is_flag for name, is_flag, _ in _options_of(command)}
    words = [command, "--json"]
    for value in positional:
        path = os.fspath(value)
        words.append("./" + path if path.startswith("-") else path)
    for name, value in options.items():
        option = "--" + name.removesuffix("_").replace("_", "-")
        if value is True or (flags.get(name) and value):
            words.append(option)
        elif value is not None and value is not False and not flags.get(name):
            for each in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, os.fspath(each) if isinstance(each, os.PathLike) else str(each)]
    for word in words:
        word.encode()
    return words


def _in_python(command, text):
    """A sentence of the command-line tool with the names of Python: `force=True` for --force."""
    flags = {name: is_flag for name, is_flag, _ in _options_of(command)}

    def in_python(found):
        return _keyword(found[1]) + ("=True" if flags[found[1]] else "=") if found[1] in flags else found[0]

    text = re.sub(r"(?<![\w/-])--([\w-]+)", in_python, text)
    text = re.sub(r"(?<=unknown option ')--([^']*)(?=')", lambda found: _keyword(found[1]), text)
    return re.sub(r"reshard (\w+) --help", r"help(reshard.\1)", text)


def _error(code, text):
    problem = Error(text)
    problem.code = code
    return problem


def _command(command, *positional, comm, **options):
    """The output of a command with `--json`, with its warnings and notes."""
    is_everywhere = isinstance(comm, str) and comm == "all"
    handle = None if is_everywhere else _handle(comm)
    if is_everywhere:
        _mpi.prepare()
    words, mistake = [], ""
    try:
        words = _words(command, positional, options)
    except Exception as problem:
        mistake = f"{command}: {_sentence(problem)}"
    answer = _run_everywhere(words, mistake) if is_everywhere else _run(handle, words, mistake)
    said = [(what, _in_python(command, text)) for what, text in answer.said]
    if answer.is_first:
        _warn((text for what, text in said if what == "warning"), 4)
    try:
        answer.check()
    except Error as problem:
        raise _error(problem.code, _in_python(command, str(problem)) + _hint(options.get("program"))) from None
    if not answer.text.startswith("{"):
        raise _error("usage", f"{command}: to show its help, call help(reshard.{command})")
    texts = {kind + "s": [text for what, text in said if what == kind] for kind in ("warning", "note")}
    return json.loads(answer.text) | texts


def _hint(program):
    """A hint for errors when `program` seems to be a text."""
    return "; `program` must be the path of a file, not its text" if isinstance(program, str) and "->" in program else ""


def _documented(function):
    """Adds the options of a command to the signature and the help text of its function."""
    lines, parameters = [], []
    known = inspection.signature(function).parameters
    for name, is_flag, text in _options_of(function.__name__):
        text = _in_python(function.__name__, " ".join(text.split()))
        lines.append(f"        {_keyword(name)}{'=True' if is_flag else '=...'}: {text}")
        if _keyword(name) not in known:
            default = False if is_flag else None
            parameters.append(inspection.Parameter(_keyword(name), inspection.Parameter.KEYWORD_ONLY, default=default))
    fixed = [one for one in known.values() if one.kind is not inspection.Parameter.VAR_KEYWORD]
    function.__signature__ = inspection.Signature(fixed + parameters, return_annotation=dict)
    function.__doc__ += "\n\n    Options:\n" + "\n".join(lines) + "\n" if lines else ""
    return function


@_documented
def inspect(checkpoint, *, comm="all", **options) -> dict:
    """Describes the contents of a checkpoint: files, tensors, shards."""
    return _command("inspect", checkpoint, comm=comm, **options)


@_documented
def check(source, program, target=None, *, comm="all", **options) -> dict:
    """Reports everything that is wrong with an AOA program (a file), before a byte moves: `ok`, `findings`, `keys` and
    `invertible`.

    `source` and `target` are checkpoints or layout files. A program with errors raises no exception:
    its errors are the answer.
    """
    return _command("check", comm=comm, source=source, program=program, target=target, **options)


@_documented
def plan(source, target, program=None, *, comm="all", **options) -> dict:
    """Shows who would send what to whom: transfers, bytes and messages of every rank."""
    return _command("plan", comm=comm, source=source, target=target, program=program, **options)


@_documented
def convert(source, target, program=None, layout=None, *, comm="all", **options) -> dict:
    """Reads the checkpoint `source` and writes `target`: in a layout, or as a Hugging Face directory."""
    return _command("convert", source, target, comm=comm, program=program, layout=layout, **options)


@_documented
def verify(checkpoint, *, comm="all", **options) -> dict:
    """Compares a checkpoint with the digests that were saved with it: `ok`, the differences in `bad`, and in
    `unverified` the files without digests, which could not be compared."""
    return _command("verify", checkpoint, comm=comm, **options)


@dataclass
class Shard:
    """A box of a global tensor: `tensor` (a NumPy array, or anything with `__dlpack__`) begins at `offset` of a global
    tensor with this `shape`. Without them, it is the whole tensor."""

    tensor: Any
    shape: tuple | None = None
    offset: tuple | None = None


class _Mistake(Exception):
    """The error in an argument, as a sentence."""


def _kind(value):
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _is_a(tensor, module, name):
    """Whether a tensor is of a class of a module, which is imported if there is such a tensor."""
    return isinstance(tensor, getattr(sys.modules.get(module), name, ()))


def _integers(what, values):
    if values is None:
        return None
    try:
        numbers = [operator.index(value) for value in values]
    except TypeError:
        raise _Mistake(f"{what} must be a tuple of integers, but {reprlib.repr(values)} was given") from None
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        raise _Mistake(f"{what} has a number that does not fit in 64 bits")
    return numbers


def _lent(tensor):
    """The capsule of `__dlpack__`: if possible, in the form that says whether the elements are read-only."""
    for method in ("is_neg", "is_conj"):
        if getattr(tensor, method, bool)():
            raise _Mistake(f"its memory does not hold its values ({method}()); give tensor.resolve_{method[3:]}()")
    try:
        return tensor.__dlpack__(max_version=(1, 1))
    except TypeError:
        return tensor.__dlpack__()


def _described(array):
    """Address, shape, strides, bytes of an element, data type, and whether it is read-only."""
    name = (">" if array.dtype.byteorder == ">" else "") + array.dtype.name
    address, is_read_only = array.__array_interface__["data"]
    return address, array.shape, array.strides, array.itemsize, name, is_read_only


def _elements(tensor):
    if _is_a(tensor, "numpy.ma", "MaskedArray"):
        raise _Mistake("the mask of a masked array would be lost; give tensor.filled(...)")
    if _is_a(tensor, "numpy", "ndarray"):
        return _described(tensor)
    if hasattr(tensor, "__dlpack__"):
        lent = _lent(tensor)
        if type(lent).__name__ != "PyCapsule":
            raise _Mistake(f"__dlpack__ returned {_kind(lent)}, not a capsule")
        return lent
    raise _Mistake(f"{_kind(tensor)} is not a tensor; give a NumPy array, or an object with __dlpack__")


def _given(side, value):
    shard = value if isinstance(value, Shard) else Shard(value)
    if side == "want" and _is_a(shard.tensor, "jax", "Array"):  # its __dlpack__ does not say so
        raise _Mistake("a JAX array cannot be written to; fill a NumPy array, and make a JAX array from it")
    return _integers("shape", shard.shape), _integers("offset", shard.offset), _elements(shard.tensor)


def _shards(side, tensors):
    """Key, shape, offset and elements of each shard, as `_reshard` takes them."""
    if not isinstance(tensors, Mapping):
        raise _Mistake(f"`{side}` must map keys to tensors, but {_kind(tensors)} was given")
    given = []
    for key, value in tensors.items():
        if not isinstance(key, str):
            raise _Mistake(f"a key of `{side}` must be text, but {_kind(key)} was given: {str(key)[:80]}")
        try:
            key.encode()
            for shard in value if isinstance(value, (list, tuple)) else [value]:
                given.append((key, *_given(side, shard)))
        except Exception as problem:
            raise _Mistake(f"{key!r}: {_sentence(problem)}") from problem
    return given


def _sentence(problem):
    """An exception as a sentence, shortened because some exceptions show arrays."""
    kind = "" if isinstance(problem, (_Mistake, Error)) else f"{type(problem).__name__}: "
    return f"{kind}{problem}"[:2000]


def _text(program, file):
    """Text and name of a program, which is text or the path of a file."""
    if isinstance(program, os.PathLike):
        with open(program, encoding="utf-8") as opened:
            return opened.read(), os.fspath(program)
    if program is not None and not isinstance(program, str):
        raise _Mistake(f"`program` must be AOA text, or a path of a file as pathlib.Path, but {_kind(program)} was given")
    if not isinstance(file, str):
        raise _Mistake(f"`file`, the name of the program in messages, must be text, but {_kind(file)} was given")
    return program or "", file


def _handle(comm):
    """The number of a communicator, or None for this process alone."""
    if comm is None:
        return None
    MPI = _mpi.of_mpi4py()
    if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
        raise TypeError(f"`comm` must be a valid communicator of mpi4py, or None, but {_kind(comm)} was given")
    if comm.Is_inter():
        raise TypeError("`comm` is an inter-communicator, whose groups count their ranks separately; give comm.Merge()")
    return comm.py2f()


def redistribute(comm, have, want, program="", file="program", *, strict_warnings=False):
    """Fills the tensors of `want` from those of `have`, whichever rank has them.

    `comm` is a communicator of mpi4py, or None for this process alone; every rank of it calls this. `have` and `want` map
    keys to `Shard`s, or lists of them, or to whole tensors. `program` is AOA text, which messages call `file`, or the
    path of a file as a `pathlib.Path`; without it, tensors keep their names.

    A wrong argument on one rank raises the same `reshard.Error` on every rank. A warning of the program is a
    `reshard.Warning` on rank 0; with `strict_warnings=True` it is an error on every rank.
    """
    handle = _handle(comm)
    try:
        given = _shards("have", have), _shards("want", want), _text(program, file)
        for text in given[2]:
            text.encode()
    except BaseException as problem:
        try:
            _refuse(handle, _sentence(problem))
        except Error as told:
            if isinstance(problem, Exception):
                raise told from problem
        raise  # for example KeyboardInterrupt; the other ranks know of it now
    try:
        warned = _redistribute(handle, *given, bool(strict_warnings))
    except Error as problem:
        if problem.code != "syntax" or "->" in given[2][0]:
            raise
        raise _error("syntax", f"{problem}\n  `program` is the text itself; give a file as pathlib.Path(...)") from None
    if comm is None or comm.rank == 0:
        _warn(warned, 3)


def _warn(texts, level):
    for text in texts:
        warnings.warn(text, Warning, stacklevel=level)
