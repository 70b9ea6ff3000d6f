# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints as dictionaries of tensors: `open`, `load` and `save`."""

import operator
import os
from collections.abc import Mapping

from . import _tensors
from ._reshard import Error, Files, load as _load, save as _save
from ._tensors import Mistake, Shard


class Tensor:
    """A tensor of a checkpoint, which is read when it is indexed: `tensor[...]`, or a box, `tensor[2:4, :, 0]`."""

    def __init__(self, files, key, dtype, shape, framework):
        self._files, self._framework = files, framework
        self.key, self.dtype, self.shape = key, dtype, tuple(shape)

    @property
    def ndim(self):
        return len(self.shape)

    def __len__(self):
        if not self.shape:
            raise TypeError(f"{self.key!r} is a scalar")
        return self.shape[0]

    def __getitem__(self, index):
        offset, extent, kept = _box(self.key, index, self.shape)
        try:
            made, elements = _empty(self._framework, self.key, self.dtype, extent)
        except Mistake as problem:
            raise _error(problem) from None
        _load(None, self._files, [(self.key, self.shape, offset, elements)], ("", ""), "")
        return made.reshape(kept)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the elements of a tensor in files are copied")
        array = Tensor(self._files, self.key, self.dtype, self.shape, "numpy")[...]
        return array if dtype is None else array.astype(dtype)

    def __repr__(self):
        return f"<reshard.Tensor {self.key!r}: {self.dtype} {list(self.shape)}>"


class Checkpoint(Mapping):
    """The tensors of a checkpoint by their keys, of which nothing is read yet. `open` makes it."""

    def __init__(self, path, framework="numpy"):
        try:
            _check_framework(framework)
            self.path = _tensors.path_of(path)
        except (Mistake, UnicodeError) as problem:
            raise _error(problem) from None
        self._files = Files(self.path)
        self._tensors = {key: Tensor(self._files, key, dtype, shape, framework) for key, dtype, shape in self._files.tensors()}

    def __getitem__(self, key):
        return self._tensors[key]

    def __iter__(self):
        return iter(self._tensors)

    def __len__(self):
        return len(self._tensors)

    def __repr__(self):
        return f"<reshard.Checkpoint {self.path!r}: {len(self)} tensors>"


def open(path, framework="numpy"):
    """A checkpoint in any format, as a dictionary of `Tensor`s. Reads no elements.

    Tensors are arrays of NumPy, or with `framework="torch"` tensors of PyTorch:

        model = reshard.open("model")
        for key, tensor in model.items():
            print(key, tensor.dtype, tensor.shape)
        rows = model["lm_head.weight"][100:200]
    """
    return Checkpoint(path, framework)


def load(path, wanted=None, program="", file="program", *, comm=None, framework="numpy"):
    """Reads tensors of a checkpoint, and returns them as a dictionary.

    `wanted` maps keys to what this process wants of a tensor: `...` for all of it, a slice or a tuple of them for a box,
    or an array or `Shard`, which is filled in place. Without it, all tensors are read. With `program`, as `redistribute`
    has it, the keys are those of its results, and `wanted` has arrays or `Shard`s.

    With `comm`, a communicator of mpi4py, all its ranks call this, each with its own `wanted`; what several ranks want
    is read once.
    """
    handle = _tensors.handle_of(comm)
    files, found = None, {}
    caught = None
    try:
        _check_framework(framework)
        files = Files(_tensors.path_of(path))
        text = _program(program, file)
        found, shards = _asked(files, wanted, bool(text[0]), framework)
    except BaseException as problem:
        caught, shards, text = problem, [], ("", "")
    _warn(_agreed(handle, caught, lambda mistake: _load(handle, files, shards, text, mistake)), comm)
    return {key: value() for key, value in found.items()}


def save(path, tensors, program="", file="program", *, comm=None, whole=False, force=False):
    """Writes tensors as a checkpoint at `path`: arrays, or each rank's `Shard`s of them.

    With `whole=True` it is a Hugging Face directory of whole tensors, otherwise each rank's shards are written as they are.
    An existing checkpoint is replaced only with `force=True`, and only when the new one is complete. `program` and `comm`
    are those of `load`; a program makes whole tensors.
    """
    handle = _tensors.handle_of(comm)
    caught = None
    try:
        target, whole, force = _tensors.path_of(path), bool(whole), bool(force)
        shards, text = _tensors.shards_of("tensors", tensors), _program(program, file)
    except BaseException as problem:
        caught, target, shards, text, whole, force = problem, "", [], ("", ""), False, False
    try:
        warned = _agreed(handle, caught, lambda mistake: _save(handle, target, shards, text, whole, force, mistake))
    except Error as problem:
        text = str(problem).replace("allow it to be replaced", "say force=True")
        raise _tensors.error_of(problem.code, text) from problem.__cause__
    _warn(warned, comm)


