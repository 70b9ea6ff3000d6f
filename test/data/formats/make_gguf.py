#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Files of the package gguf, with what is in them.

    python3 make_gguf.py gguf      (gguf 0.17 or later; the directory is made)

Shapes are those of NumPy's arrays: the slowest axis first, which the file has last.
"""

import importlib.metadata
import os
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFEndian, GGUFValueType, GGUFWriter
from gguf.quants import dequantize

from golden import CODES, refuse, tensor_entry, write_expected

DIRECTORY = sys.argv[1]
WRITER = {"writer": "gguf " + importlib.metadata.version("gguf")}


def ramp(*shape, dtype="float32", first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return np.arange(first, first + count).reshape(shape).astype(dtype)


def bf16(array):
    """The upper halves of float32 numbers that have nothing in the lower ones."""
    return (array.astype("float32").view("uint32") >> 16).astype("uint16")


def path_of(name):
    return os.path.join(DIRECTORY, name)


def begin(name, **options):
    return GGUFWriter(path_of(name), "llama", **options)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def entry(key, array, code=None):
    return tensor_entry(key, None, code or CODES[array.dtype.name], array.shape, array.tobytes())


def expect(name, tensors, objects=(), **more):
    values = [{"key": "general.architecture", "repr": "'llama'"}] + [{"key": key, "repr": repr(value)} for key, value in objects]
    write_expected(path_of(name), {**WRITER, "tensors": tensors, **more, "aliases": [], "objects": values})


METADATA = [("u8", 200, GGUFValueType.UINT8), ("i8", -3, GGUFValueType.INT8), ("u16", 60000, GGUFValueType.UINT16),
            ("i16", -300, GGUFValueType.INT16), ("u32", 4000000000, GGUFValueType.UINT32), ("i32", -70000, GGUFValueType.INT32),
            ("u64", 2**63 + 1, GGUFValueType.UINT64), ("i64", -(2**40), GGUFValueType.INT64), ("f32", 0.5, GGUFValueType.FLOAT32),
            ("f64", 0.1, GGUFValueType.FLOAT64), ("yes", True, GGUFValueType.BOOL), ("text", "ünïcode\n", GGUFValueType.STRING),
            ("empty_text", "", GGUFValueType.STRING), ("ints", [1, 2, 3], GGUFValueType.ARRAY), ("floats", [0.5, 1.5], GGUFValueType.ARRAY),
            ("texts", ["a", "", "bc"], GGUFValueType.ARRAY), ("flags", [True, False], GGUFValueType.ARRAY),
            ("nested", [[1, 2], [3]], GGUFValueType.ARRAY)]


def types(name, **options):
    writer = begin(name, **options)
    tensors = []
    for dtype in ("float32", "float16", "float64", "int8", "int16", "int32", "int64"):
        array = ramp(3, 5, dtype=dtype, first=-4)
        writer.add_tensor(f"blk.0.{dtype}", array)
        tensors.append(entry(f"blk.0.{dtype}", array))
    bits = bf16(ramp(3, 5))
    writer.add_tensor("blk.0.bfloat16", bits, raw_shape=(3, 5), raw_dtype=GGMLQuantizationType.BF16)
    tensors.append(entry("blk.0.bfloat16", bits, "BF16"))
    for key, array in (("vector", ramp(7)), ("one", ramp(1)), ("deep", ramp(2, 3, 1, 2))):
        writer.add_tensor(key, array)
        tensors.append(entry(key, array))
    finish(writer)
    expect(name, tensors)


def metadata(name):
    writer = begin(name)
    for key, value, kind in METADATA:
        writer.add_key_value(key, value, kind)
    writer.add_tensor("weight", ramp(2, 3))
    finish(writer)
    expect(name, [entry("weight", ramp(2, 3))], [(key, value) for key, value, _ in METADATA])


def alignment(name, bytes_):
    writer = begin(name)
    writer.add_custom_alignment(bytes_)
    for key, array in (("a", ramp(3, dtype="int8")), ("b", ramp(2, 2)), ("c", ramp(5, dtype="float16"))):
        writer.add_tensor(key, array)
    finish(writer)
    tensors = [entry("a", ramp(3, dtype="int8")), entry("b", ramp(2, 2)), entry("c", ramp(5, dtype="float16"))]
    expect(name, tensors, [("general.alignment", bytes_)])


# The bytes of a block at which each type has its scales, in float16.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "NVFP4": []}


def quantized(name):
    """Blocks of random bits, with finite scales; tensors of other types can be listed, but not read."""
    random = np.random.default_rng(40)
    writer = begin(name)
    tensors, listed = [], []
    for kind in GGMLQuantizationType:
        if kind.name not in [*SCALES, "TQ1_0", "IQ2_XXS"]:
            continue
        elements, block_bytes = GGML_QUANT_SIZES[kind]
        columns = max(64, elements)
        blocks = random.integers(0, 256, (3 * columns // elements, block_bytes), dtype="uint8")
        for position in SCALES.get(kind.name, []):
            scales = random.normal(size=len(blocks)).astype("float16")
            blocks[:, position:position + 2] = scales.view("uint8").reshape(-1, 2)
        rows = blocks.reshape(3, -1)
        key = f"{kind.name}.weight"
        writer.add_tensor(key, rows, raw_dtype=kind)
        if kind.name in SCALES:
            tensors.append(entry(key, dequantize(rows, kind)))
        else:
            listed.append({"key": key, "type": kind.name, "shape": [3, columns], "bytes": rows.nbytes})
    writer.add_tensor("norm.weight", ramp(3))
    finish(writer)
    expect(name, [*tensors, entry("norm.weight", ramp(3))], quantized=listed)


def big_endian(name):
    writer = begin(name, endianess=GGUFEndian.BIG)
    writer.add_tensor("weight", ramp(2, 3))
    finish(writer)
    write_expected(path_of(name), refuse("big endian", **WRITER))


def without_tensors(name):
    writer = begin(name)
    finish(writer)
    expect(name, [])


def split(name):
    """A model in several files. Only the first has the metadata."""
    os.makedirs(path_of(name), exist_ok=True)
    writer = begin(os.path.join(name, "model.gguf"), split_max_tensors=2)
    arrays = {f"blk.{layer}.weight": ramp(2, 3, first=10 * layer) for layer in range(3)}
    for key, array in arrays.items():
        writer.add_tensor(key, array)
    finish(writer)
    expect(name, [entry(key, array) for key, array in arrays.items()])


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    types("types.gguf")
    metadata("metadata.gguf")
    alignment("alignment_8.gguf", 8)
    alignment("alignment_64.gguf", 64)
    quantized("quantized.gguf")
    big_endian("big_endian.gguf")
    without_tensors("without_tensors.gguf")
    split("split")


main()
