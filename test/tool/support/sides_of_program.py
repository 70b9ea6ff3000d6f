#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes the tensors that the first lines of a program name as two layout files.

    sides_of_program.py PROGRAM SOURCE.json TARGET.json

A line is `#! source KEY DTYPE SHAPE [PARTS]`; `{0:4}` in a key stands for each of these numbers. Part i of
a tensor is that of rank i.
"""

import itertools
import json
import re
import sys

CODES = {"bfloat16": "BF16", "float32": "F32", "float16": "F16", "float8_e4m3fn": "F8_E4M3"}


def keys_of(pattern):
    ranges = re.findall(r"\{(\d+):(\d+)\}", pattern)
    for numbers in itertools.product(*(range(int(a), int(b)) for a, b in ranges)):
        key = pattern
        for number in numbers:
            key = re.sub(r"\{\d+:\d+\}", str(number), key, count=1)
        yield key


def shards_of(shape, parts):
    extents = [n // p for n, p in zip(shape, parts)]
    for rank, at in enumerate(itertools.product(*map(range, parts))):
        yield {"rank": rank, "offset": [i * n for i, n in zip(at, extents)], "shape": extents}


def main(program, source, target):
    sides = {"source": {}, "target": {}}
    with open(program, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[:1] != ["#!"] or words[1] not in sides or len(words) < 5:
                continue
            shape = [int(n) for n in words[4].split(",")]
            parts = [int(n) for n in words[5].split(",")] if len(words) > 5 else [1] * len(shape)
            for key in keys_of(words[2]):
                sides[words[1]][key] = {"dtype": CODES[words[3]], "shape": shape, "shards": list(shards_of(shape, parts))}
    for side, path in (("source", source), ("target", target)):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tensors": sides[side]}, file)


main(*sys.argv[1:])
