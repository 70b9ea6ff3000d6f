#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Directories of Paddle's flex checkpoint and files of paddle.save, with what is in them.

    python3 make_paddle.py paddle/paddle-3.3 [CASE...]     (PaddlePaddle 3.3, no GPU; the directory is made)

Cases of several processes start these themselves, which talk by gloo.
"""

import itertools
import os
import shutil
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import paddle
import paddle.distributed as dist
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import save_state_dict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight

from golden import CODES, dotted, free_ports, leaves, tensor_entry, write_expected

WRITER = {"writer": "paddlepaddle " + paddle.__version__}
NAME = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}  # as which NumPy has them


def ramp(*shape, dtype="float32", first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return paddle.arange(first, first + count, dtype="int64").reshape(shape).astype(dtype)


def type_of(tensor):
    return str(tensor.dtype).split(".")[-1]


def bytes_of(tensor):
    return np.ascontiguousarray(tensor.numpy()).tobytes()


def entry(key, path, tensor):
    return tensor_entry(key, path, CODES[type_of(tensor)], tensor.shape, bytes_of(tensor))


def rank():
    return dist.get_rank()


# ---- sharded tensors: for each rank its box (offset, shape), perhaps with a range of the box's elements

class Whole:
    """A tensor, and what each rank has of it."""

    def __init__(self, tensor, boxes):
        self.tensor, self.boxes = tensor, boxes


def split(tensor, axis, count):
    """Equal blocks, the last ones shorter or absent."""
    block = -(-tensor.shape[axis] // count)
    boxes = []
    for number in range(count):
        begin, end = min(number * block, tensor.shape[axis]), min((number + 1) * block, tensor.shape[axis])
        offset, shape = [0] * len(tensor.shape), list(tensor.shape)
        offset[axis], shape[axis] = begin, end - begin
        boxes.append((offset, shape) if end > begin else None)
    return Whole(tensor, boxes)


def everywhere(tensor, count):
    return Whole(tensor, [([0] * len(tensor.shape), tensor.shape)] * count)


def tiles(tensor, rows, columns):
    height, width = tensor.shape[0] // rows, tensor.shape[1] // columns
    return Whole(tensor, [([row * height, column * width], [height, width])
                          for row, column in itertools.product(range(rows), range(columns))])


def flat(tensor, ranges):
    """Ranges of the elements of the whole tensor."""
    return Whole(tensor, [None if at is None else ([0] * len(tensor.shape), tensor.shape, at) for at in ranges])


def mine(key, whole):
    """What this rank gives to Paddle; nothing where it has nothing."""
    box = whole.boxes[rank()]
    if box is None:
        return None
    offset, shape = box[:2]
    held = whole.tensor
    for axis, (begin, extent) in enumerate(zip(offset, shape)):
        held = paddle.slice(held, [axis], [begin], [begin + extent])
    held = held.clone()
    if len(box) == 2:
        return ShardedWeight(key, held, tuple(shape), tuple(whole.tensor.shape), tuple(offset))
    begin, end = box[2]
    return ShardedWeight(key, held.flatten()[begin:end].clone(), tuple(shape), tuple(whole.tensor.shape), tuple(offset), True,
                         slice(begin, end))


def local_state(value, path=()):
    if isinstance(value, dict):
        held = {key: local_state(item, path + (key,)) for key, item in value.items()}
        return {key: item for key, item in held.items() if item is not None}
    return mine(dotted(path), value)


# ---- flex checkpoint

def model():
    return {"model": {"rows.weight": split(ramp(7, 2), 0, 4), "columns": split(ramp(2, 4, dtype="bfloat16"), 1, 4),
                      "both": tiles(ramp(4, 6), 2, 2), "short": split(ramp(3, 2), 0, 4), "norm": everywhere(ramp(3), 4),
                      "three": split(ramp(2, 4, 2, dtype="float16"), 1, 4)},
            "optimizer": {"moment": split(ramp(7, 2, dtype="float64", first=50), 0, 4), "beta": everywhere(ramp(1, first=9), 4),
                          "step": everywhere(ramp(dtype="int64", first=12).reshape([]), 4)},
            "flags": everywhere(ramp(3, dtype="bool"), 4)}


def flattened():
    """Ranges as of ZeRO: of the whole tensor, and of a block that tensor parallelism left."""
    block = ramp(4, 5, first=40)
    return {"flat": flat(ramp(4, 5), [(0, 7), (7, 13), (13, 20), None]),
            "bits": flat(ramp(3, 3, dtype="bfloat16"), [(0, 3), (3, 6), (6, 9), None]),
            "block": Whole(block, [([0, 0], [2, 5], (0, 4)), ([0, 0], [2, 5], (4, 10)), ([2, 0], [2, 5], (0, 9)), ([2, 0], [2, 5], (9, 10))])}


def plain():
    """Without a mesh: each tensor whole."""
    types = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
    return {"types": {name: ramp(2, 3, dtype=name) for name in types}, "scalar": ramp(1, first=5).reshape([]), "empty": paddle.zeros([0, 3]),
            "transposed": ramp(2, 3).t(), "parameter": paddle.nn.Linear(2, 2, weight_attr=paddle.nn.initializer.Constant(0.5)).weight}


FLEX = {  # name: (processes, state, options of each save)
    "distcp": (4, model, [{}]),
    "safetensors": (4, model, [{"safetensors": True}]),
    "flattened": (4, flattened, [{}]),
    "flattened_safetensors": (4, flattened, [{"safetensors": True}]),
    "replicas": (2, lambda: {"norm": everywhere(ramp(3), 2), "rows": split(ramp(4), 0, 2)}, [{"save_replicas": True}]),
    "two_saves": (1, lambda: {"weight": ramp(2, 2)}, [{}, {"unique_id": 1}]),  # the later one counts
    "plain": (1, plain, [{}]),
    "plain_safetensors": (1, lambda: {"types": {"bfloat16": ramp(3, dtype="bfloat16"), "bool": ramp(2, dtype="bool")}}, [{"safetensors": True}]),
}


def is_tensor(value):
    return isinstance(value, (paddle.Tensor, np.ndarray, Whole))


def expected_flex(state):
    tensors = []
    for path, leaf in leaves(state, is_tensor):
        if isinstance(leaf, paddle.Tensor) and not leaf._is_initialized():
            continue  # an empty tensor is left out; only flat_mapping names it
        tensors.append(entry(dotted(path), path, leaf.tensor if isinstance(leaf, Whole) else leaf))
    return tensors


def write_flex(directory, name):
    processes, make_state, saves = FLEX[name]
    path = os.path.join(directory, name)
    if processes > 1:
        dist.init_parallel_env()
    for number, options in enumerate(saves):
        state = make_state() if number == 0 else {"weight": ramp(2, 2, first=100)}
        save_state_dict(local_state(state) if processes > 1 else state, path, **options)
    if rank() == 0:
        write_expected(path, {**WRITER, "processes": processes, "tensors": expected_flex(state), "aliases": [], "objects": []})


# ---- paddle.save

def layer():
    """A layer and its AdamW, both after a step."""
    paddle.seed(0)
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.BatchNorm1D(3))
    for number, (key, value) in enumerate(net.state_dict().items()):
        value.set_value(ramp(*value.shape, first=10 * number))
    schedule = paddle.optimizer.lr.StepDecay(0.5, step_size=2)
    adam = paddle.optimizer.AdamW(schedule, parameters=net.parameters())
    net(ramp(2, 2)).sum().backward()
    adam.step()
    schedule.step()
    return net, adam


def nested():
    shared = ramp(2, 3, first=20)
    return {"epoch": 3, "lr": 0.5, "name": "run", "none": None, "yes": True, "list": [ramp(2), {"deep": ramp(1, first=4)}],
            "tuple": (ramp(1), 7), "bits": ramp(4, dtype="bfloat16"), "types": {name: ramp(3, dtype=name) for name in (
                "bool", "uint8", "int8", "int16", "int64", "float16", "float64", "complex64")},
            "scalar": ramp(1, first=5).reshape([]), "empty": paddle.zeros([0, 3]), "shared": shared, "again": shared,
            "array": np.asfortranarray(np.arange(6, dtype="float32").reshape(2, 3))}


def expected_saved(value):
    tensors, objects, same = [], [], {}
    for path, leaf in leaves(value, is_tensor):
        if isinstance(leaf, paddle.Tensor):
            tensors.append(entry(dotted(path), path, leaf))
            same.setdefault(leaf.name, []).append(dotted(path))
        elif isinstance(leaf, np.ndarray):
            tensors.append(tensor_entry(dotted(path), path, CODES[leaf.dtype.name], leaf.shape, leaf.tobytes("C")))
        else:
            objects.append({"key": dotted(path), "path": list(path), "repr": repr(leaf)})
    return {**WRITER, "tensors": tensors, "aliases": [keys for keys in same.values() if len(keys) > 1], "objects": objects}


def long_texts():
    """Elements that protocol 2 has as texts of several kilobytes, with bytes of all values."""
    return {"bytes": ramp(5000, dtype="uint8"), "numbers": ramp(1500, first=-700), "text": "\u00e9" * 3000,
            "fortran": np.asfortranarray(np.arange(-1500, 1500, dtype="int16").reshape(50, 60)), "bits": ramp(2100, dtype="bfloat16")}


def cut_above(most_bytes):
    """Paddle cuts arrays of a GiB; here, of so many bytes."""
    function = paddle.framework.io_utils._unpack_saved_dict
    constants = tuple(most_bytes if one == 2**30 - 1 else one for one in function.__code__.co_consts)
    assert most_bytes in constants
    function.__code__ = function.__code__.replace(co_consts=constants)


def write_saved(directory, name):
    """Files of paddle.save. Its Adam gives moments the names of variables, which are counted in each process."""
    net, adam = layer()
    values = {"model.pdparams": (net.state_dict(), 4), "model.pdopt": (adam.state_dict(), 4), "nested.pdparams": (nested(), 4),
              "nested_protocol2.pdparams": (nested(), 2), "tensor.pdparams": (ramp(2, 3), 4),
              "model_protocol2.pdparams": (net.state_dict(), 2), "long_protocol2.pdparams": (long_texts(), 2)}
    for file, (value, protocol) in values.items():
        path = os.path.join(directory, file)
        paddle.save(value, path, protocol=protocol)
        write_expected(path, expected_saved(value))
    cut_above(11)  # 2 elements of 32 bits
    for protocol in (2, 3):
        path = os.path.join(directory, f"cut_protocol{protocol}.pdparams")
        paddle.save(net.state_dict(), path, protocol=protocol)
        assert b"UnpackBigParamInfor@@" in open(path, "rb").read()
        write_expected(path, expected_saved(net.state_dict()))


# ---- cases

CASES = {**{name: (case[0], write_flex) for name, case in FLEX.items()}, "saved": (1, write_saved)}


def start(directory, name, count):
    """Runs this script once for each rank of a case."""
    ports = free_ports(count + 1)
    ends = [f"127.0.0.1:{port}" for port in ports[1:]]
    processes = []
    for number in range(count):
        more = {"PADDLE_TRAINER_ID": str(number), "PADDLE_TRAINERS_NUM": str(count), "PADDLE_TRAINER_ENDPOINTS": ",".join(ends),
                "PADDLE_CURRENT_ENDPOINT": ends[number], "PADDLE_MASTER": f"127.0.0.1:{ports[0]}", "PADDLE_DISTRI_BACKEND": "gloo"}
        processes.append(subprocess.Popen([sys.executable, __file__, "--rank", directory, name], env={**os.environ, **more}))
    if any([process.wait() for process in processes]):
        sys.exit(f"{name} failed")


def main():
    if sys.argv[1] == "--rank":
        directory, name = sys.argv[2:]
        CASES[name][1](directory, name)
        return
    directory, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(directory, exist_ok=True)
    for name in names:
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        start(directory, name, CASES[name][0])


main()
