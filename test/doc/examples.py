#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs the examples as doc/examples.md says, and compares what they print with what stands there.

    examples.py ROOT DIRECTORY    the programs are in DIRECTORY; RESHARD_MPIEXEC is what mpiexec is called like here
    examples.py --self-test

Commands with `&` between them run together. Lines of programs that run together may come in any order, and how much memory was measured may differ.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

MEASURED = re.compile(r"\d+(?= MiB beyond)")


def runs_of(page):
    """The commands of a page, in order, each with the lines that it prints."""
    runs = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                runs.append((line[2:], []))
            else:
                runs[-1][1].append(line)
    return runs


def difference(command, expected, printed):
    """What is wrong with what a command printed, or None."""
    if sorted(MEASURED.sub("N", line) for line in expected) == sorted(MEASURED.sub("N", line) for line in printed):
        return None
    return "\n".join([f"{command}", "the page says:", *expected, "it printed:", *printed])


def findings(root, directory):
    page = (root / "doc" / "examples.md").read_text()
    runs = runs_of(page)
    with tempfile.TemporaryDirectory() as work:
        # Some write into the directory for temporary files, where the tests of the same programs may do so now.
        environment = dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}", TMPDIR=work)
        for command, expected in runs:
            started = [subprocess.Popen(one.replace("mpiexec ", os.environ["RESHARD_MPIEXEC"] + " ", 1).split(),
                                        cwd=work, env=environment, stdout=subprocess.PIPE, text=True)
                       for one in command.split(" & ")]
            printed = [line for one in started for line in one.communicate()[0].splitlines()]
            if status := max(one.returncode for one in started):
                yield f"{command}: ended with {status}"
            elif wrong := difference(command, expected, printed):
                yield wrong
    shown = " ".join(command for command, _ in runs)
    for source in sorted((root / "example").glob("*.cpp")):
        if source.stem not in shown:
            yield f"doc/examples.md does not run {source.name}"


def self_test():
    page = "```console\n$ a -n 2\nx\ny\n$ b\n```\n\n```sh\n$ c\n```\n"
    assert runs_of(page) == [("a -n 2", ["x", "y"]), ("b", [])]
    assert difference("a", ["x", "y"], ["y", "x"]) is None
    assert difference("a", ["needed 8 MiB beyond"], ["needed 12 MiB beyond"]) is None
    assert "it printed:\nz" in difference("a", ["x"], ["z"])
    assert difference("a", ["8 MiB of"], ["9 MiB of"])
    print("5 cases are judged as they should be")


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) != 2:
        print(__doc__)
        return 2
    found = list(findings(pathlib.Path(arguments[0]), arguments[1]))
    for line in found:
        print(line)
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
