# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The Python module, alone and under mpiexec: run with the folder of the module in PYTHONPATH."""

import json
import os
import struct
import sys
import tempfile

import numpy
import reshard

try:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
except ImportError:
    comm = None
rank, ranks = (comm.rank, comm.size) if comm else (0, 1)


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
    assert reshard.verify(target)["ok"]
    numbered = os.path.join(directory, "numbered")
    reshard.convert(model, numbered, number=["loss=1.5", "step=7"])
    with open(os.path.join(numbered, "reshard.json")) as file:
        assert json.load(file)["numbers"] == {"loss": 1.5, "step": 7}
    code, text = refusal(lambda: reshard.convert(model, target))
    assert code and target in text, text
    code, text = refusal(lambda: reshard.check(model, program, no_such_option=True))
    assert code == "usage" and "--no-such-option" in text, text


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
    # What one rank cannot give is an error on all of them, not a rank that waits for it.
    other = columns.astype(">f4") if rank == 0 else columns
    code, text = refusal(lambda: reshard.redistribute(comm, {"w": reshard.Shard(other, whole.shape, (0, 4 * rank))},
                                                      {"w": again}))
    assert code == "unsupported" and ">float32" in text, text


class Lent:
    """A tensor that is no NumPy array, and shows itself by DLPack alone."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self):
        return self.array.__dlpack__()


def dlpack():
    have, want = numpy.arange(6, dtype="int16"), numpy.zeros(6, "int16")
    reshard.redistribute(None, {"w": Lent(have)}, {"w": Lent(want)})
    assert (want == have).all()


name = tempfile.mkdtemp() if rank == 0 else None
checkpoints(comm.bcast(name) if comm else name)
tensors()
dlpack()
if rank == 0:
    print(f"reshard {reshard.__version__}: {ranks} rank(s), all as expected")
sys.stdout.flush()
