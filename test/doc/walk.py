#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Compares the walk of doc/architecture.md with a trace of the call that it describes.

    walk.py ROOT PROGRAM    runs PROGRAM, walk.cpp, on two ranks; each function of the table must be entered, in the
                            order of the table, and be in the file that the table names; the counts under the table
                            are right within 5 %; exit 1 if not
    walk.py --self-test     shows that a wrong order, a function that is not entered and a wrong file are found

RESHARD_MPIEXEC is the command that starts ranks.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from judged import misjudged  # noqa: E402

ROW = re.compile(r"^\| (\d+) \| \w+ \| `([\w:]+)` \| `([\w/.]+)` \|", re.MULTILINE)
COUNT = re.compile(r"enters (\d+) functions\s+of\s+the\s+library,\s+in\s+(\d+)\s+files")


def without_arguments(function):
    """`a::b<c>::d(e)` as `a::b::d`."""
    while "<" in function:
        shorter = re.sub(r"<[^<>]*>", "", function)
        if shorter == function:
            break
        function = shorter
    return function.split("(")[0].split(" ")[-1]


def trace(program):
    """Name and file of each function, in the order in which one rank enters them. Vectors are left out, as those of the
    standard library would be."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "addresses")
        subprocess.run([*os.environ["RESHARD_MPIEXEC"].split(), "-n", "2", program, str(file)], check=True,
                       env=os.environ | {"RESHARD_RANKS_PER_NODE": "1"})
        lines = subprocess.run(["addr2line", "-Cfe", program], input=file.read_text(), text=True, check=True,
                               capture_output=True).stdout.splitlines()
    places = [place.split("include/reshard/")[-1].split(":")[0] for place in lines[1::2]]
    entered = zip(map(without_arguments, lines[::2]), places)
    return [(name, place) for name, place in entered if place != "core/vector.hpp"]


def is_special(function):
    """True for constructors, destructors and assignments, which the compiler makes."""
    names = function.split("::")
    return names[-1].startswith(("~", "operator=")) or names[-1:] == names[-2:-1]


def problems(page, entered):
    """What is wrong with the page, a line each."""
    last = -1
    for number, name, file in ROW.findall(page):
        entries = [i for i, (function, _) in enumerate(entered) if ("::" + function).endswith("::" + name)]
        if not entries:
            yield f"stage {number}: {name} is not entered"
            continue
        at = next((i for i in entries if entered[i][1] == file), None)
        if at is None:
            yield f"stage {number}: {name} is in {entered[entries[0]][1]}, not in {file}"
            continue
        if at < last:
            yield f"stage {number}: {name} is entered before the stage above it"
        last = max(last, at)
    named = {function for function, _ in entered if not is_special(function)}
    files = {file for _, file in entered}
    stated = COUNT.search(page)
    if not stated or any(abs(int(n) - real) > real // 20 for n, real in zip(stated.groups(), (len(named), len(files)))):
        yield (f"the call enters {len(named)} functions of the library, in {len(files)} files; "
               f"the page states {stated[0] if stated else 'nothing'}")


def self_test():
    page = ("| 1 | a | `b::c` | `a/b.hpp` | x |\n| 2 | a | `d` | `a/d.hpp` | x |\n"
            "It enters 2 functions of the library, in 2 files.\n")
    first, made, second, other = "n::b::c a/b.hpp\n", "n::b::b a/b.hpp\n", "n::d a/d.hpp\n", "n::e a/d.hpp\n"
    cases = [
        ({"page": page, "trace": first + made + second}, None),
        ({"page": page, "trace": second + first}, "stage 2: d is entered before"),
        ({"page": page, "trace": first + other}, "stage 2: d is not entered"),
        ({"page": page, "trace": first + "n::d a/b.hpp\n"}, "stage 2: d is in a/b.hpp, not in a/d.hpp"),
        ({"page": page, "trace": first + second + other}, "enters 3 functions"),
    ]
    return misjudged(cases, lambda root: problems(
        (root / "page").read_text(), [tuple(line.split()) for line in (root / "trace").read_text().splitlines()]))


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root, program = arguments
    page = pathlib.Path(root, "doc/architecture.md").read_text(encoding="utf-8")
    wrong = list(problems(page, trace(program)))
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
