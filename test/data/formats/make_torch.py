#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Files of torch.save, with what is in them.

    python3 make_torch.py torch/torch-2.15      (any PyTorch from 2.0, no GPU; the directory is made)

`not_zip.pt` differs from run to run, since its storages are named by their addresses; all others are the same.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import torch

from golden import expect_torch, refuse, write_expected

DIRECTORY = sys.argv[1]
NEW = tuple(int(number) for number in torch.__version__.split(".")[:2]) >= (2, 4)
WRITER = {"writer": "torch " + torch.__version__.split("+")[0]}


def ramp(*shape, dtype=torch.float32, first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return torch.arange(first, first + count).reshape(shape).to(dtype)


def path_of(name):
    return os.path.join(DIRECTORY, name)


def save(name, value, **options):
    torch.save(value, path_of(name), **options)
    write_expected(path_of(name), expect_torch(value, **WRITER))


def save_refused(name, value, reason, **options):
    torch.save(value, path_of(name), **options)
    write_expected(path_of(name), refuse(reason, **WRITER))


def nested():
    return {"model": collections.OrderedDict(weight=ramp(2, 3), bias=ramp(2, first=10)),
            "list": [ramp(2), [ramp(1, first=5), 7], {"deep": ramp(1, 2, first=8)}],
            "tuple": (ramp(3, first=20), "text", (ramp(1), None)),
            "with.dot": {"a.b": ramp(2, first=30)},
            0: {1: ramp(2, first=40)},
            "ünïcode \"quoted\"": ramp(1, first=50),
            "epoch": 3, "lr": 0.1, "name": "run 7", "none": None, "yes": True, "no": False,
            "empty": {}, "empty_list": [], "empty_tuple": ()}


def objects():
    return {"small": 200, "negative": -1, "short": 65535, "int": 2**31 - 1, "long": 2**40, "huge": 2**70,
            "negative_huge": -(2**70), "zero": 0.0, "minus_zero": -0.0, "infinite": float("inf"), "tiny": 5e-324,
            "long_text": "x" * 300, "text": "\u00e9\u4e2d\U0001f600\n", "repeated": ["same", "same"], "one_tuple": (1,),
            "three": (1, 2, 3), "four": (1, 2, 3, 4), "size": torch.Size([2, 3]), "tensor": ramp(2)}


def containers():
    """What torch.distributed.checkpoint enters, and what it keeps as one value."""
    return {"betas": (0.9, 0.999), "numbers": [1, 2, [3, (4,)]], "dicts": [{}, 5], "deep": [[1, [{"a": (6, 7)}]], [8]],
            "tuple_of_dicts": ({"a": [9]},), "mixed": [1, [2, [ramp(2)]], [3]], "none": {"of": {"these": {}}},
            "counts": collections.Counter("aab"), "default": collections.defaultdict(int, {0: 1})}


def unusual_objects():
    """Values whose pickles name globals."""
    return {"bytes": b"\0\1\377", "dtype": torch.bfloat16, "device": torch.device("cpu"), "set": {1}, "complex": complex(1, -2),
            "default": collections.defaultdict(int, {"a": 1}), "counter": collections.Counter("aab"), "tensor": ramp(2),
            "namespace": argparse.Namespace(lr=0.5, layers=[1, 2])}


def run_state():
    """What is beside tensors in checkpoints of training programs."""
    random.seed(7)
    np.random.seed(7)
    return {"python": random.getstate(), "numpy": np.random.get_state(), "generator": np.random.default_rng(7).bit_generator.state,
            "best": np.float64(0.5), "steps": np.int64(9), "done": np.bool_(True), "name": np.str_("run"),
            "history": np.arange(6, dtype="float32").reshape(2, 3), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
            "strided": np.arange(8)[::2], "none": np.zeros((0, 3)), "scalar": np.array(2.5), "types": np.dtype("<f4"),
            "objects": np.array(["a", None], dtype=object), "record": np.zeros(2, dtype=[("id", "i4"), ("loss", "f8")]),
            "paths": [pathlib.PosixPath("/data/a"), pathlib.PosixPath("b")], "args": argparse.Namespace(lr=0.5, path=pathlib.PosixPath("c")),
            "by_key": collections.defaultdict(list, {"a": [1, 2]}), "in_tuple": (collections.defaultdict(dict, {"a": {}}), collections.Counter("ab")),
            "window": collections.deque([1.5, 2.5], maxlen=4), "endless": collections.deque([(1,), 2]), "empty_deque": collections.deque(),
            "large": np.arange(-350, 350), "long": "\u00e9" * 2500, "nothing": b"", "bytes": b"\0\x80\xff", "array": bytearray(b"\1\xfe"), "range": range(2, 9, 3), "frozen": frozenset([3]),
            "huge": [2**100, -(2**100)], "tensor": ramp(2)}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.head = torch.nn.Linear(2, 3)
        self.head.weight = self.embedding.weight
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                parameter.copy_(ramp(*parameter.shape, first=10 * number))


def trained():
    """A model and its Adam, both after a step."""
    model = Net()
    adam = torch.optim.Adam([{"params": [model.embedding.weight]}, {"params": model.norm.parameters(), "lr": 0.5}])
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    adam.step()
    return model, adam


def views():
    base = ramp(4, 6)
    long = ramp(10, first=100)
    pool = ramp(8, dtype=torch.bfloat16)
    return {"base": base, "rows": base[1:3], "columns": base[:, 2:5], "transposed": base.t(), "element": base[2, 3],
            "every_second": base[::2, ::3], "same": base[:], "flat": base.view(-1), "permuted": ramp(2, 3, 4).permute(2, 0, 1),
            "expanded": ramp(1, 3).expand(2, 3), "expanded_scalar": torch.tensor(5.0).expand(2, 2),
            "diagonal": base.diagonal(), "overlapping": long.unfold(0, 4, 2), "slice_only": ramp(100)[40:44],
            "empty_slice": base[2:2], "channels_last": ramp(1, 2, 2, 3).to(memory_format=torch.channels_last),
            "tail": pool[6:], "tail_again": pool[6:], "head": pool[:2], "tied": [long, {"again": long}]}


def dtypes():
    values = {"bool": torch.tensor([True, False, True])}
    for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
        values[name] = ramp(2, 3, dtype=getattr(torch, name), first=-2 if name != "uint8" else 250)
    values["complex64"] = torch.complex(ramp(3), -ramp(3))
    values["nan"] = torch.tensor([0x7fc00001, -0x7fffff, -2**31, 0x7f800000], dtype=torch.int32).view(torch.float32)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        if hasattr(torch, name):
            values[name] = ramp(6, dtype=torch.uint8, first=60).view(getattr(torch, name)).reshape(2, 3)
    for name, bits in (("uint16", torch.int16), ("uint32", torch.int32), ("uint64", torch.int64)):
        if hasattr(torch, name):
            values[name] = torch.tensor([-1, 0, 5], dtype=bits).view(getattr(torch, name))
    if hasattr(torch, "float8_e4m3fn"):
        values["float8_view"] = values["float8_e4m3fn"].t()
        values["float8_tail"] = values["float8_e4m3fn"].view(-1)[2:5]
    return values


def parameters():
    weight = torch.nn.Parameter(ramp(2, 2))
    frozen = torch.nn.Parameter(ramp(3), requires_grad=False)
    bits = torch.nn.Parameter(ramp(2, dtype=torch.bfloat16))
    return {"weight": weight, "frozen": frozen, "bfloat16": bits, "data": weight.data, "tied": weight,
            "grad": ramp(2, first=7).requires_grad_()}


def bin_files():
    """A model in two files with an index, as transformers wrote it before safetensors."""
    directory = path_of("bin")
    os.makedirs(directory, exist_ok=True)
    weights = {"embed.weight": ramp(3, 2, dtype=torch.bfloat16), "layer.0.weight": ramp(2, 2, first=6), "head.bias": ramp(3)}
    files = {"pytorch_model-00001-of-00002.bin": ["embed.weight", "head.bias"], "pytorch_model-00002-of-00002.bin": ["layer.0.weight"]}
    for file, names in files.items():
        torch.save({name: weights[name] for name in names}, os.path.join(directory, file))
    index = {"metadata": {"total_size": sum(w.numel() * w.element_size() for w in weights.values())},
             "weight_map": {name: file for file, names in files.items() for name in names}}
    with open(os.path.join(directory, "pytorch_model.bin.index.json"), "w") as file:
        file.write(json.dumps(index, indent=2, sort_keys=True) + "\n")
    expected = expect_torch(weights, **WRITER)
    for entry in expected["tensors"]:
        entry["key"] = entry["path"][0]
    write_expected(directory, expected)


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    torch.manual_seed(0)
    save("nested.pt", nested())
    save("nested_protocol4.pt", nested(), pickle_protocol=4)
    save("objects.pt", objects())
    save("containers.pt", containers())
    save("run_state.pt", run_state())
    save("numpy.pt", {"weight": ramp(2).numpy()})  # an array of NumPy is no tensor
    save("run_state_protocol4.pt", run_state(), pickle_protocol=4)
    save("run_state_protocol5.pt", run_state(), pickle_protocol=5)
    save_refused("random_state.pt", {"rng": np.random.RandomState(7)}, "global numpy.random._pickle.__randomstate_ctor")
    save("unusual_objects.pt", unusual_objects())
    if NEW:  # the protocol is Python's, of whatever age torch is
        save("nested_protocol3.pt", nested(), pickle_protocol=3)
        save("nested_protocol5.pt", nested(), pickle_protocol=5)
        save("unusual_objects_protocol4.pt", unusual_objects(), pickle_protocol=4)
    model, adam = trained()
    save("state_dict.pth", model.state_dict())
    save("training.pt", {"model": model.state_dict(), "optimizer": adam.state_dict(), "step": 1})
    save("views.pt", views())
    save("shapes.pt", {"scalar": torch.tensor(1.5), "int_scalar": torch.tensor(-3), "empty": torch.empty(0),
                       "empty_matrix": torch.empty(0, 3), "empty_middle": torch.empty(2, 0, 4, dtype=torch.int64),
                       "one": ramp(1), "deep": ramp(1, 2, 1, 2, 1, 2), "bool_scalar": torch.tensor(True)})
    save("dtypes.pt", dtypes())
    save("parameters.pt", parameters())
    if hasattr(torch.nn, "Buffer"):
        save("buffer.pt", {"weight": ramp(2), "buffer": torch.nn.Buffer(ramp(2, first=3))})
    save("tensor.pt", ramp(2, 3))
    save("list.pt", [ramp(2), ramp(1, first=9)])
    with_state = torch.nn.Parameter(ramp(2))
    with_state.partition = "rows"
    save("parameter_with_state.pt", {"weight": with_state})
    pair = torch.complex(ramp(2), ramp(2, first=3))
    save_refused("conjugated.pt", {"conj": pair.conj(), "plain": pair}, "a view whose elements are not those of its storage")
    save_refused("negated.pt", {"neg": torch.complex(ramp(2), ramp(2, first=8)).conj().imag},
                 "a view whose elements are not those of its storage")
    if hasattr(torch.serialization, "set_crc32_options"):
        torch.serialization.set_crc32_options(False)
        save("without_crc32.pt", {"weight": ramp(2, 3), "lr": 0.5})
        torch.serialization.set_crc32_options(True)
    bin_files()
    save_refused("not_zip.pt", {"weight": ramp(2, 3)}, "the form before torch 1.6, which is no zip file",
                 _use_new_zipfile_serialization=False)
    save_refused("module.pt", torch.nn.Linear(1, 1), "global torch.nn.modules.linear.Linear")
    save("complex128.pt", {"weight": torch.tensor([1j], dtype=torch.complex128)})
    save_refused("sparse.pt", {"weight": ramp(2, 2).to_sparse()}, "global torch._utils._rebuild_sparse_tensor")
    save_refused("quantized.pt", {"weight": torch.quantize_per_tensor(ramp(2), 0.5, 0, torch.qint8)},
                 "global torch._utils._rebuild_qtensor")
    save_refused("meta.pt", {"weight": torch.empty(2, device="meta")}, "global torch._utils._rebuild_meta_tensor_no_storage")


main()
