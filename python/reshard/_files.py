# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints as dictionaries of tensors: `open`, `load` and `save`."""

from __future__ import annotations

import difflib
import functools
import io
import json
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _page, _tensors
from ._error import Error, Mistake
from ._reshard import Files, load as _load, save as _save
from ._tensors import Program, Shard, Tensors

if TYPE_CHECKING:
    from mpi4py import MPI

Path = Union[str, "os.PathLike[str]"]
Framework = Literal["numpy", "torch", "jax"]
_Axis = Union[slice, int, EllipsisType]
Index = Union[_Axis, tuple[_Axis, ...]]
_Program = tuple[str, str, bool]
_Found = dict[str, Callable[[], Any]]
_BY_NAME: _Program = ("", "", False)


class Tensor:
    """A tensor of a checkpoint, which is read when it is indexed: `tensor[...]`, or a box, `tensor[2:4, :, 0]`.

    `unread` says why a tensor cannot be read; it is empty if it can.
    """

    def __init__(self, files: Files, listed: tuple[str, str, list[int], str], framework: Framework, program: _Program,
                 mapped: bool) -> None:
        self._files, self._framework, self._program, self._mapped = files, framework, program, mapped
        self.key, self.dtype, shape, self.unread = listed
        self.shape = tuple(shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self.key!r} is a scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, index: Index) -> Any:
        if self.unread:
            raise Error(f"{self.key!r}: {self.unread}", "unsupported")
        offset, extent, kept = _box(self.key, index, self.shape)
        try:
            if self._mapped and (address := self._files.address(self.key)) is not None:
                return _in_file(self, address)[tuple(map(slice, offset, map(operator.add, offset, extent)))].reshape(kept)
            made, elements = _empty(self._framework, self.key, self.dtype, extent)
        except Mistake as problem:
            raise _tensors.error_of(problem) from None
        _load(None, self._files, [(self.key, self.shape, offset, elements)], self._program, ("", ""))
        return _finished(self._framework, made.reshape(kept))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("the elements of a tensor in files are copied")
        listed = self.key, self.dtype, list(self.shape), self.unread
        array = Tensor(self._files, listed, "numpy", self._program, False)[...]
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"<reshard.Tensor {self.key!r}: {self.dtype or 'unread'} {list(self.shape)}>"


