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

import atexit
import functools
import inspect as inspection
import json
import keyword
import os
import re
import sys

from . import _mpi, _tensors
from ._reshard import Error, close as _close, options_of, redistribute as _redistribute
from ._reshard import refuse as _refuse, run as _run, run_everywhere as _run_everywhere, version as __version__
from ._files import Checkpoint, Tensor, load, open, save
from ._tensors import Shard, Warning

__all__ = ["Checkpoint", "Error", "Shard", "Tensor", "Warning", "check", "convert", "inspect", "load", "open", "plan",
           "redistribute", "save", "verify"]


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
        if "\0" in word:
            raise _tensors.Mistake(f"{word!r} has a NUL character")
    return words


def _in_python(command, text):
    """A sentence of the command-line tool with the names of Python: `force=True` for --force."""
    flags = {name: is_flag for name, is_flag, _ in _options_of(command)}

    def in_python(found):
        return _keyword(found[1]) + ("=True" if flags[found[1]] else "=") if found[1] in flags else found[0]

    text = re.sub(r"(?<![\w/-])--([\w-]+)", in_python, text)
    text = re.sub(r"(?<=unknown option ')--([^']*)(?=')", lambda found: _keyword(found[1]), text)
    return re.sub(r"reshard (\w+) --help", r"help(reshard.\1)", text)


def _command(command, *positional, comm, **options):
    """The output of a command with `--json`, with its warnings and notes."""
    is_everywhere = isinstance(comm, str) and comm == "all"
    handle = None if is_everywhere else _tensors.handle_of(comm)
    if is_everywhere:
        _mpi.prepare()
    words, mistake = [], ""
    try:
        words = _words(command, positional, options)
    except Exception as problem:
        mistake = f"{command}: {_tensors.sentence_of(problem)}"
    answer = _run_everywhere(words, mistake) if is_everywhere else _run(handle, words, mistake)
    said = [(what, _in_python(command, text)) for what, text in answer.said]
    if answer.is_first:
        _tensors.warn((text for what, text in said if what == "warning"), 4)
    try:
        answer.check()
    except Error as problem:
        raise _tensors.error_of(problem.code, _in_python(command, str(problem)) + _hint(options.get("program"))) from None
    if not answer.text.startswith("{"):
        raise _tensors.error_of("usage", f"{command}: to show its help, call help(reshard.{command})")
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


def redistribute(comm, have, want, program="", file="program", *, strict_warnings=False):
    """Fills the tensors of `want` from those of `have`, whichever rank has them.

    `comm` is a communicator of mpi4py, or None for this process alone; every rank of it calls this. `have` and `want` map
    keys to `Shard`s, or lists of them, or to whole tensors. `program` is AOA text, which messages call `file`, or the
    path of a file as a `pathlib.Path`; without it, tensors keep their names.

    A wrong argument on one rank raises the same `reshard.Error` on every rank. A warning of the program is a
    `reshard.Warning` on rank 0; with `strict_warnings=True` it is an error on every rank.
    """
    handle = _tensors.handle_of(comm)
    try:
        given = _tensors.shards_of("have", have), _tensors.shards_of("want", want), _tensors.text_of(program, file)
        for text in given[2]:
            text.encode()
    except BaseException as problem:
        try:
            _refuse(handle, _tensors.sentence_of(problem))
        except Error as told:
            if isinstance(problem, Exception):
                raise told from problem
        raise  # for example KeyboardInterrupt; the other ranks know of it now
    try:
        warned = _redistribute(handle, *given, bool(strict_warnings))
    except Error as problem:
        if problem.code != "syntax" or "->" in given[2][0]:
            raise
        raise _tensors.error_of("syntax", f"{problem}\n  `program` is the text itself; give a file as pathlib.Path(...)") from None
    if comm is None or comm.rank == 0:
        _tensors.warn(warned, 3)
