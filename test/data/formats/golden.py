#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What the scripts beside this file share: how expected values are written down.

`NAME.expected.json` says what a reader has to find in the checkpoint NAME (a file or a directory beside it). Its values come from
the tensors in memory, before they are saved.
"""

import json
import socket

CODES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
         "float8_e8m0fnu": "F8_E8M0", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
         "int16": "I16", "uint16": "U16", "float16": "F16", "bfloat16": "BF16", "int32": "I32", "uint32": "U32",
         "float32": "F32", "complex64": "C64", "float64": "F64", "int64": "I64", "uint64": "U64", "complex128": "C128"}


def free_ports(count):
    """Ports at which processes of a case meet."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def torch_code(dtype):
    return CODES[str(dtype).split(".")[-1]]


def torch_bytes(tensor):
    """The elements in row-major order, little endian."""
    import torch
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if flat.numel() == 0:
        return b""
    return flat.view(torch.uint8).numpy().tobytes()


def torch_view(tensor):
    """Equal for tensors that are one: the same elements of the same memory in the same order."""
    return (tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else tensor.storage()._cdata,
            tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()), str(tensor.dtype),
            tensor.is_conj(), tensor.is_neg())


def has_tensor(value, is_tensor):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return is_tensor(value) or any(has_tensor(item, is_tensor) for item in items)


def is_entered(value, is_tensor):
    """Dicts are; lists of anything that is entered or a tensor; tuples that have a tensor somewhere."""
    if isinstance(value, dict):
        return True
    if isinstance(value, list):
        return any(is_tensor(item) or is_entered(item, is_tensor) for item in value)
    return isinstance(value, tuple) and has_tensor(value, is_tensor)


def leaves(value, is_tensor, path=()):
    """Pairs of path and value of what is not entered."""
    if not is_entered(value, is_tensor):
        yield path, value
        return
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, is_tensor, path + (step,))


def dotted(path):
    return ".".join(str(step) for step in path)


def tensor_entry(key, path, code, shape, data):
    entry = {"key": key}
    if path is not None:
        entry["path"] = list(path)
    return {**entry, "dtype": code, "shape": list(shape), "bytes": data.hex()}


def is_torch_tensor(value):
    import torch
    return isinstance(value, torch.Tensor)


def check_torch_agrees(value):
    """That torch itself takes a state dict apart in this way. Until 2.3 it did not, and tuples are one value to it."""
    try:
        from torch.distributed.checkpoint._traverse import traverse_state_dict_v_2_3  # there is a newer one
    except ImportError:
        return
    from torch.distributed.checkpoint._nested_dict import flatten_state_dict
    if isinstance(value, dict) and not enters_tuples(value):
        names, found = list(flatten_state_dict(value)[0]), [dotted(path) for path, _ in leaves(value, is_torch_tensor)]
        assert names == found, (names, found)


def enters_tuples(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, tuple) and has_tensor(value, is_torch_tensor) or any(enters_tuples(item) for item in items)


def expect_torch(value, **more):
    """What is in nested containers of tensors and objects."""
    tensors, objects, views = [], [], {}
    check_torch_agrees(value)
    for path, leaf in leaves(value, is_torch_tensor):
        if is_torch_tensor(leaf):
            tensors.append(tensor_entry(dotted(path), path, torch_code(leaf.dtype), leaf.shape, torch_bytes(leaf)))
            views.setdefault(torch_view(leaf), []).append(dotted(path))
        else:
            objects.append({"key": dotted(path), "path": list(path), "repr": repr(leaf)})
    # Empty tensors have no elements that they could share.
    empty = {entry["key"] for entry in tensors if 0 in entry["shape"]}
    aliases = [names for names in views.values() if len(names) > 1 and names[0] not in empty]
    return {**more, "tensors": tensors, "aliases": aliases, "objects": objects}


def refuse(reason, **more):
    """What must not be read, and why."""
    return {**more, "refused": reason}


def write_expected(checkpoint, expected):
    """One tensor or object a line, so that differences can be read."""
    lines = []
    for name, value in expected.items():
        if isinstance(value, list) and value:
            items = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f"{json.dumps(name)}: [\n  {items}]")
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps(value)}")
    with open(f"{checkpoint}.expected.json", "w") as file:
        file.write("{" + ",\n ".join(lines) + "}\n")
