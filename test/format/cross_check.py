#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checks safetensors files against the package `safetensors` of PyPI, in both directions.

    cross_check.py TOOL     TOOL is the program made of safetensors_tool.cpp
                            exit 0: equal, 1: different, 77: skipped, the package is missing
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as missing:
    print(f"skipped: {missing}; the packages safetensors and numpy are needed")
    sys.exit(77)

SEED = 20240607
DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32",
          "uint64", "int64", "float64", "complex64"]
SHAPES = [(), (1,), (0,), (3,), (2, 3), (4, 0, 2), (2, 1, 3, 2), (1, 2, 1, 2, 1, 2, 1, 2)]
NAMES = ["w", "model.layers.0.weight", "", "q\"uo\\te", "t\tab\n", "\u00e9\u4e2d\U0001f600", "/", "\x7f"]

# What the package's messages begin with, and the name that we give the verdict.
VERDICTS = [
    ("header too small", "HeaderTooSmall"),
    ("header too large", "HeaderTooLarge"),
    ("invalid header length", "InvalidHeaderLength"),
    ("invalid UTF-8 in header", "InvalidHeader"),
    ("invalid JSON in header", "InvalidHeaderDeserialization"),
    ("invalid offset for tensor", "InvalidOffset"),
    ("overflow", "ValidationOverflow"),
    ("The slice is slicing for subbytes dtypes", "MisalignedSlice"),
    ("invalid shape, data type, or offset", "TensorInvalidInfo"),
    ("incomplete metadata", "MetadataIncompleteBuffer"),
]


def random_tensors(random_source):
    tensors = {}
    for name in random_source.sample(NAMES, random_source.randint(0, len(NAMES))):
        dtype = numpy.dtype(random_source.choice(DTYPES))
        shape = random_source.choice(SHAPES)
        count = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
        raw = bytes(random_source.randrange(2 if dtype == bool else 256) for _ in range(count))
        tensors[name] = numpy.frombuffer(raw, dtype=dtype).reshape(shape)
    return tensors


def equal(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes()
        for k in a)


def check_contents(tool, directory):
    """The package writes, we read and write again, the package reads."""
    random_source = random.Random(SEED)
    failures = 0
    for case in range(60):
        tensors = random_tensors(random_source)
        metadata = {"format": "np", "x": "\u00e9\"\n"} if case % 2 else None
        theirs, ours = directory / "theirs.safetensors", directory / "ours.safetensors"
        safetensors.numpy.save_file(tensors, theirs, metadata)
        subprocess.run([tool, "rewrite", theirs, ours], check=True)
        if not equal(safetensors.numpy.load_file(ours), tensors):
            print(f"case {case}: other content in what we wrote of {sorted(tensors)}")
            failures += 1
        with safetensors.safe_open(ours, "numpy") as opened:
            if (opened.metadata() or None) != metadata:
                print(f"case {case}: other metadata: {opened.metadata()}")
                failures += 1
        if metadata is None and ours.read_bytes() != theirs.read_bytes():
            print(f"case {case}: other bytes: {ours.read_bytes()[:200]} {theirs.read_bytes()[:200]}")
            failures += 1
    print(f"60 files written again, {failures} differences")
    return failures


def verdict_of_package(data):
    try:
        safetensors.deserialize(data)
        return "ok"
    except Exception as thrown:  # the package has one class for all
        text = str(thrown).removeprefix("Error while deserializing: ")
        return next((name for begin, name in VERDICTS if text.lower().startswith(begin.lower())), text)


