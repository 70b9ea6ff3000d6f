#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""A scaled-down Llama with the state of its optimizer, for the matrix of formats (test/tool/matrix.sh).

    make_llama.py safetensors FILE     with Python alone
    make_llama.py gguf FILE            gguf 0.19
    make_llama.py paddle FILE          PaddlePaddle 3.3

Elements are small whole numbers, which bfloat16 has.
"""

import json
import struct
import sys

LAYERS, HIDDEN, KEYS, FEED, WORDS = 2, 8, 4, 12, 10


def shapes():
    yield "model.embed_tokens.weight", (WORDS, HIDDEN)
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        for part, shape in (("self_attn.q_proj", (HIDDEN, HIDDEN)), ("self_attn.k_proj", (KEYS, HIDDEN)),
                            ("self_attn.v_proj", (KEYS, HIDDEN)), ("self_attn.o_proj", (HIDDEN, HIDDEN)),
                            ("mlp.gate_proj", (FEED, HIDDEN)), ("mlp.up_proj", (FEED, HIDDEN)),
                            ("mlp.down_proj", (HIDDEN, FEED)), ("input_layernorm", (HIDDEN,))):
            yield name + part + ".weight", shape
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (WORDS, HIDDEN)


def tensors():
    """Keys, codes of safetensors, shapes and the elements."""
    all_of_them = []
    for number, (key, shape) in enumerate(shapes()):
        count = 1
        for extent in shape:
            count *= extent
        all_of_them.append((key, "BF16", shape, [(number + i) % 128 for i in range(count)]))
        for state in ("exp_avg", "exp_avg_sq"):
            all_of_them.append((f"optim.{key}.{state}"[:63], "F32", shape,
                                [number * 1000 + i for i in range(count)]))
    all_of_them.append(("optim.step", "I64", (1,), [7]))
    return all_of_them


def pack(code, values):
    if code == "BF16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack("<" + {"F32": "f", "I64": "q"}[code] * len(values), *values)


def write_safetensors(path):
    header, data = {}, b""
    for key, code, shape, values in tensors():
        begin, data = len(data), data + pack(code, values)
        header[key] = {"dtype": code, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_gguf(path):
    import gguf
    import numpy
    writer = gguf.GGUFWriter(path, "llama")
    kinds = {"BF16": gguf.GGMLQuantizationType.BF16, "F32": None, "I64": None}
    for key, code, shape, values in tensors():
        array = numpy.frombuffer(pack(code, values), {"BF16": "<u1", "F32": "<f4", "I64": "<i8"}[code])
        last = shape[-1] * (2 if code == "BF16" else 1) # of bfloat16, its bytes are given
        writer.add_tensor(key, array.reshape((*shape[:-1], last)), raw_dtype=kinds[code])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_paddle(path):
    import numpy
    import paddle
    types = {"BF16": "bfloat16", "F32": "float32", "I64": "int64"}
    paddle.save({key: paddle.to_tensor(numpy.array(values, "float32" if code == "BF16" else types[code])
                                       .reshape(shape)).astype(types[code])
                 for key, code, shape, values in tensors()}, path)


{"safetensors": write_safetensors, "gguf": write_gguf, "paddle": write_paddle}[sys.argv[1]](sys.argv[2])
