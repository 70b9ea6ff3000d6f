#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes the files of safetensors-cases.jsonl, and a list of their names and verdicts.

    write_case.py CASES DIRECTORY     prints a line a case: NAME ok, or NAME and the class of the error
"""

import json
import pathlib
import struct
import sys


def contents(case):
    if "file_hex" in case:
        return bytes.fromhex(case["file_hex"])
    header = bytes.fromhex(case["hdr_hex"]) if "hdr_hex" in case else case["hdr"].encode()
    data = bytes(case.get("zeros", 0)) + bytes.fromhex(case.get("data_hex", ""))
    return struct.pack("<Q", case.get("n", len(header))) + header + data


for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    pathlib.Path(sys.argv[2], case["name"] + ".safetensors").write_bytes(contents(case))
    print(case["name"], case.get("err", "ok"))