def _program(program, file):
    """Text and name of a program that can be passed on."""
    text = _tensors.text_of(program, file)
    for part in text:
        part.encode()
    return text


def _agreed(handle, caught, call):
    """Calls `call` with the mistake of this rank, if any: then all ranks raise it."""
    if caught is None:
        return call("")
    if handle is None and not isinstance(caught, Exception):
        raise caught
    if handle is None:
        raise _error(caught) from caught
    try:
        call(_tensors.sentence_of(caught))
    except Error as told:
        if isinstance(caught, Exception):
            raise told from caught
    raise caught  # for example KeyboardInterrupt; the other ranks know of it now


def _warn(texts, comm):
    if comm is None or comm.rank == 0:
        _tensors.warn(texts, 4)


def _error(problem):
    return problem if isinstance(problem, Error) else _tensors.error_of("usage", _tensors.sentence_of(problem))


def _asked(files, wanted, has_program, framework):
    """By key: a function that returns the result. And the shards to fill."""
    stored = {key: (dtype, shape) for key, dtype, shape in files.tensors()}
    if wanted is None:
        if has_program:
            raise Mistake("with `program`, give arrays or Shards for its results in `wanted`")
        wanted = dict.fromkeys(stored, ...)
    if not isinstance(wanted, Mapping):
        raise Mistake(f"`wanted` must map keys to boxes or tensors, but {_tensors.kind_of(wanted)} was given")
    found, given, boxes = {}, {}, []
    for key, want in wanted.items():
        if want is not ... and not isinstance(want, slice) and not _is_index(want):
            given[key] = want
            found[key] = lambda want=want: want.tensor if isinstance(want, Shard) else want
            continue
        if has_program:
            raise Mistake(f"{key!r}: with `program`, give an array or Shard to fill, whose shape is that of the result")
        if key not in stored:
            raise Mistake(f"{key!r} is wanted, but the checkpoint does not have it")
        dtype, shape = stored[key]
        offset, extent, kept = _box(key, want, shape)
        made, elements = _empty(framework, key, dtype, extent)
        boxes.append((key, shape, offset, elements))
        found[key] = lambda made=made, kept=kept: made.reshape(kept)
    return found, _tensors.shards_of("want", given) + boxes


def _is_index(want):
    return isinstance(want, tuple) and all(each is ... or isinstance(each, slice) or _is_integer(each) for each in want)


def _is_integer(value):
    return hasattr(value, "__index__") and not isinstance(value, bool) and getattr(value, "shape", ()) == ()


def _box(key, index, shape):
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
            number = operator.index(part)
            begin = number + size if number < 0 else number
            if not 0 <= begin < size:
                raise IndexError(f"{key!r}: index {number} is out of axis {axis} with {size} elements")
            end = begin + 1
        offset.append(begin)
        extent.append(end - begin)
    return offset, tuple(extent), tuple(kept)


def _check_framework(framework):
    if framework not in ("numpy", "torch"):
        raise Mistake(f"`framework` is 'numpy' or 'torch', not {framework!r}")


def _empty(framework, key, dtype, shape):
    """A new array, and its elements as `_reshard` takes them."""
    if dtype.startswith(("float4", "float6")):
        raise Mistake(f"{key!r} is {dtype}, which no array has; leave it out of `wanted`, or convert the model with --program @dequantize")
    if framework == "torch":
        import torch

        kind = getattr(torch, {"float8_e8m0": "float8_e8m0fnu"}.get(dtype, dtype), None)
        if kind is None:
            raise Mistake(f"{key!r} is {dtype}, which PyTorch does not have")
        made = torch.empty(shape, dtype=kind)
        strides = [stride * made.element_size() for stride in made.stride()]
        return made, (made.data_ptr(), list(shape), strides, made.element_size(), dtype, False, made)
    import numpy

    try:
        kind = numpy.dtype(dtype)
    except TypeError:
        kind = _kind_of_ml_dtypes(key, dtype)
    made = numpy.empty(shape, kind)
    return made, _tensors.described(made)


def _kind_of_ml_dtypes(key, dtype):
    try:
        import ml_dtypes
    except ImportError:
        raise Mistake(f"{key!r} is {dtype}: NumPy needs the package ml_dtypes for it; or say framework=\"torch\"") from None
    kind = getattr(ml_dtypes, {"float8_e8m0": "float8_e8m0fnu"}.get(dtype, dtype), None)
    if kind is None:
        raise Mistake(f"{key!r} is {dtype}, which NumPy and ml_dtypes do not have")
    return kind