class Checkpoint(Mapping[str, Tensor]):
    """The tensors of a checkpoint by their keys, or those that a program makes of it, of which nothing is read yet. `open`
    makes it; a notebook shows a page of the checkpoint's contents."""

    def __init__(self, path: Path, framework: Framework = "numpy", program: Program = "", file: str = "program",
                 mapped: bool = False) -> None:
        try:
            _check_framework(framework)
            if mapped and (framework != "numpy" or program):
                raise Mistake("mapped=True gives read-only arrays of NumPy, and has no program")
            self.path: str = _tensors.path_of(path)
            text = _tensors.program_of(program, file, False)
        except (Mistake, UnicodeError, OSError, TypeError) as problem:
            raise _tensors.error_of(problem) from None
        self._files = Files(self.path, bool(mapped))
        with _tensors.hint_of_path(text):
            listed, warned = self._files.results(text) if text[0] else (self._files.tensors(), [])
        _tensors.warn(self._files.warnings() + warned, 4)
        self._tensors = {one[0]: Tensor(self._files, one, framework, text, mapped) for one in listed}

    def __getitem__(self, key: str) -> Tensor:
        if key not in self._tensors:
            near = difflib.get_close_matches(key, self._tensors, 1) if isinstance(key, str) else []
            raise KeyError(f"{key}: {self.path} has no such tensor" + (f"; did you mean '{near[0]}'?" if near else ""))
        return self._tensors[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<reshard.Checkpoint {self.path!r}: {len(self)} tensors>"

    def _repr_html_(self) -> str | None:
        return _page.page_of(["inspect", "--json", "./" + self.path if self.path.startswith("-") else self.path])


def open(path: Path, framework: Framework = "numpy", *, program: Program = "", file: str = "program",
         mapped: bool = False) -> Checkpoint:
    """A checkpoint in any format, as a dictionary of `Tensor`s. Reads no elements.

    Tensors are arrays of NumPy, or with `framework` of PyTorch ("torch") or JAX ("jax"). With `program`, as `redistribute` has it,
    they are its results, which are made of the elements that a read needs. With `mapped=True` they are read-only
    arrays of NumPy over the mapped files, where a file has a tensor row by row: pages are read when they are used, and no
    digests are compared. The files must not become shorter while such arrays are in use.

    >>> import numpy, reshard
    >>> reshard.save("model", {"w": numpy.arange(6.0).reshape(3, 2)}, whole=True)
    >>> model = reshard.open("model")
    >>> model
    <reshard.Checkpoint 'model': 1 tensors>
    >>> model["w"]
    <reshard.Tensor 'w': float64 [3, 2]>
    >>> model["w"][1:, 0]
    array([2., 4.])
    >>> reshard.open("model", program="w^T -> t")["t"][1]
    array([1., 3., 5.])
    """
    return Checkpoint(path, framework, program, file, mapped)


def load(path: Path, wanted: Tensors | None = None, program: Program = "", file: str = "program", *,
         layout: Path | Mapping[str, Any] | None = None, rank: int | None = None, comm: MPI.Comm | None = None,
         framework: Framework = "numpy", strict_warnings: bool = False) -> dict[str, Any]:
    """Reads tensors of a checkpoint, and returns them as a dictionary.

    `wanted` maps keys to what this process wants of a tensor: `...` for all of it, a slice or a tuple of them for a box,
    or an array, a DTensor or a `Shard`, which is filled in place. With `program`, as `redistribute` has it, the keys are
    the keys of its results. Without `wanted`, all tensors are read.

    With `layout`, a layout file or a dictionary of that form, it reads the shards of this process in the layout, as its
    rank of `comm`, or as `rank` if it is alone; where a rank has several boxes of a tensor, a list of arrays.

    With `comm`, a communicator of mpi4py, all its ranks call this, each with its own `wanted`; what several ranks want
    is read once.

    >>> import numpy, reshard
    >>> reshard.save("model", {"w": numpy.arange(6.0).reshape(3, 2)}, whole=True)
    >>> reshard.load("model", {"w": slice(1, 3)})
    {'w': array([[2., 3.],
           [4., 5.]])}
    >>> reshard.load("model", {"t": ...}, "w^T -> t")
    {'t': array([[0., 2., 4.],
           [1., 3., 5.]])}
    >>> reshard.load("model", layout={"mesh": [["tp", 2]], "rules": [{"match": "w", "shard": {"tp": 0}}]}, rank=1)
    {'w': array([[4., 5.]])}
    """
    handle = _tensors.handle_of(comm)
    caught: BaseException | None = None
    files, text = None, _BY_NAME
    found: _Found = {}
    shards: list[Any] = []
    notes: list[str] = []
    try:
        _check_framework(framework)
        files = Files(_tensors.path_of(path), False)
        notes += files.warnings()
        text = _tensors.program_of(program, file, strict_warnings)
        if layout is None and rank is not None:
            raise Mistake("`rank` is a rank of a layout; give `layout`, too")
        if layout is None:
            found, shards = _asked(files, wanted, text, framework)
        else:
            found, shards, said = _placed(files, wanted, text, framework, _layout(layout), rank, comm)
            notes += said
    except BaseException as problem:
        caught = problem
    with _tensors.hint_of_path(text):
        warned = _tensors.agreed(handle, caught, lambda mistake: _load(handle, files, shards, text, mistake))
    _warn(notes + warned, comm)
    return {key: value() for key, value in found.items()}


def save(path: Path, tensors: Tensors, program: Program = "", file: str = "program", *, comm: MPI.Comm | None = None,
         whole: bool = False, force: bool = False, strict_warnings: bool = False) -> None:
    """Writes tensors as a checkpoint at `path`: arrays, DTensors, or each rank's `Shard`s of them.

    With `whole=True` it is a Hugging Face directory of whole tensors, otherwise each rank's shards are written as they are.
    An existing checkpoint is replaced only with `force=True`, and only when the new one is complete. `program` and `comm`
    are those of `load`; a program makes whole tensors.

    >>> import numpy, reshard
    >>> reshard.save("saved", {"w": reshard.Shard(numpy.ones((2, 4)), shape=(2, 4), offset=(0, 0))})
    >>> reshard.save("saved", {"w": numpy.zeros(3)})
    Traceback (most recent call last):
    reshard.Error: saved: already exists; give another target, or say force=True
    """
    handle = _tensors.handle_of(comm)
    caught = None
    target, is_whole, replaces = "", False, False
    shards: list[Any] = []
    text = _BY_NAME
    try:
        target, is_whole, replaces = _tensors.path_of(path), bool(whole), bool(force)
        shards, text = _tensors.shards_of("tensors", tensors), _tensors.program_of(program, file, strict_warnings)
    except BaseException as problem:
        caught = problem
    try:
        with _tensors.hint_of_path(text):
            warned = _tensors.agreed(handle, caught,
                             lambda mistake: _save(handle, target, shards, text, is_whole, replaces, mistake))
    except Error as problem:
        raise Error(str(problem).replace("allow it to be replaced", "say force=True"), problem.code) from problem.__cause__
    _warn(warned, comm)


def _warn(texts: list[str], comm: MPI.Comm | None) -> None:
    if comm is None or comm.rank == 0:
        _tensors.warn(texts, 4)


def _asked(files: Files, wanted: Tensors | None, program: _Program, framework: Framework) -> tuple[_Found, list[Any]]:
    """By key: a function that returns the result. And the shards to fill."""
    if wanted is not None and not isinstance(wanted, Mapping):
        raise Mistake(f"`wanted` must map keys to boxes or tensors, but {_tensors.kind_of(wanted)} was given")
    given = {key: want for key, want in (wanted or {}).items() if not _is_index(want)}
    found: _Found = {key: functools.partial(_tensor_of, want) for key, want in given.items()}
    known: dict[str, tuple[str, str, list[int], str]] = {}
    if wanted is None or len(given) < len(wanted):
        known = {listed[0]: listed for listed in (files.results(program)[0] if program[0] else files.tensors())}
    boxes = []
    for key, index in (dict.fromkeys(known, ...) if wanted is None else wanted).items():
        if key in given:
            continue
        if key not in known:
            raise Error(f"{key!r} is wanted, but {'the program makes no such tensor' if program[0] else 'the checkpoint does not have it'}", "unknown_key")
        _, dtype, shape, unread = known[key]
        if unread:
            raise Error(f"{key!r}: {unread}", "unsupported")
        offset, extent, kept = _box(key, index, shape)
        made, elements = _empty(framework, key, dtype, extent)
        boxes.append((key, shape, offset, elements))
        found[key] = functools.partial(_finished, framework, made.reshape(kept))
    return {key: found[key] for key in (known if wanted is None else wanted)}, _tensors.shards_of("want", given) + boxes


def _tensor_of(want: Any) -> Any:
    return want.tensor if isinstance(want, Shard) else want


def _layout(layout: Path | Mapping[str, Any]) -> tuple[str, str]:
    """The text of a layout file, and its name."""
    if isinstance(layout, Mapping):
        try:
            return json.dumps(dict(layout)), "layout"
        except (TypeError, ValueError) as problem:
            raise Mistake(f"`layout` cannot be written as JSON: {problem}") from problem
    path = _tensors.path_of(layout)
    with io.open(path, encoding="utf-8") as file:  # `open` is a function of this module
        return file.read(), path


def _placed(files: Files, wanted: Tensors | None, program: _Program, framework: Framework, layout: tuple[str, str],
            rank: int | None, comm: MPI.Comm | None) -> tuple[_Found, list[Any], list[str]]:
    """By key: a function that returns what a rank has in a layout. And the shards to fill, and notes."""
    if wanted is not None:
        raise Mistake("`wanted` and `layout` both say what to read; give one of them")
    if comm is not None and rank is not None:
        raise Mistake("`rank` is for a process without `comm`; with `comm` each process has its own")
    if comm is None and rank is None:
        raise Mistake("a layout needs `comm`, or `rank`: which of its ranks this process is")
    if comm is None and program[0]:
        raise Mistake("a program and a layout need `comm`, as what a program makes may depend on all ranks' shards")
    number = _rank(rank) if comm is None else comm.rank
    placed = files.boxes(program, layout, max(number, 0))
    if not 0 <= number < placed.ranks or (comm is not None and comm.size != placed.ranks):
        who = f"rank {number}" if comm is None else f"a communicator of {comm.size} ranks"
        raise Error(f"{layout[1]}: the layout has {placed.ranks} ranks, but {who} was given", "bad_layout")
    filled: dict[str, list[Any]] = {}
    shards = []
    for key, dtype, shape, offset, extent in placed.boxes:
        made, elements = _empty(framework, key, dtype, tuple(extent))
        shards.append((key, shape, offset, elements))
        filled.setdefault(key, []).append(made)
    return {key: functools.partial(_single, framework, made) for key, made in filled.items()}, shards, placed.notes


def _rank(rank: Any) -> int:
    if not _is_integer(rank) or abs(operator.index(rank)) >= 2**31:
        raise Mistake(f"`rank` must be the number of a rank, but {rank!r} was given")
    return operator.index(rank)


def _single(framework: Framework, made: list[Any]) -> Any:
    boxes = [_finished(framework, box) for box in made]
    return boxes[0] if len(boxes) == 1 else boxes


def _is_index(want: Any) -> bool:
    """Whether this is an index. A number alone may be meant as a tensor, and is none."""
    parts = want if isinstance(want, tuple) else (want,)
    return all(each is ... or isinstance(each, slice) or (_is_integer(each) and each is not want) for each in parts)


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and getattr(value, "shape", ()) == ()


def _box(key: str, index: Index, shape: Sequence[int]) -> tuple[list[int], tuple[int, ...], tuple[int, ...]]:
    """Offset and extents of an index of slices and integers, and the extents without the axes of integers."""
    parts = list(index) if isinstance(index, tuple) else [index]
    for part in parts:
        if part is not ... and not isinstance(part, slice) and not _is_integer(part):
            raise TypeError(f"{key!r} is indexed with slices of step 1 and integers, not with {_tensors.kind_of(part)}")
    if parts.count(...) > 1 or len(parts) - parts.count(...) > len(shape):
        raise IndexError(f"{key!r} has {len(shape)} axes, and cannot be indexed with {index!r}")
    at = parts.index(...) if ... in parts else len(parts)
    parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + (... in parts))
    offset, extent, kept = [], [], []
    for axis, (part, size) in enumerate(zip(parts, shape)):
        if isinstance(part, slice):
            begin, end, step = part.indices(size)
            if step != 1:
                raise IndexError(f"{key!r}: the slice of axis {axis} has the step {step}; only 1 can be read")
            end = max(begin, end)
            kept.append(end - begin)
        else:
            number = operator.index(part)  # type: ignore[arg-type]
            begin = number + size if number < 0 else number
            if not 0 <= begin < size:
                raise IndexError(f"{key!r}: index {number} is out of axis {axis} with {size} elements")
            end = begin + 1
        offset.append(begin)
        extent.append(end - begin)
    return offset, tuple(extent), tuple(kept)


