#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Compares the binary interface of the C library with the list of what was released.

    abi.py LIST LIBRARY PROGRAM    PROGRAM prints sizes, offsets and numbers

A line that is missing breaks programs that were compiled before; a line that is new belongs into the list.
"""

import subprocess
import sys


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # What is absolute (A) is the name of the version, which some linkers list.
    return [f"{kind} {name}" for _, kind, name in map(str.split, lines.splitlines()) if kind != "A"]


def main(path, library, program):
    with open(path, encoding="utf-8") as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = {*exported(library), *printed.splitlines()}
    for line in sorted(listed - found):
        print(f"missing: {line}")
    for line in sorted(found - listed):
        print(f"not in {path}: {line}")
    return listed != found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
