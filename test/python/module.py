# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The Python module, alone and under mpiexec: run with the folder of the module in PYTHONPATH."""

import _ctypes
import ctypes
import doctest
import inspect
import json
import os
import pathlib
import pickle
import struct
import sys
import tempfile
import threading
import traceback
import types
import warnings

import numpy
import reshard
from on_gpu import Described, OnGpu, capsule_of, cuda

try:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
except ImportError:
    comm = None
rank, ranks = (comm.rank, comm.size) if comm else (0, 1)


def stop_all(*problem):
    """A failure of one rank ends all, which would wait for it."""
    traceback.print_exception(*problem)
    sys.stderr.flush()
    comm.Abort(1)


if ranks > 1:
    sys.excepthook = stop_all


def write_model(path):
    os.makedirs(path)
    tensors = {key: numpy.arange(12, dtype="float32").reshape(6, 2) + first for key, first in (("gate", 0), ("up", 100))}
    header, begin = {}, 0
    for key, tensor in tensors.items():
        header[key] = {"dtype": "F32", "shape": [6, 2], "data_offsets": [begin, begin + tensor.nbytes]}
        begin += tensor.nbytes
    text = json.dumps(header).encode()
    with open(os.path.join(path, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def refusal(call):
    try:
        call()
    except reshard.Error as problem:
        return problem.code, str(problem)
    raise AssertionError("it was not refused")


def checkpoints(directory):
    model = os.path.join(directory, "model")
    program = os.path.join(directory, "fuse.aoa")
    layout = os.path.join(directory, "tp3.json")
    if rank == 0:
        write_model(model)
        with open(program, "w") as file:
            file.write("gate, up -> w, fused_ffn, axis=0\n")
        with open(layout, "w") as file:
            json.dump({"mesh": [["tp", 3]], "rules": [{"match": "**", "shard": {"tp": 0}}]}, file)
    if comm:
        comm.barrier()
    assert sorted(reshard.inspect(model)["tensors"]) == ["gate", "up"]
    found = reshard.check(model, program, layout)
    assert found["ok"] and found["keys"]["transformed"] == ["w"], found
    assert reshard.plan(model, layout, program)["bytes"] == 96
    target = os.path.join(directory, "made")
    assert reshard.convert(model, target, program=program, layout=layout)["keys"] == 1
    text = reshard.expand(model, program)
    assert "fused_ffn," not in text and text.endswith("-> w, axis=0\n"), text
    fused = reshard.load(model, program=text)["w"]
    assert fused.ravel().tolist() == [*range(12), *range(100, 112)], fused
    code, text = refusal(lambda: reshard.expand(model, "@none"))
    assert "none" in text, text
    found = reshard.verify(target)
    assert found["ok"] and not found["unverified"], found
    assert reshard.verify(model)["unverified"]
    code, text = refusal(lambda: reshard.convert(model, target))
    assert code and target in text and "force=True" in text and "--" not in text, text
    numbered = os.path.join(directory, "numbered")
    reshard.convert(model, numbered, number=["loss=1.5", "step=7"])
    assert json.loads(pathlib.Path(numbered, "reshard.json").read_text())["numbers"] == {"loss": 1.5, "step": 7}
    for force in (None, False, 0):
        assert refusal(lambda: reshard.convert(model, target, force=force))[1] == text
    assert reshard.convert(model, target, force=1)["keys"] == 2
    code, text = refusal(lambda: reshard.check(model, program, no_such_option=True))
    assert code == "usage" and "'no_such_option'" in text and "help(reshard.check)" in text, text
    code, text = refusal(lambda: reshard.inspect(model, help=True))
    assert code == "usage" and "help(reshard.inspect)" in text, text
    code, text = refusal(lambda: reshard.inspect("--help"))
    assert code == "missing_file" and "--help" in text, text
    code, text = refusal(lambda: reshard.convert(model, os.path.join(directory, "none"), "gate -> w"))
    assert "`program` must be the path of a file" in text, text
    code, text = refusal(lambda: reshard.redistribute(None, {}, {}, program))
    assert code == "syntax" and "pathlib.Path" in text, text
    assert sorted(reshard.inspect(pathlib.Path(model))["tensors"]) == ["gate", "up"]
    code, text = refusal(lambda: reshard.inspect(model if rank else None))
    assert code == "usage" and text.startswith("rank 0: inspect: TypeError" if ranks > 1 else "inspect: TypeError"), text


def opened(directory):
    """Tensors of files, whole and in boxes, equal to what `write_model` wrote."""
    wanted = {"gate": numpy.arange(12, dtype="float32").reshape(6, 2), "up": numpy.arange(100, 112, dtype="float32").reshape(6, 2)}
    model = os.path.join(directory, "model")
    files = reshard.open(model)
    assert sorted(files) == ["gate", "up"] and len(files) == 2 and "gate" in files and "down" not in files
    gate = files["gate"]
    assert (gate.shape, gate.dtype, gate.ndim, len(gate)) == ((6, 2), "float32", 2, 6), gate
    for index in (..., slice(None), slice(2, 4), slice(-2, None), slice(4, 2), 3, -1, (1, 1), (slice(1, 5), slice(0, 1)), (..., 1),
                  (slice(1, 3), ...), (2, ...), (slice(6, 9),)):
        found = gate[index]
        assert found.dtype == numpy.float32 and numpy.array_equal(found, wanted["gate"][index]), (index, found)
    assert numpy.array_equal(numpy.asarray(files["up"]), wanted["up"])
    for index, kind in (((0, 0, 0), IndexError), (6, IndexError), (slice(None, None, 2), IndexError), ("x", TypeError),
                        (numpy.array([1, 2]), TypeError), (True, TypeError), (None, TypeError)):
        try:
            gate[index]
        except kind:
            continue
        raise AssertionError(f"{index} was taken")
    assert refusal(lambda: reshard.open(os.path.join(directory, "no")))[0] == "missing_file"
    assert "'numpy', 'torch' or 'jax'" in refusal(lambda: reshard.open(model, "tensorflow"))[1]

    found = reshard.load(model, comm=comm)
    assert found.keys() == wanted.keys() and all(numpy.array_equal(found[key], wanted[key]) for key in wanted)
    mine = slice(6 * rank // ranks, 6 * (rank + 1) // ranks)
    filled = numpy.zeros((6, 2), "float32")
    found = reshard.load(model, {"gate": mine, "up": filled}, comm=comm)
    assert numpy.array_equal(found["gate"], wanted["gate"][mine]) and found["up"] is filled
    assert numpy.array_equal(filled, wanted["up"])
    both = numpy.zeros((12, 2), "float32")
    reshard.load(model, {"w": both}, "gate, up -> w, axis=0", comm=comm)
    assert numpy.array_equal(both, numpy.concatenate([wanted["gate"], wanted["up"]]))
    code, text = refusal(lambda: reshard.load(model, {"down" if rank == ranks - 1 else "up": ...}, comm=comm))
    assert code == "unknown_key" and "'down'" in text and (ranks == 1 or f"rank {ranks - 1}" in text), text

    class MadeWhenRead(dict):  # nothing but the call holds its arrays
        def items(self):
            return ((key, value.copy()) for key, value in super().items())

    many = {str(k): numpy.full(3000, k + 10 * rank) for k in range(6)}
    filled = {key: numpy.zeros(3000, value.dtype) for key, value in many.items()}
    reshard.redistribute(None, MadeWhenRead(many), filled)
    assert all(numpy.array_equal(filled[key], many[key]) for key in many)
    for wrong in (b"bytes", "nul\0", "x\udc80"):
        code, text = refusal(lambda: reshard.save(wrong if rank == 0 else "unused", many, comm=comm))
        assert code == "usage", text
        assert refusal(lambda: reshard.load(model if rank else wrong, comm=comm))[0] == "usage"
    assert refusal(lambda: reshard.load(model, {}, "gate -> w # \udc80" if rank == 0 else "", comm=comm))[0] == "usage"

    class Interrupted(dict):
        def items(self):
            raise KeyboardInterrupt

    try:
        reshard.load(model, Interrupted() if rank == 0 else None, comm=comm)
    except KeyboardInterrupt:
        assert rank == 0
    except reshard.Error as problem:
        assert rank != 0 and "KeyboardInterrupt" in str(problem), problem

    missing, six = os.path.join(directory, "no"), numpy.zeros((6, 2), "float32")
    assert refusal(lambda: reshard.load(missing if rank == 0 else model, comm=comm))[0] == "missing_file"
    both = reshard.load(model, program="gate, up -> w, axis=0", comm=comm)
    assert both.keys() == {"w"} and numpy.array_equal(both["w"], numpy.concatenate([wanted["gate"], wanted["up"]])), both
    part = reshard.load(model, {"w": (slice(5, 8), 1)}, "gate, up -> w, axis=0", comm=comm)["w"]
    assert part.tolist() == [11, 101, 103], part
    code, text = refusal(lambda: reshard.load(model, {"gate": ...}, "gate, up -> w, axis=0", comm=comm))
    assert code == "unknown_key" and "the program makes no such tensor" in text, text
    if ranks > 1:
        code, text = refusal(lambda: reshard.load(model, {"w": six}, "gate -> w" if rank else "up -> w", comm=comm))
        assert code == "ranks_disagree" and "a different program" in text, text
    code, text = refusal(lambda: reshard.load(model, {"w": six}, "gate -> w\nno.$LAYER_ID -> x.$LAYER_ID", comm=comm, strict_warnings=True))
    assert code == "unsupported" and "1 warning" in text, text
    code, text = refusal(lambda: reshard.load(model, {"w": six}, "fuse.aoa", comm=comm))
    assert code == "syntax" and "pathlib.Path" in text, text
    files = reshard.open(model, mapped=True)
    found = files["up"][2:4]
    assert numpy.array_equal(found, wanted["up"][2:4]) and not found.flags.writeable
    assert numpy.array_equal(numpy.stack(list(files["gate"])), wanted["gate"])
    assert numpy.array_equal(numpy.asarray(files["up"]), wanted["up"])
    code, text = refusal(lambda: reshard.load(model, rank=0))
    assert "give `layout`" in text, text
    code, text = refusal(lambda: reshard.load(model, layout=1, rank=0))
    assert "TypeError" in text, text
    try:
        files["gat"]
        raise AssertionError("a wrong key was found")
    except KeyError as problem:
        assert "did you mean 'gate'" in str(problem), problem

    target = os.path.join(directory, "saved")
    rows = wanted["gate"][mine]
    shards = {"gate": reshard.Shard(rows, (6, 2), (mine.start, 0)), "one": numpy.float32(7)}
    reshard.save(target, shards, comm=comm)
    again = reshard.load(target)
    assert numpy.array_equal(again["gate"], wanted["gate"]) and again["one"] == 7, again
    assert "force" in refusal(lambda: reshard.save(target, shards, comm=comm))[1]
    reshard.save(target, shards, "gate^T -> turned", comm=comm, whole=True, force=True)
    assert numpy.array_equal(reshard.open(target)["turned"][...], wanted["gate"].T)
    try:
        list(reshard.open(target)["turned"][0, 0])
        raise AssertionError("a scalar was iterated")
    except TypeError:
        pass
    if comm:
        comm.barrier()
    code, text = refusal(lambda: reshard.save(target, {"x": []}, comm=comm))
    assert code == "usage" and "'x'" in text and "leave the key out" in text, text
    code, text = refusal(lambda: reshard.save(target, {"x": 3 if rank == 0 else rows}, comm=comm))
    assert "'x'" in text and "is not a tensor" in text, text


def placed(directory):
    """What a rank has in a layout, by hand: of 6 x 2 elements, rows, columns, two boxes, copies, nothing."""
    model = os.path.join(directory, "model")
    gate, up = numpy.arange(12, dtype="float32").reshape(6, 2), numpy.arange(100, 112, dtype="float32").reshape(6, 2)
    layout = {"mesh": [["tp", 4]], "rules": [{"match": "gate", "shard": {"tp": 0}}, {"match": "up", "shard": {"tp": 1}}]}
    rows = [gate[0:2], gate[2:4], gate[4:6], gate[6:6]]
    columns = [up[:, 0:1], up[:, 1:2], up[:, 2:2], up[:, 2:2]]
    for part in range(4):
        found = reshard.load(model, layout=layout, rank=part)
        for key, expected in (("gate", rows[part]), ("up", columns[part])):
            assert numpy.array_equal(found.get(key, expected[:0]), expected), (part, key, found)
    pairs = {"mesh": [["tp", 3]], "rules": [{"match": "gate", "shard": {"tp": {"axis": 0, "parts": 2}}}, {"match": "up", "shard": {}}]}
    path = pathlib.Path(directory, "pairs.json")
    if rank == 0:
        path.write_text(json.dumps(pairs))
    if comm:
        comm.barrier()
    for part in range(3):
        found = reshard.load(model, layout=path, rank=part)
        assert [box.tolist() for box in found["gate"]] == [gate[part : part + 1].tolist(), gate[3 + part : 4 + part].tolist()], found
        assert numpy.array_equal(found["up"], up)
    if ranks == 3:
        found = reshard.load(model, layout=pairs, comm=comm)
        assert numpy.array_equal(numpy.concatenate(found["gate"]), gate[[rank, 3 + rank]])
        found = reshard.load(model, None, "gate^T -> t\nup -> _", layout={"mesh": [["tp", 3]], "rules": [{"match": "t", "shard": {"tp": 1}}]}, comm=comm)
        assert found.keys() == {"t"} and numpy.array_equal(found["t"], gate.T[:, 2 * rank : 2 * rank + 2]), found
    wrong = [
        ({"layout": layout}, "needs `comm`, or `rank`"),
        ({"layout": layout, "rank": 4}, "has 4 ranks, but rank 4"),
        ({"layout": layout, "rank": -1}, "has 4 ranks, but rank -1"),
        ({"layout": layout, "rank": 0, "wanted": {}}, "both say what to read"),
        ({"layout": layout, "rank": 0, "program": "gate -> w"}, "need `comm`"),
        ({"layout": {"mesh": 3}, "rank": 0}, "layout: mesh: expected a list, found 3"),
        ({"layout": os.path.join(directory, "none.json"), "rank": 0}, "none.json"),
        ({"layout": {"ranks": 1, "tensors": {"down": {"shape": [2], "shards": []}}}, "rank": 0}, "'down'"),
    ]
    for given, expected in wrong:
        code, text = refusal(lambda: reshard.load(model, **given))
        assert code and expected in text, (given, code, text)
    if comm:
        code, text = refusal(lambda: reshard.load(model, layout=layout, comm=comm))
        assert code == "bad_layout" and f"a communicator of {ranks} ranks" in text, text


def fields(directory):
    """What an error says for programs."""
    source = {"w": numpy.arange(6, dtype="float32")}
    for program, expected in (("w -> ", (None, "program", 1)), ("w -> v\n -> x", (None, "program", 2))):
        try:
            reshard.redistribute(None, source, source, program)
        except reshard.Error as problem:
            assert (problem.rank, problem.file, problem.line) == expected and problem.column, problem
            again = pickle.loads(pickle.dumps(problem))
            assert (str(again), again.code, again.line) == (str(problem), problem.code, problem.line)
    rows = [
        ("rank 1: m: p.aoa:3:4: unknown key: 'x'", (1, None, "p.aoa", 3, 4)),
        ("m: 'w' has the shape [2], but", (None, "w", None, None, None)),
        ("'q' is wanted, but the checkpoint does not have it", (None, "q", None, None, None)),
        ("p.aoa:1:9: syntax: expected '->', found ';'", (None, None, "p.aoa", 1, 9)),
        ("no such file", (None, None, None, None, None)),
    ]
    for text, expected in rows:
        problem = reshard.Error(text)
        assert (problem.rank, problem.key, problem.file, problem.line, problem.column) == expected, text
    try:
        reshard.redistribute(comm, {"w": 1.5} if rank == ranks - 1 else source, {"w": numpy.zeros(6, "float32")})
    except reshard.Error as problem:
        assert (problem.rank, problem.key, problem.file) == (ranks - 1 if ranks > 1 else None, "w", None), problem


def examples(directory):
    """The examples in docstrings do what they say."""
    before = os.getcwd()
    for module in (reshard, reshard._files, reshard.layouts):  # the first has `Error`
        runner = doctest.DocTestRunner()
        for example in doctest.DocTestFinder().find(module):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                runner.run(example)
                os.chdir(before)
        assert runner.tries and not runner.failures, module


def pages(directory):
    """What a notebook shows."""
    model = os.path.join(directory, "model")
    program = os.path.join(directory, "fuse.aoa")
    layout = os.path.join(directory, "tp3.json")
    for shown in (reshard.open(model), reshard.inspect(model), reshard.check(model, program), reshard.plan(model, layout, program)):
        page = shown._repr_html_()
        assert page.startswith("<iframe srcdoc=") and ("&lt;svg" in page or "gate" in page), page[:200]
    assert reshard.verify(model)._repr_html_() is None


def alone(directory):
    """One process runs commands without the others."""
    model = os.path.join(directory, "model")
    if rank == 0:
        assert sorted(reshard.inspect(model, comm=None)["tensors"]) == ["gate", "up"]
        if comm:
            assert reshard.verify(model, comm=MPI.COMM_SELF)["ok"]
    if comm:
        some = comm.Split(rank == 0, rank)
        target = os.path.join(directory, f"part{int(rank == 0)}")
        assert reshard.convert(model, target, comm=some)["keys"] == 2
        some.Free()


def said(directory):
    """Warnings and notes of a command are in its result, on all ranks, and those of rank 0 are Python's as well."""
    model, target = os.path.join(directory, "model"), os.path.join(directory, "said")
    program = os.path.join(directory, "warns.aoa")
    if rank == 0:
        with open(program, "w") as file:
            file.write("gate -> w\nno.such.$LAYER_ID -> x.$LAYER_ID\n")
        pathlib.Path(model, "config.json").write_text("{}")
    if comm:
        comm.barrier()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        done = reshard.convert(model, target, program)
    assert len(done["warnings"]) == 1 and "no key of the source" in done["warnings"][0], done
    assert len(done["notes"]) == 2 and "'gate' is renamed away" in done["notes"][0], done
    assert "config.json" in done["notes"][1], done
    assert [str(one.message) for one in heard] == (done["warnings"] if rank == 0 else [])
    for one in heard:
        assert one.category is reshard.Warning and one.filename == __file__, one
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        code, text = refusal(lambda: reshard.convert(model, target + "2", program, strict_warnings=True))
    assert "1 warning" in text and "strict_warnings=True" in text and len(heard) == (rank == 0), text


def described():
    """`help` shows the options."""
    for function in (reshard.check, reshard.convert, reshard.inspect, reshard.plan, reshard.verify):
        assert "options" not in str(inspect.signature(function)), function
        assert "--" not in function.__doc__, function.__doc__
    assert "strict_warnings=True: " in reshard.convert.__doc__ and "base=...: " in reshard.convert.__doc__
    assert inspect.signature(reshard.convert).parameters["force"].default is False


def other_mpi():
    """Where mpi4py runs on another MPI than the module, its communicators are refused."""
    known = MPI.Get_library_version

    class Other:
        def __getattr__(self, name):
            return getattr(MPI, name)

        def Get_library_version(self):
            return "MPICH Version: 4.1" if "Open MPI" in known() else "Open MPI v4.1.4, package"

    import mpi4py

    try:
        mpi4py.MPI = sys.modules["mpi4py.MPI"] = Other()
        reshard.redistribute(comm, {}, {})
    except ImportError as problem:
        assert "MPI" in str(problem) and "both need the same" in str(problem), problem
    else:
        raise AssertionError("it was not noticed")
    finally:
        mpi4py.MPI = sys.modules["mpi4py.MPI"] = MPI


def two_groups():
    """The two groups of an inter-communicator are no group."""
    mine = comm.Split(rank == 0, rank)
    both = mine.Create_intercomm(0, comm, 1 if rank == 0 else 0)
    try:
        reshard.redistribute(both, {}, {})
    except TypeError as problem:
        assert "Merge" in str(problem), problem
    else:
        raise AssertionError("it was not refused")


def tensors():
    whole = numpy.arange(6 * 4 * ranks, dtype="float32").reshape(6, 4 * ranks)
    columns = numpy.ascontiguousarray(whole[:, 4 * rank:4 * rank + 4])
    row = 6 * rank // ranks
    rows = numpy.zeros((6 * (rank + 1) // ranks - row, 4 * ranks), "float32")
    reshard.redistribute(comm, {"w": reshard.Shard(columns, whole.shape, (0, 4 * rank))},
                         {"w": reshard.Shard(rows, whole.shape, (row, 0))})
    assert (rows == whole[row:row + len(rows)]).all()
    turned = numpy.zeros(whole.T.shape, "float64")
    reshard.redistribute(comm, {"w": reshard.Shard(columns, whole.shape, (0, 4 * rank))}, {"v": turned},
                         'w^T -> v, dtype="float64"')
    assert (turned == whole.T).all()
    halves = [reshard.Shard(columns[:3], whole.shape, (0, 4 * rank)), reshard.Shard(columns[3:], whole.shape, (3, 4 * rank))]
    again = numpy.zeros_like(whole)
    reshard.redistribute(comm, {"w": halves}, {"w": again})
    assert (again == whole).all()
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": columns}, {"x": again}))
    assert code and "'x'" in text, text


class Lent:
    """A tensor that is no NumPy array, and shows itself by DLPack alone."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self):
        return self.array.__dlpack__()


class Immutable:
    """A tensor of int16 with one axis that says to those who ask for version 1 that it is read-only, as JAX's are."""

    def __init__(self, array, name=b"dltensor_versioned"):
        self.array, self.name, self.asked = array, name, None

    def __dlpack__(self, max_version=None):
        self.asked = max_version
        self.extents = (ctypes.c_int64 * 1)(*self.array.shape)
        self.described = Described(1, 0, None, None, 1, self.array.ctypes.data, 1, 0, 1, 0, 16, 1, self.extents, None, 0)
        return capsule_of(self.described, self.name)


class Refusing:
    """As a parameter of PyTorch, which needs its gradient."""

    shape = (6,)

    def __init__(self, problem=None):
        self.problem = problem or BufferError("Can't export tensors that require gradient")

    def __dlpack__(self, max_version=None):
        raise self.problem


class Negated:
    """As `torch.conj(...).imag`, of which each element in memory stands for its negative."""

    def is_neg(self):
        return True

    def __dlpack__(self, max_version=None):
        raise AssertionError("its memory is not to be read")


def dlpack():
    have, want = numpy.arange(6, dtype="int16"), numpy.zeros(6, "int16")
    reshard.redistribute(None, {"w": Lent(have)}, {"w": Lent(want)})
    assert (want == have).all()
    frozen, target = Immutable(have), numpy.zeros(6, "int16")
    reshard.redistribute(None, {"w": frozen}, {"w": target})
    assert (target == have).all() and frozen.asked == (1, 1)
    code, text = refusal(lambda: reshard.redistribute(None, {"w": numpy.ones(6, "int16")}, {"w": frozen}))
    assert code == "usage" and "'w'" in text and "read-only" in text and "`want`" in text, text
    locked = numpy.zeros(6, "int16")
    locked.flags.writeable = False
    code, text = refusal(lambda: reshard.redistribute(None, {"w": have}, {"w": locked}))
    assert code == "usage" and "'w'" in text and "read-only" in text and "`want`" in text, text
    reshard.redistribute(None, {"w": locked}, {"w": numpy.ones(6, "int16")})
    assert (have == numpy.arange(6)).all()
    code, text = refusal(lambda: reshard.redistribute(None, {"w": Immutable(have, b"other")}, {"w": target}))
    assert "'other'" in text, text


def mistakes():
    """What one rank gives wrongly is the same error on all, before anything moves; and then they go on together."""
    good = numpy.arange(6, dtype="float32")
    cases = [
        ({"w": good.astype(">f4")}, "'>float32'"),
        ({"w": good.astype(object)}, "object"),
        ({"w": [1.0, 2.0]}, "type float is not a tensor"),
        ({"w": [good, None]}, "None is not a tensor"),
        ({"w": 0.5}, "type float is not a tensor"),
        ({"w": numpy.float32(1)}, "type float32 is not a tensor"),
        ({"w": numpy.ma.masked_array(good, good > 2)}, "mask"),
        ({"w": Refusing()}, "BufferError: Can't export tensors that require gradient"),
        ({"w": Negated()}, "resolve_neg()"),
        ({"w": reshard.Shard(good, (6,), (0.5,))}, "offset"),
        ({"w": reshard.Shard(good, 6, (0,))}, "shape"),
        ({"w": reshard.Shard(good, (2**63,), (0,))}, "64 bits"),
        ({"w": reshard.Shard(good, (6,), (1,))}, "6"),
        ({"w\udc80": good}, "UnicodeEncodeError"),
    ]
    last = ranks - 1
    who = f"rank {last}: " if ranks > 1 else ""
    for have, expected in cases:
        for sides in ({"have": have}, {"want": have}):
            refused(sides, last, who + "'w", expected)
    refused({"have": None}, last, who + "`have`", "None")
    refused({"want": [good]}, last, who + "`want`", "type list")
    refused({"have": {3: good}}, last, who, "3")
    refused({"program": 3}, last, who + "`program`", "type int")
    refused({"program": "w -> "}, last, who + "program:1:", "")
    refused({"program": pathlib.Path("no such program")}, last, who + "FileNotFoundError", "no such program")
    refused({"file": None}, last, who + "`file`", "None")


def refused(wrong, wrong_rank, begin, expected):
    source, target = numpy.arange(6, dtype="float32"), numpy.zeros(6, "float32")
    given = {"have": {"w": source}, "want": {"w": target}} | (wrong if rank == wrong_rank else {})
    try:
        reshard.redistribute(comm, **given)
    except reshard.Error as problem:
        text = str(problem)
        assert problem.code and text.startswith(begin) and expected in text and len(text) < 500, text
        assert not target.any()
    else:
        raise AssertionError(f"it was not refused: {begin}")


def on_gpus(directory):
    have = OnGpu(numpy.arange(6, dtype="float32"))
    library = os.environ["RESHARD_CUDA_LIBRARY"]
    os.environ["RESHARD_CUDA_LIBRARY"] = "nowhere/cuda.so"
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": have}, {}))
    assert code == "unsupported" and "'w'" in text and "nowhere/cuda.so is not there" in text, text
    os.environ["RESHARD_CUDA_LIBRARY"] = _ctypes.__file__
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": have}, {}))
    assert code == "unsupported" and "'w'" in text and "is not the library of reshard for CUDA" in text, text
    os.environ["RESHARD_CUDA_LIBRARY"] = library

    whole = numpy.arange(6 * 4 * ranks, dtype="float32").reshape(6, 4 * ranks)
    columns = whole[:, 4 * rank:4 * rank + 4]
    row, end = 6 * rank // ranks, 6 * (rank + 1) // ranks
    for source_gpu, target_gpu in ((0, 0), (0, 1), (1, None), (None, 0), (rank % 2, 0 if rank % 3 else None)):
        source = columns.copy() if source_gpu is None else OnGpu(columns, source_gpu)
        rows, turned = numpy.zeros((end - row, 4 * ranks), "float32"), numpy.zeros(whole.T.shape, "float64")
        target = [rows, turned] if target_gpu is None else [OnGpu(rows, target_gpu), OnGpu(turned, target_gpu)]
        given = {"w": reshard.Shard(source, whole.shape, (0, 4 * rank))}
        reshard.redistribute(comm, given, {"w": reshard.Shard(target[0], whole.shape, (row, 0)), "v": target[1]},
                             'w^T -> v, dtype="float64"\nw -> w')
        assert source_gpu is None or source.stream == 1
        if target_gpu is not None:
            assert target[0].stream == 1 and target[1].stream == 1
            rows, turned = target[0].fetch(), target[1].fetch()
        assert (rows == whole[row:end]).all() and (turned == whole.T).all()

    path = os.path.join(directory, "from_gpus")
    reshard.save(path, {"w": reshard.Shard(OnGpu(columns, rank % 2), whole.shape, (0, 4 * rank))}, comm=comm)
    want = OnGpu(numpy.zeros_like(whole), (rank + 1) % 2)
    assert reshard.load(path, {"w": want}, comm=comm)["w"] is want
    assert (want.fetch() == whole).all()

    for device_type, name in ((10, "rocm:0"), (8, "device:0")):
        code, text = refusal(lambda: reshard.redistribute(comm, {"w": OnGpu(columns, 0, device_type)}, {}))
        assert code == "unsupported" and f"in the memory of {name}, which Python does not reach" in text, text
    lost = OnGpu(columns.copy())
    lost.gpu = 7
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": lost}, {}))
    assert code == "unsupported" and "'w': cuda(7): this machine has 2 GPUs" in text, text
    empty = OnGpu(numpy.zeros((0, 3), "float32"))
    empty.gpu = 7
    reshard.redistribute(comm, {"w": empty}, {"w": numpy.zeros((0, 3), "float32")})
    gpus_that_are_not_said(columns)


def gpus_that_are_not_said(columns):
    """A capsule may lend a GPU's memory although its tensor does not say so."""

    class Silent(OnGpu):
        __dlpack_device__ = None

    class Wrong(OnGpu):
        def __dlpack_device__(self):
            return 1, 0

    for kind in (Silent, Wrong):
        source, target = kind(columns.copy()), numpy.zeros_like(columns)
        reshard.redistribute(None, {"w": source}, {"w": target})
        assert (target == columns).all() and source.stream == 1

    class WithoutStream(Wrong):
        def __dlpack__(self, max_version=None):
            return OnGpu.__dlpack__(self)

    class Nonsense(OnGpu):
        def __dlpack_device__(self):
            return self.answer

    code, text = refusal(lambda: reshard.redistribute(comm, {"w": WithoutStream(columns.copy())}, {}))
    assert code == "usage" and "'w'" in text and "__dlpack__(stream=1) failed" in text, text
    for answer in (None, 2, (2,), (2, 0, 0), ("cuda", 0), "no"):
        nonsense = Nonsense(columns.copy())
        nonsense.answer = answer
        code, text = refusal(lambda: reshard.redistribute(comm, {"w": nonsense}, {}))
        assert code == "usage" and "'w'" in text and f"__dlpack_device__ returned {answer!r}" in text, text

    class PyCapsule:
        def __dlpack__(self, **_):
            return self

    code, text = refusal(lambda: reshard.redistribute(comm, {"w": PyCapsule()}, {}))
    assert code == "usage" and "'w'" in text and "not a capsule" in text, text

    far = OnGpu(columns.copy())
    far.device_strides = (2**62, 2**62)
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": far}, {}))
    assert code == "overflow" and "'w'" in text and "extents and strides" in text, text


def immutable_of_jax():
    """JAX does not say in DLPack that its arrays are read-only."""

    class Array(Lent):
        pass

    sys.modules["jax"] = types.SimpleNamespace(Array=Array)
    source = numpy.arange(6, dtype="float32")
    target = numpy.zeros(6, "float32")
    reshard.redistribute(None, {"w": Array(source)}, {"w": target})
    assert (target == source).all()
    code, text = refusal(lambda: reshard.redistribute(None, {"w": target + 1}, {"w": Array(source)}))
    assert code == "usage" and "'w'" in text and "JAX" in text, text
    assert (source == numpy.arange(6)).all()
    del sys.modules["jax"]


def warned():
    """What a program warns about is said by the first rank, or refused on all."""
    source, target = numpy.arange(6, dtype="float32"), numpy.zeros(6, "float32")
    program = "w -> v\nno.such.$LAYER_ID -> x.$LAYER_ID\n"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reshard.redistribute(comm, {"w": source}, {"v": target}, program, "moved.aoa")
    assert (target == source).all()
    assert len(said) == (1 if rank == 0 else 0)
    for one in said:
        assert one.category is reshard.Warning and str(one.message).startswith("moved.aoa:2:1: no key"), one.message
        assert one.filename == __file__
    target[:] = 0
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": source}, {"v": target}, program, strict_warnings=True))
    assert code == "unsupported" and "1 warning" in text and "program:2:1" in text, text
    assert not target.any()
    reshard.redistribute(comm, {"w": source}, {"v": target}, "w -> v", strict_warnings=True)
    reshard.redistribute(comm, {"v": source}, {"v": target}, strict_warnings=True)


def program_files(directory):
    path = pathlib.Path(directory, "turn.aoa")
    if rank == 0:
        path.write_text("w^T -> v\n")
    if comm:
        comm.barrier()
    source, target = numpy.arange(6, dtype="float32").reshape(2, 3), numpy.zeros((3, 2), "float32")
    reshard.redistribute(comm, {"w": source}, {"v": target}, path)
    assert (target == source.T).all()
    reshard.redistribute(comm, {"v": source}, {"v": numpy.zeros((2, 3), "float32")}, None)


class Started(Lent):
    """Says when the library asks for it."""

    def __dlpack__(self):
        began.set()
        return super().__dlpack__()


began = threading.Event()


def threads(directory):
    """While a rank waits in `redistribute`, its other threads go on: here rank 1 comes only when one of them says so."""
    path = os.path.join(directory, "pipe")
    if rank == 0:
        os.mkfifo(path)
    comm.barrier()

    def tell():
        began.wait()
        with open(path, "w") as pipe:
            pipe.write("go")

    if rank == 0:
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # no thread takes the interpreter from the one that calls
        other = threading.Thread(target=tell)
        other.start()
    elif rank == 1:
        with open(path) as pipe:
            assert pipe.read() == "go"
    source, target = numpy.arange(6, dtype="float32"), numpy.zeros(6, "float32")
    reshard.redistribute(comm, {"w": Started(source)}, {"w": target})
    assert (target == source).all()
    if rank == 0:
        other.join()
        sys.setswitchinterval(before)


def interrupted():
    """A KeyboardInterrupt of one rank stays one, and the others have an error."""
    given = {"w": Refusing(KeyboardInterrupt())} if rank == 0 else {}
    try:
        reshard.redistribute(comm, given, {})
    except KeyboardInterrupt:
        assert rank == 0
    except reshard.Error as problem:
        assert rank != 0 and "KeyboardInterrupt" in str(problem), problem


def no_communicator():
    for wrong in (3, "world"):
        try:
            reshard.redistribute(wrong, {}, {})
        except TypeError as problem:
            assert "mpi4py" in str(problem), problem
        else:
            raise AssertionError(f"{wrong} was taken for a communicator")


name = tempfile.mkdtemp() if rank == 0 else None
name = comm.bcast(name) if comm else name
checkpoints(name)
opened(name)
placed(name)
fields(name)
examples(name)
pages(name)
alone(name)
said(name)
described()
tensors()
dlpack()
if cuda:
    on_gpus(name)
immutable_of_jax()
mistakes()
warned()
program_files(name)
interrupted()
if comm:
    no_communicator()
    other_mpi()
if ranks > 1:
    two_groups()
    threads(name)
if rank == 0:
    print(f"reshard {reshard.__version__}: {ranks} rank(s), all as expected")
sys.stdout.flush()
