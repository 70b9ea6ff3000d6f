# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Tensors, programs and communicators as arguments: what `_reshard` takes for them."""

from __future__ import annotations

import contextlib
import operator
import os
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _cuda, _mpi, _reshard
from ._error import Error, Mistake

if TYPE_CHECKING:
    from mpi4py import MPI


class Warning(UserWarning):
    """A warning of the library."""


@dataclass
class Shard:
    """A box of a global tensor: `tensor` (a NumPy array, or anything with `__dlpack__`) begins at `offset` of a global
    tensor with this `shape`. Without them, it is the whole tensor."""

    tensor: Any
    shape: Sequence[int] | None = None
    offset: Sequence[int] | None = None


Program = Union[str, "os.PathLike[str]", None]
Tensors = Mapping[str, Any]  # by key: an array, anything with `__dlpack__`, a DTensor, a Shard, or a list of Shards


def torch_dtype(name: str) -> Any:
    """The data type of PyTorch with a name of this library, or None."""
    import torch

    return getattr(torch, {"float8_e8m0": "float8_e8m0fnu"}.get(name, name), None)


def kind_of(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def is_a(tensor: object, module: str, name: str) -> bool:
    """Whether a tensor is of a class of a module, which is imported if there is such a tensor."""
    return isinstance(tensor, getattr(sys.modules.get(module), name, ()))


def integers(noun: str, values: Any) -> list[int] | None:
    if values is None:
        return None
    try:
        numbers = [operator.index(value) for value in values]
    except TypeError:
        raise Mistake(f"{noun} must be a tuple of integers, but {reprlib.repr(values)} was given") from None
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        raise Mistake(f"{noun} has a number that does not fit in 64 bits")
    return numbers


def capsule_of(tensor: Any) -> Any:
    """The capsule of `__dlpack__`: if possible, in the form that says whether the elements are read-only."""
    for method in ("is_neg", "is_conj"):
        if getattr(tensor, method, bool)():
            raise Mistake(f"its memory does not hold its values ({method}()); give tensor.resolve_{method[3:]}()")
    if not _cuda.says_gpu(tensor):
        lent = _exported(tensor)
        if not _reshard.is_on_gpu(lent):
            return lent
        # Its __dlpack_device__ is missing or wrong. It is exported again, with a stream.
    _cuda.load()
    # PyTorch exports only tensors of its current GPU. Stream 1 is CUDA's default stream, on which the module copies: the
    # tensor's library makes it wait for the tensor's own stream.
    is_of_torch = is_a(tensor, "torch", "Tensor")
    with sys.modules["torch"].cuda.device(tensor.device) if is_of_torch else contextlib.nullcontext():
        return _exported(tensor, stream=1)


def _exported(tensor: Any, **arguments: Any) -> Any:
    lent = _lent(tensor, arguments)
    if _reshard.is_on_gpu(lent) is None:
        raise Mistake(f"__dlpack__ returned {kind_of(lent)}, not a capsule")
    return lent


def _lent(tensor: Any, arguments: dict[str, Any]) -> Any:
    try:
        return tensor.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:
        pass
    try:
        return tensor.__dlpack__(**arguments)
    except TypeError as problem:
        if not arguments:
            raise
        raise Mistake(f"it is on a GPU, and __dlpack__(stream=1) failed: {problem}") from problem


def described(array: Any) -> tuple[Any, ...]:
    """Address, shape, strides, bytes of an element, data type, whether it is read-only, and the array itself."""
    name = (">" if array.dtype.byteorder == ">" else "") + array.dtype.name
    address, is_read_only = array.__array_interface__["data"]
    return address, array.shape, array.strides, array.itemsize, name, is_read_only, array


def elements_of(tensor: Any) -> Any:
    if is_a(tensor, "numpy.ma", "MaskedArray"):
        raise Mistake("the mask of a masked array would be lost; give tensor.filled(...)")
    if is_a(tensor, "numpy", "ndarray"):
        return described(tensor)
    if hasattr(tensor, "__dlpack__"):
        return capsule_of(tensor)
    raise Mistake(f"{kind_of(tensor)} is not a tensor; give a NumPy array, or an object with __dlpack__")


def boxes_of(value: Any) -> Sequence[Any]:
    """A tensor as shards; a DTensor and a list may have several."""
    if is_a(value, "torch.distributed.tensor", "DTensor"):
        from . import layouts

        return [Shard(*box) for box in layouts.boxes_of(value)]
    return value if isinstance(value, (list, tuple)) else [value]


def shard_of(side: str, value: Any) -> tuple[list[int] | None, list[int] | None, Any]:
    shard = value if isinstance(value, Shard) else Shard(value)
    if is_a(shard.tensor, "torch.distributed.tensor", "DTensor"):
        raise Mistake("a DTensor knows its shape and offset; give it without a Shard or a list around it")
    if side == "want" and is_a(shard.tensor, "jax", "Array"):  # its __dlpack__ does not say so
        raise Mistake("a JAX array cannot be written to; fill a NumPy array, and make a JAX array from it")
    if side == "tensors" and is_a(shard.tensor, "numpy", "generic"):  # a number, which can be saved
        shard = Shard(sys.modules["numpy"].asarray(shard.tensor), shard.shape, shard.offset)
    return integers("shape", shard.shape), integers("offset", shard.offset), elements_of(shard.tensor)


def shards_of(side: str, tensors: Tensors) -> list[Any]:
    """Key, shape, offset and elements of each shard, as `_reshard` takes them."""
    if not isinstance(tensors, Mapping):
        raise Mistake(f"`{side}` must map keys to tensors, but {kind_of(tensors)} was given")
    given = []
    for key, value in tensors.items():
        if not isinstance(key, str):
            raise Mistake(f"a key of `{side}` must be text, but {kind_of(key)} was given: {str(key)[:80]}")
        try:
            key.encode()
            if side == "tensors" and isinstance(value, (list, tuple)) and not value:
                raise Mistake("a list without shards was given; leave the key out on ranks that have none of it")
            for shard in boxes_of(value):
                given.append((key, *shard_of(side, shard)))
        except Error as problem:
            raise Error(f"{key!r}: {problem}", problem.code) from problem
        except Exception as problem:
            raise Mistake(f"{key!r}: {sentence_of(problem)}") from problem
    return given


def sentence_of(problem: BaseException) -> str:
    """An exception as a sentence, shortened because some exceptions show arrays, and without characters that UTF-8 lacks."""
    kind = "" if isinstance(problem, (Mistake, Error)) else f"{type(problem).__name__}: "
    return f"{kind}{problem}"[:2000].encode(errors="backslashreplace").decode()


def error_of(problem: BaseException) -> Error:
    """An exception as the error that users see."""
    return problem if isinstance(problem, Error) else Error(sentence_of(problem))


def agreed(handle: int | None, caught: BaseException | None, call: Callable[[tuple[str, str]], list[str]]) -> list[str]:
    """Calls `call` with the mistake of this rank, if any: then all ranks raise it."""
    if caught is None:
        return call(("", ""))
    if handle is None:
        if isinstance(caught, Error) or not isinstance(caught, Exception):
            raise caught
        raise error_of(caught) from caught
    try:
        call((error_of(caught).code, sentence_of(caught)))
    except Error as told:
        if isinstance(caught, Exception):
            raise told from caught
    raise caught  # for example KeyboardInterrupt; the other ranks know of it now


def path_of(path: object) -> str:
    """A path as text that a file system takes."""
    text: object = os.fspath(path)  # type: ignore[call-overload]
    if not isinstance(text, str):
        raise Mistake(f"the path {text!r} must be text or a pathlib.Path")
    if "\0" in text:
        raise Mistake(f"the path {text!r} has a NUL character")
    text.encode()
    return text


def program_of(program: Program, file: str, strict_warnings: bool) -> tuple[str, str, bool]:
    """A program as `_reshard` takes it: text, name, and whether its warnings are errors."""
    text, name = text_of(program, file)
    text.encode()
    name.encode()
    return text, name, bool(strict_warnings)


@contextlib.contextmanager
def hint_of_path(program: tuple[str, str, bool]) -> Iterator[None]:
    """Adds a hint to the errors of a program that seems to be a path."""
    try:
        yield
    except Error as problem:
        if problem.code != "syntax" or not program[0] or "->" in program[0]:
            raise
        raise Error(f"{problem}\n  `program` is the text itself; give a file as pathlib.Path(...)", "syntax") from None


def text_of(program: Program, file: str) -> tuple[str, str]:
    """Text and name of a program, which is text or the path of a file."""
    if isinstance(program, os.PathLike):
        with open(program, encoding="utf-8") as opened:
            return opened.read(), os.fspath(program)
    if program is not None and not isinstance(program, str):
        raise Mistake(f"`program` must be AOA text, or a path of a file as pathlib.Path, but {kind_of(program)} was given")
    if not isinstance(file, str):
        raise Mistake(f"`file`, the name of the program in messages, must be text, but {kind_of(file)} was given")
    return program or "", file


def handle_of(comm: object) -> int | None:
    """The number of a communicator, or None for this process alone."""
    if comm is None:
        return None
    mpi = _mpi.of_mpi4py()
    if not isinstance(comm, mpi.Comm) or comm == mpi.COMM_NULL:
        raise TypeError(f"`comm` must be a valid communicator of mpi4py, or None, but {kind_of(comm)} was given")
    if comm.Is_inter():
        raise TypeError("`comm` is an inter-communicator, whose groups count their ranks separately; give comm.Merge()")
    return int(comm.py2f())


def warn(texts: Iterable[str], level: int) -> None:
    for text in texts:
        warnings.warn(text, Warning, stacklevel=level)