def _check_framework(framework: str) -> None:
    if framework not in ("numpy", "torch", "jax"):
        raise Mistake(f"`framework` is 'numpy', 'torch' or 'jax', not {framework!r}")


def _empty(framework: Framework, key: str, dtype: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A new array, and its elements as `_reshard` takes them."""
    _check_bytes(key, dtype)
    if framework == "torch":
        import torch

        kind = _tensors.torch_dtype(dtype)
        if kind is None:
            raise Mistake(f"{key!r} is {dtype}, which PyTorch does not have")
        made = torch.empty(shape, dtype=kind)  # on PyTorch's default device
        if made.device.type == "cuda":
            return made, _tensors.elements_of(made)
        if made.device.type != "cpu":
            raise Mistake(f"PyTorch's default device is {made.device}, whose memory cannot be filled; make it 'cpu' or 'cuda'")
        strides = [stride * made.element_size() for stride in made.stride()]
        return made, (made.data_ptr(), list(shape), strides, made.element_size(), dtype, False, made)
    import numpy

    array = numpy.empty(shape, _numpy_kind(key, dtype))
    return array, _tensors.described(array)


def _numpy_kind(key: str, dtype: str) -> Any:
    import numpy

    _check_bytes(key, dtype)
    try:
        return numpy.dtype(dtype)
    except TypeError:
        return numpy.dtype(_kind_of_ml_dtypes(key, dtype))


def _check_bytes(key: str, dtype: str) -> None:
    if dtype.startswith(("float4_", "float6_")):
        raise Mistake(f"{key!r} is {dtype}, which no array has; leave it out of `wanted`, or convert the model with reshard.convert(..., program=\"@dequantize\")")


def _kind_of_ml_dtypes(key: str, dtype: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise Mistake(f"{key!r} is {dtype}: NumPy needs the package ml_dtypes for it; or say framework=\"torch\", or "
                      "program='** -> **, dtype=\"float32\"'") from None
    kind = getattr(ml_dtypes, {"float8_e8m0": "float8_e8m0fnu"}.get(dtype, dtype), None)
    if kind is None:
        raise Mistake(f"{key!r} is {dtype}, which NumPy and ml_dtypes do not have")
    return kind


def _finished(framework: Framework, made: Any) -> Any:
    """An array that has been filled, as a tensor of the framework."""
    if framework != "jax":
        return made
    import jax

    array = jax.numpy.asarray(made)
    if array.dtype != made.dtype:
        raise Error(f"JAX makes {array.dtype} of {made.dtype}: set jax_enable_x64, or say framework=\"numpy\"", "unsupported")
    return array


class _Mapped:
    """The elements of a tensor in a mapped file, which stays mapped as long as they are used."""

    def __init__(self, files: Files, address: int, count: int) -> None:
        self._files = files
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": (count,), "typestr": "|u1"}


def _in_file(tensor: Tensor, address: int) -> Any:
    """A whole tensor in a mapped file, which is read-only."""
    import numpy

    kind = _numpy_kind(tensor.key, tensor.dtype)
    count = math.prod(tensor.shape) * kind.itemsize
    return numpy.asarray(_Mapped(tensor._files, address, count)).view(kind).reshape(tensor.shape)
