# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Sharded tensors and checkpoints, moved from one parallel layout to another.

    import reshard
    found = reshard.check(source="model", target="tp4.json", program="fuse.aoa")
    plan = reshard.plan(source="model", target="tp4.json", program="fuse.aoa")
    reshard.convert("model", "sharded", layout="tp4.json", program="fuse.aoa")
    rows = reshard.open("sharded")["lm_head.weight"][100:200]   # reads these rows

Under mpiexec, all processes make the same calls and share the work; a call by one process alone waits for the others,
unless it has `comm=None` (this process) or a communicator of mpi4py. Options are those of the command-line tool, with
`_` for `-`: `strict_warnings=True` is --strict-warnings. Refused input raises `reshard.Error`, whose `code` is for
programs. Results list all warnings and notes in `warnings` and `notes`; each warning is issued as a `reshard.Warning`,
too.
"""

from __future__ import annotations

import atexit
import functools
import inspect as inspection
import json
import keyword
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from . import _mpi, _tensors, layouts
from ._error import Error, Mistake as _Mistake
from ._reshard import close as _close, options_of, redistribute as _redistribute
from ._reshard import run as _run, run_everywhere as _run_everywhere, version as __version__
from ._files import Checkpoint, Tensor, load, open, save
from ._page import Result
from ._tensors import Shard, Warning

__all__ = ["Checkpoint", "Error", "Result", "Shard", "Tensor", "Warning", "__version__", "check", "convert", "expand", "inspect", "layouts",
           "load", "open", "plan", "redistribute", "save", "verify"]

if TYPE_CHECKING:
    from mpi4py import MPI

Path = Union[str, "os.PathLike[str]"]
Comm = Union["MPI.Comm", Literal["all"], None]
Option = Union[bool, int, float, Path, Sequence[Union[str, float]], None]
_Function = TypeVar("_Function", bound=Callable[..., object])

atexit.register(_close)
_options_of = functools.cache(options_of)
del options_of


def _keyword(option: str) -> str:
    """`shard_size` for `shard-size`; keywords of Python get a `_` at the end."""
    name = option.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _words(command: str, positional: Sequence[Path], options: dict[str, Any]) -> list[str]:
    """The words of a command line; options that are False or None are omitted."""
    flags = {_keyword(name): is_flag for name, is_flag, _ in _options_of(command)}
    words = [command, "--json"]
    for value in positional:
        path = os.fspath(value)
        words.append("./" + path if path.startswith("-") else path)
    for name, value in options.items():
        if isinstance(value, dict):
            raise _Mistake(f"`{name}` must be the path of a file here; write the dictionary with json.dump")
        option = "--" + name.removesuffix("_").replace("_", "-")
        if value is True or (flags.get(name) and value):
            words.append(option)
        elif value is not None and value is not False and not flags.get(name):
            for each in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, os.fspath(each) if isinstance(each, os.PathLike) else str(each)]
    for word in words:
        word.encode()
        if "\0" in word:
            raise _Mistake(f"{word!r} has a NUL character")
    return words


def _in_python(command: str, text: str) -> str:
    """A sentence of the command-line tool with the names of Python: `force=True` for --force."""
    flags = {name: is_flag for name, is_flag, _ in _options_of(command)}

    def in_python(found: re.Match[str]) -> str:
        return _keyword(found[1]) + ("=True" if flags[found[1]] else "=") if found[1] in flags else found[0]

    text = re.sub(r"(?<![\w/-])--([\w-]+)", in_python, text)
    text = re.sub(r"(?<=unknown option ')--([^']*)(?=')", lambda found: _keyword(found[1]), text)
    return re.sub(r"reshard (\w+) --help", r"help(reshard.\1)", text)


def _command(command: str, *positional: Path, comm: Comm, **options: Any) -> Result:
    """The output of a command with `--json`, with its warnings and notes."""
    is_everywhere = isinstance(comm, str) and comm == "all"
    handle = None if is_everywhere else _tensors.handle_of(comm)
    if is_everywhere:
        _mpi.prepare()
    words: list[str] = []
    mistake = ""
    try:
        words = _words(command, positional, options)
    except Exception as problem:
        mistake = f"{command}: {_tensors.sentence_of(problem)}"
    answer = _run_everywhere(words, mistake) if is_everywhere else _run(handle, words, mistake)
    lines = [(noun, _in_python(command, text)) for noun, text in answer.said]
    if answer.is_first:
        _tensors.warn((text for noun, text in lines if noun == "warning"), 4)
    try:
        answer.check()
    except Error as problem:
        raise Error(_in_python(command, str(problem)) + _hint(options.get("program")), problem.code) from None
    if not answer.text.startswith(("{", "[")):
        raise Error(f"{command}: to show its help, call help(reshard.{command})")
    texts = {noun + "s": [text for other, text in lines if other == noun] for noun in ("warning", "note")}
    found = json.loads(answer.text)
    found = {"list": found} if isinstance(found, list) else found
    return Result(found | texts, words if not options.get("report") and "report" in [name for name, _, _ in _options_of(command)] else [])


def _hint(program: object) -> str:
    """A hint for errors when `program` seems to be a text."""
    return "; `program` must be the path of a file, not its text" if isinstance(program, str) and "->" in program else ""


def _documented(function: _Function) -> _Function:
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
    returned = inspection.signature(function).return_annotation
    signature = inspection.Signature(fixed + parameters, return_annotation=returned)
    setattr(function, "__signature__", signature)
    function.__doc__ = (function.__doc__ or "") + "\n\n    Options:\n" + "\n".join(lines) + "\n" if lines else ""
    return function


@_documented
def inspect(checkpoint: Path, *, comm: Comm = "all", **options: Option) -> Result:
    """Describes the contents of a checkpoint: files, tensors, shards."""
    return _command("inspect", checkpoint, comm=comm, **options)


@_documented
def check(source: Path, program: Path, target: Path | None = None, *, comm: Comm = "all", **options: Option) -> Result:
    """Reports everything that is wrong with an AOA program (a file), before a byte moves: `ok`, `findings`, `keys` and
    `invertible`.

    `source` and `target` are checkpoints or layout files. A program with errors raises no exception:
    its errors are the answer.
    """
    return _command("check", comm=comm, source=source, program=program, target=target, **options)


@_documented
def expand(source: Path, program: Path, target: Path | None = None, *, comm: Comm = "all", **options: Option) -> str:
    """The text of an AOA program (a file, or `@NAME` for one that comes with the tool) for the keys of a source, without
    macros and placeholders: what `load`, `open`, `save` and `redistribute` take.

        program = reshard.expand("model.gguf", "@llama-gguf-to-hf", set=["num_attention_heads=32"])
        norm = reshard.open("model.gguf", program=program)["model.norm.weight"][...]
    """
    found = _command("expand", comm=comm, source=source, program=program, target=target, **options)
    return "".join(one["statement"] + "\n" for one in found["list"])


@_documented
def plan(source: Path, target: Path, program: Path | None = None, *, comm: Comm = "all", **options: Option) -> Result:
    """Shows who would send what to whom: transfers, bytes and messages of every rank."""
    return _command("plan", comm=comm, source=source, target=target, program=program, **options)


@_documented
def convert(source: Path, target: Path, program: Path | None = None, layout: Path | None = None, *, comm: Comm = "all",
            **options: Option) -> Result:
    """Reads the checkpoint `source` and writes `target`: in a layout, or as a Hugging Face directory."""
    return _command("convert", source, target, comm=comm, program=program, layout=layout, **options)


@_documented
def verify(checkpoint: Path, *, comm: Comm = "all", **options: Option) -> Result:
    """Compares a checkpoint with the digests that were saved with it: `ok`, the differences in `bad`, and in
    `unverified` the files without digests, which could not be compared."""
    return _command("verify", checkpoint, comm=comm, **options)


def redistribute(comm: MPI.Comm | None, have: _tensors.Tensors, want: _tensors.Tensors, program: Path | None = "",
                 file: str = "program", *, strict_warnings: bool = False) -> None:
    """Fills the tensors of `want` from those of `have`, whichever rank has them.

    `comm` is a communicator of mpi4py, or None for this process alone; every rank of it calls this. `have` and `want` map
    keys to `Shard`s, or lists of them, or to whole tensors. `program` is AOA text, which messages call `file`, or the
    path of a file as a `pathlib.Path`; without it, tensors keep their names.

    A wrong argument on one rank raises the same `reshard.Error` on every rank. A warning of the program is a
    `reshard.Warning` on rank 0; with `strict_warnings=True` it is an error on every rank.

    >>> import numpy, reshard
    >>> q, k, fused = numpy.zeros((2, 3)), numpy.ones((1, 3)), numpy.empty((3, 3))
    >>> reshard.redistribute(None, {"q": q, "k": k}, {"qk": fused}, "q, k -> qk, axis=0")
    >>> fused
    array([[0., 0., 0.],
           [0., 0., 0.],
           [1., 1., 1.]])
    """
    handle = _tensors.handle_of(comm)
    caught = None
    source: list[Any] = []
    target: list[Any] = []
    text = ("", "", False)
    try:
        source, target = _tensors.shards_of("have", have), _tensors.shards_of("want", want)
        text = _tensors.program_of(program, file, strict_warnings)
    except BaseException as problem:
        caught = problem
    with _tensors.hint_of_path(text):
        warned = _tensors.agreed(handle, caught, lambda mistake: _redistribute(handle, source, target, text, mistake))
    if comm is None or comm.rank == 0:
        _tensors.warn(warned, 3)
