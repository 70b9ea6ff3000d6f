#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes safetensors files for the tests of the tool, without the library.

    write_safetensors.py FILE '{"w": {"dtype": "F32", "shape": [2, 3]}}'

Element values are global row-major indices, plus `base` where it is given. A tensor with `offset` and
`global` is a part; then the file says where its parts lie, as torch does, and with their global shapes
unless a part has `"stated": false`.
"""

import itertools
import json
import struct
import sys


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
    header, data, saved, ours = {}, b"", {}, {}
    for name, tensor in tensors.items():
        part = b"".join(elements(tensor))
        header[name] = {"dtype": tensor["dtype"], "shape": tensor["shape"],
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
        if "offset" in tensor:
            saved[name] = {"saved_offsets": tensor["offset"]}
            if tensor.get("stated", True):
                ours[name] = {"shape": tensor["global"]}
    if saved:
        header["__metadata__"] = {"format": "pt", "DCP_VERSION": "1.0",
                                  "DCP_SHARDING_INFO": json.dumps(saved), "RESHARD": json.dumps(ours)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


main(sys.argv[1], json.loads(sys.argv[2]))