def random_header(random_source):
    """A header that is nearly right."""
    entries, position = [], 0
    for number in range(random_source.randint(0, 3)):
        dtype, bits = random_source.choice([("F32", 32), ("U8", 8), ("I64", 64), ("BF16", 16), ("F4", 4),
                                             ("F6_E3M2", 6)])
        shape = random_source.choice([[], [1], [2, 4], [0], [2, 0]])
        count = bits
        for extent in shape:
            count *= extent
        count //= 8
        entries.append((f"t{number}", {"dtype": dtype, "shape": shape,
                                       "data_offsets": [position, position + count]}))
        position += count
    random_source.shuffle(entries)
    if random_source.random() < 0.4:
        entries.insert(random_source.randint(0, len(entries)), ("__metadata__", {"a": "b", "c": ""}))
    text = json.dumps(dict(entries), separators=random_source.choice([(",", ":"), (", ", ": ")]))
    return text, position


SNIPPETS = ["{", "}", "[", "]", ",", ":", "\"", "0", "1", "-", ".", "e5", "null", "true", "\\u0041",
            "\\", " ", "\n", "\t", "F32", "F4", "\"F6_E2M3\"", "\"t0\"", "\"t1\":", "\"__metadata__\":{},",
            "\"dtype\":\"U8\",", "\"x\":[{\"y\":1.5}],", "18446744073709551615", "18446744073709551616",
            "1e999", "\u00e9", "\x00", "\x01", "\x7f", "\\ud800", "\\ud83d\\ude00", "[\"U8\",[0],[0,0]]"]

NUMBERS = list("01234567890123456789") + ["4611686018427387904", "9223372036854775808", "2,4", "0,2",
                                          "3], \"dtype\": \"F4\", \"y\": [3"]


def random_file(random_source):
    text, position = random_header(random_source)
    for _ in range(random_source.choice([0, 1, 1, 1, 2, 3])):
        place = random_source.randint(0, len(text))
        kind = random_source.random()
        digits = [i for i, c in enumerate(text) if c.isdigit()]
        if kind < 0.35 and digits:
            place = random_source.choice(digits)
            text = text[:place] + random_source.choice(NUMBERS) + text[place + 1:]
        elif kind < 0.6:
            text = text[:place] + random_source.choice(SNIPPETS) + text[place:]
        elif kind < 0.8:
            text = text[:place] + text[place + random_source.randint(1, 4):]
        elif text:
            other = random_source.randint(0, len(text))
            text = text[:place] + text[other:other + random_source.randint(1, 30)] + text[place:]
    header = text.encode()
    if header and random_source.random() < 0.03:
        place = random_source.randrange(len(header))
        header = header[:place] + bytes([random_source.randrange(128, 256)]) + header[place:]
    length = len(header) + random_source.choice([0] * 40 + [1, -1, 8, 10**8, 2**64 - 9 - len(header)])
    position += random_source.choice([0] * 20 + [1, 4, -1])
    data = struct.pack("<Q", max(0, length) % 2**64) + header + bytes(max(0, position))
    return data[:random_source.randint(0, 12)] if random_source.random() < 0.01 else data


def check_verdicts(tool, directory, count):
    """Files that are nearly right: the compatible mode judges as the package does."""
    random_source = random.Random(SEED)
    paths, expected = [], []
    for number in range(count):
        path = directory / f"{number}.safetensors"
        data = random_file(random_source)
        path.write_bytes(data)
        paths.append(path)
        expected.append(verdict_of_package(data))
    (directory / "list").write_text("".join(f"{path}\n" for path in paths))
    judged = subprocess.run([tool, "judge", directory / "list"], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    failures = 0
    for path, ours, theirs in zip(paths, judged, expected, strict=True):
        # Tensors at equal offsets have no order in the package: which one it blames is chance.
        if ours != theirs and ours not in {verdict_of_package(path.read_bytes()) for _ in range(60)}:
            failures += 1
            print(f"we say {ours}, the package says {theirs}: {path.read_bytes()}")
    seen = {verdict: expected.count(verdict) for verdict in sorted(set(expected))}
    print(f"{count} files judged, {failures} differences; {seen}")
    return failures


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print(__doc__)
        return 2
    count = int(arguments[1]) if len(arguments) == 2 else 2000
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        failures = check_contents(arguments[0], directory)
        failures += check_verdicts(arguments[0], directory, count)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
