#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Files of numpy.save and numpy.savez, with what is in them.

    python3 make_npy.py npy      (NumPy 1.24 or later; the directory is made)
"""

import os
import sys

import numpy as np

from golden import CODES, refuse, tensor_entry, write_expected

DIRECTORY = sys.argv[1]
WRITER = {"writer": "numpy " + np.__version__}


def ramp(*shape, dtype="float32", first=0):
    """Elements are their own numbers, from `first`."""
    count = 1
    for extent in shape:
        count *= extent
    return np.arange(first, first + count).reshape(shape).astype(dtype)


def path_of(name):
    return os.path.join(DIRECTORY, name)


def entry(key, array):
    data = np.asarray(array, order="C").astype(array.dtype.newbyteorder("<")).tobytes()
    return tensor_entry(key, None, CODES[array.dtype.name], array.shape, data)


def save(name, array):
    """A file of one array, whose key is the file's name without its ending."""
    np.save(path_of(name), array)
    write_expected(path_of(name), {**WRITER, "tensors": [entry(name.removesuffix(".npy"), array)], "aliases": [], "objects": []})


def save_refused(name, array, reason):
    np.save(path_of(name), array, allow_pickle=True)
    write_expected(path_of(name), refuse(reason, **WRITER))


def save_version(name, array, version):
    with open(path_of(name), "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    write_expected(path_of(name), {**WRITER, "tensors": [entry(name.removesuffix(".npy"), array)], "aliases": [], "objects": []})


def save_npz(name, arrays, writer=np.savez):
    writer(path_of(name), **arrays)
    tensors = [entry(key, array) for key, array in arrays.items()]
    write_expected(path_of(name), {**WRITER, "tensors": tensors, "aliases": [], "objects": []})


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"):
        save(f"{name}.npy", ramp(2, 3, dtype=name, first=0 if name.startswith("u") else -2))
    save("bool.npy", np.array([[True, False, True]]))
    save("complex64.npy", (ramp(3) - 1j * ramp(3)).astype("complex64"))
    save("complex128.npy", np.array([1j]))
    save("fortran.npy", np.asfortranarray(ramp(2, 3, 4)))
    save("fortran_vector.npy", np.asfortranarray(ramp(3)))
    save("transposed.npy", ramp(3, 2).T)
    save("strided.npy", ramp(4, 6)[::2, ::3])
    save("scalar.npy", np.array(1.5))
    save("empty.npy", np.zeros((0, 3), "float32"))
    save("fortran_empty.npy", np.asfortranarray(np.zeros((2, 0, 3), "int16")))
    save_refused("long_shape.npy", ramp(*[1] * 31, 2), "32 axes")
    save("big_axis.npy", np.zeros((1 << 40, 0), "int8"))
    save_version("version2.npy", ramp(2, 2), (2, 0))
    save_version("version3.npy", ramp(2, 2), (3, 0))
    save_npz("stored.npz", {"weight": ramp(2, 3), "fortran": np.asfortranarray(ramp(2, 3)), "scalar": np.array(-3), "model.layers.0/w": ramp(2),
                            "ünïcode": ramp(1, first=9), "empty": np.zeros(0, "float16")})
    save_npz("none.npz", {})
    save_npz("deflated.npz", {"weight": ramp(2, 3)}, np.savez_compressed)
    save_refused("big_endian.npy", ramp(2, 3).astype(">f4"), "descr >f4")
    save_refused("structured.npy", np.zeros(2, [("a", "<i4"), ("b", "<f4")]), "descr [('a', '<i4'), ('b', '<f4')]")
    save_refused("object.npy", np.array([None, "x"], dtype=object), "descr |O")
    np.save(path_of("string.npy"), np.array(["ab", "c"]))
    write_expected(path_of("string.npy"), {**WRITER, "tensors": [], "aliases": [], "objects": [{"key": "string", "repr": "['ab', 'c']"}]})
    save_refused("void.npy", ramp(2, dtype="uint16").view("V2"), "descr |V2")
    save_refused("datetime.npy", np.array(["2026-01-01"], "datetime64[D]"), "descr <M8[D]")


main()
