#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes and reads safetensors files for the tests, without the library.

    write_safetensors.py FILE '{"w": {"dtype": "F32", "shape": [2, 3]}}'

Element values are global row-major indices, plus `base` where it is given. A tensor with `offset` and
`global` is a part; then the file says where its parts lie, as torch does, and with their global shapes
unless a part has `"stated": false`. Other scripts use `write` and `read`.
"""

import itertools
import json
import struct
import sys


def write(path, tensors, metadata=None, alignment=1):
    """tensors: data type, shape and bytes of each key."""
    header, data = {}, []
    place = 0
    for key, (dtype, shape, content) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(content)]}
        data.append(content)
        place += len(content)
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % alignment)
    with open(path, "wb") as file:
        file.write(b"".join([struct.pack("<Q", len(text)), text, *data]))


def read(path):
    """Data type, shape and bytes of each key."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {key: (one["dtype"], one["shape"], data[slice(*one["data_offsets"])]) for key, one in header.items()}


def pack(dtype, value):
    if dtype == "BF16":
        return struct.pack("<f", value)[2:]
    if dtype in ("U8", "F8_E4M3"):
        return bytes([value % 256])
    return struct.pack({"F16": "<e", "F32": "<f", "F64": "<d", "I32": "<i", "I64": "<q"}[dtype], value)


def elements(tensor):
    shape = tensor["shape"]
    offset = tensor.get("offset", [0] * len(shape))
    whole = tensor.get("global", shape)
    for index in itertools.product(*map(range, shape)):
        number = 0
        for i, o, n in zip(index, offset, whole):
            number = number * n + i + o
        yield pack(tensor["dtype"], number + tensor.get("base", 0))


def main(path, tensors):
    saved, ours = {}, {}
    for name, tensor in tensors.items():
        if "offset" in tensor:
            saved[name] = {"saved_offsets": tensor["offset"]}
            if tensor.get("stated", True):
                ours[name] = {"shape": tensor["global"]}
    write(path, {name: (tensor["dtype"], tensor["shape"], b"".join(elements(tensor))) for name, tensor in tensors.items()},
          {"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(saved), "RESHARD": json.dumps(ours)} if saved else None,
          alignment=8)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
