#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Unified Checkpoints that PaddleNLP wrote, with what is in them.

    python3 make_paddlenlp.py unified/paddlenlp-3.0 [CASE...]     (no GPU; the directory is made)

What has to be there is said in paddlenlp_parts.py. Cases of two processes, of one tensor-parallel group, start these themselves,
which talk by gloo.
"""

import os
import shutil
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import paddle
import paddle.distributed as dist
from paddle.distributed import fleet

import paddlenlp_parts as parts
from golden import CODES, free_ports, refuse, tensor_entry, write_expected

VERSION = parts.prepare()
OLD = VERSION.startswith("2.")
WRITER = {"writer": f"paddlenlp {VERSION}, paddlepaddle {paddle.__version__}"}
PARTS = {"": 0, "w_0": 0, "moment1_0": 100, "moment2_0": 1000}  # the first element of each state


def value(key, shape):
    """Of the whole tensor: its elements count on, and master weights are not what a weight can be."""
    weight = key if key in parts.SHAPES else key.rpartition(".")[0]
    state = key[len(weight) + 1:]
    if state in ("beta1_pow_acc_0", "beta2_pow_acc_0"):
        return np.full([1], 0.5 if state.startswith("beta1") else 0.25, "float32")
    first = PARTS[state] + 30 * list(parts.SHAPES).index(weight)
    return first + np.arange(np.prod(shape), dtype="float32").reshape(shape) + (0.125 if state == "w_0" else 0)


def fill(model, optimizer, ranks, rank):
    """Gives each tensor its values, and returns the whole ones with their types."""
    whole = {}
    for key, tensor in parts.states(model, optimizer).items():
        weight = key if key in parts.SHAPES else key.rpartition(".")[0]
        values = value(key, parts.SHAPES[weight])
        of_rank = values
        if weight in parts.SPLIT and values.size > 1:
            of_rank = np.split(values, ranks, parts.SPLIT[weight])[rank]
        tensor.set_value(paddle.to_tensor(of_rank).astype(tensor.dtype))
        whole[key] = paddle.to_tensor(values).astype(tensor.dtype)
    return whole


def entry(key, tensor):
    return tensor_entry(key, None, CODES[str(tensor.dtype).split(".")[-1]], tensor.shape,
                        np.ascontiguousarray(tensor.numpy()).tobytes())


def expect(tensors, aliases=()):
    tensors = {**tensors, **{key + ".w_0": tensors[key] for key in aliases}}
    return {**WRITER, "tensors": [entry(key, tensor) for key, tensor in sorted(tensors.items())],
            "aliases": [[key, key + ".w_0"] for key in aliases], "objects": []}


def masters_are_stored(whole):
    """PaddleNLP 3 puts weights of 32 bits among the master weights."""
    return whole if OLD else {**whole, "norm.weight.w_0": whole["norm.weight"]}


def masters_are_weights(whole):
    """Where PaddleNLP 2 has no files of the model, weights of 32 bits are in none."""
    stored = masters_are_stored(whole)
    kept = {key: tensor for key, tensor in whole.items() if key not in parts.SHAPES and not key.endswith(".w_0")}
    weights = {key: stored[key + ".w_0"] for key in parts.SHAPES if key + ".w_0" in stored}
    return expect({**kept, **weights}, list(weights))


def no_masters(whole):
    return {key: tensor for key, tensor in whole.items() if not key.endswith(".w_0")}


def model_alone(whole):
    return {key: whole[key] for key in parts.SHAPES}


# ---- cases: processes, options, data type of the weights, stage of quantisation, what is expected

CASES = {
    "one_process": (1, [], "bfloat16", "O0", lambda whole: expect(masters_are_stored(whole))),
    "one_process_fp32": (1, [], "float32", "O0", lambda whole: expect(whole)),
    "two_processes": (2, [], "bfloat16", "O0", lambda whole: expect(masters_are_stored(whole))),
    "skip_save_model_weight": (2, ["skip_save_model_weight"], "bfloat16", "O0", masters_are_weights),
    "remove_master_weight": (2, ["remove_master_weight"], "bfloat16", "O0", lambda whole: expect(no_masters(whole))),
    "ignore_merge_optimizer": (2, ["ignore_merge_optimizer"], "bfloat16", "O0", lambda whole: expect(model_alone(whole))),
    "quantised": (2, [], "bfloat16", "O1", lambda whole: refuse("its optimizer state is quantised", **WRITER)),
}
OF_OLD = ["one_process", "two_processes", "skip_save_model_weight"]  # that PaddleNLP 2 has


def write(directory, name, rank):
    ranks, options, dtype, quantised, expected = CASES[name]
    paddle.set_device("cpu")
    if ranks > 1:
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": ranks, "pp_degree": 1, "sharding_degree": 1}
        fleet.init(is_collective=True, strategy=strategy)
    model, optimizer = parts.small_model(ranks, rank, dtype)
    whole = fill(model, optimizer, ranks, rank)
    target = os.path.join(directory, name)
    parts.Functions(parts.arguments(ranks, rank, options, quantised)).save(model, optimizer, target)
    if rank == 0:
        write_expected(target, expected(whole))


def start(directory, name):
    """Runs this script once for each rank of a case."""
    ranks = CASES[name][0]
    ports = free_ports(ranks + 1)
    ends = [f"127.0.0.1:{port}" for port in ports[1:]]
    processes = []
    for rank in range(ranks):
        more = {"PADDLE_TRAINER_ID": str(rank), "PADDLE_RANK_IN_NODE": str(rank), "PADDLE_TRAINERS_NUM": str(ranks),
                "PADDLE_TRAINER_ENDPOINTS": ",".join(ends), "PADDLE_CURRENT_ENDPOINT": ends[rank],
                "PADDLE_MASTER": f"127.0.0.1:{ports[0]}", "PADDLE_DISTRI_BACKEND": "gloo"}
        processes.append(subprocess.Popen([sys.executable, __file__, "--rank", str(rank), directory, name],
                                          env={**os.environ, **more}))
    if any([process.wait() for process in processes]):
        sys.exit(f"{name} failed")


def main():
    if sys.argv[1] == "--rank":
        rank, directory, name = sys.argv[2:]
        write(directory, name, int(rank))
        return
    directory = sys.argv[1]
    names = sys.argv[2:] or (OF_OLD if OLD else list(CASES))
    os.makedirs(directory, exist_ok=True)
    for name in names:
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        start(directory, name)


main()
