#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Unified Checkpoints in the layout of PaddleNLP, with what is in them.

    python3 make_unified.py unified [CASE...]     (safetensors and PyTorch; the directory is made)

PaddleNLP itself is not run: the files are those of the safetensors package, with the names, keys and indexes that
PaddleNLP's trainer gives them.
"""

import json
import os
import shutil
import sys

import safetensors
import torch
from safetensors.torch import save_file

from golden import torch_bytes, torch_code, tensor_entry, write_expected

WRITER = {"writer": "safetensors " + safetensors.__version__ + ", in the layout of PaddleNLP"}


def ramp(*shape, dtype=torch.float32, first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.arange(first, first + count).reshape(shape).to(dtype)


def model(dtype=torch.bfloat16):
    """A norm stays in 32 bits, as in mixed precision."""
    return {"emb.weight": ramp(6, 4, dtype=dtype), "mlp.weight": ramp(4, 3, dtype=dtype, first=30),
            "norm.weight": ramp(4, first=50)}


def masters():
    """What the weights are before they are rounded. A norm, which is not, stands among them too."""
    return {"emb.weight": ramp(6, 4) + 0.125, "mlp.weight": ramp(4, 3, first=30) + 0.125, "norm.weight": ramp(4, first=50)}


def optimizer(weights):
    state = {}
    for number, (key, weight) in enumerate(weights.items()):
        state[key + "/moment1_0"] = ramp(*weight.shape, first=100 * (number + 1))
        state[key + "/moment2_0"] = ramp(*weight.shape, first=1000 * (number + 1))
        state[key + "/beta1_pow_acc_0"] = torch.tensor([0.5])
        state[key + "/beta2_pow_acc_0"] = torch.tensor([0.25])
    return state


def write_part(directory, prefix, tensors, files=1, index_prefix=None, **more):
    """The files of one part, and its index."""
    os.makedirs(directory, exist_ok=True)
    weight_map, keys = {}, list(tensors)
    for number in range(files):
        name = f"{prefix}-{number + 1:05}-of-{files:05}.safetensors"
        mine = keys[number * len(keys) // files:(number + 1) * len(keys) // files]
        save_file({key: tensors[key] for key in mine}, os.path.join(directory, name), metadata={"format": "np"})
        weight_map.update({key: name for key in mine})
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    with open(os.path.join(directory, f"{index_prefix or prefix}.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": size}, "weight_map": weight_map, **more}, file, indent=4)


def expect(weights=None, master=None, state=None, aliases=()):
    """Under the keys that programs have: `w`, `w.w_0`, `w.moment1_0`."""
    tensors = dict(weights or {})
    tensors.update({key + ".w_0": tensor for key, tensor in (master or {}).items()})
    tensors.update({key.replace("/", "."): tensor for key, tensor in (state or {}).items()})
    for key in aliases:
        tensors[key + ".w_0"] = tensors[key]
    return {**WRITER, "tensors": [tensor_entry(key, None, torch_code(tensor.dtype), tensor.shape, torch_bytes(tensor))
                                  for key, tensor in sorted(tensors.items())],
            "aliases": [[key, key + ".w_0"] for key in aliases], "objects": []}


def all_three(directory):
    """Model, master weights and optimizer, in several files each."""
    state = optimizer(model())
    write_part(directory, "model", model(), 2)
    write_part(directory, "master_weights", masters(), 3)
    write_part(directory, "optimizer", state, 4, master_weights=True)
    return expect(model(), masters(), state)


def skip_save_model_weight(directory):
    """The model's files are those of the master weights."""
    state = optimizer(model())
    write_part(directory, "model", masters(), 2)
    write_part(directory, "optimizer", state, 2, master_weights=True)
    return expect(masters(), None, state, list(masters()))


def masters_alone(directory):
    """The model has no files."""
    state = optimizer(model())
    write_part(directory, "master_weights", masters())
    write_part(directory, "optimizer", state, master_weights=True)
    return expect(masters(), None, state, list(masters()))


def no_masters(directory):
    """A model of 32 bits."""
    weights = model(torch.float32)
    state = optimizer(weights)
    write_part(directory, "model", weights)
    write_part(directory, "optimizer", state, master_weights=False)
    return expect(weights, None, state)


def lost_masters(directory):
    """The index tells of master weights, and only the norm has one."""
    state = optimizer(model())
    write_part(directory, "model", model())
    write_part(directory, "optimizer", state, master_weights=True)
    return expect(model(), None, state, ["norm.weight"])


def single_files(directory):
    """Files without indexes."""
    state = optimizer(model())
    os.makedirs(directory)
    for name, tensors in ("model", model()), ("master_weights", masters()), ("optimizer", state):
        save_file(tensors, os.path.join(directory, name + ".safetensors"), metadata={"format": "np"})
    return expect(model(), masters(), state)


CASES = [all_three, skip_save_model_weight, masters_alone, no_masters, lost_masters, single_files]


def main():
    target, names = sys.argv[1], sys.argv[2:]
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        directory = os.path.join(target, case.__name__)
        shutil.rmtree(directory, ignore_errors=True)
        write_expected(directory, case(directory))


main()
