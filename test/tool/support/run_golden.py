#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs the commands of a golden file and compares all that they print.

    run_golden.py FILE TOOL            exits with 1, and shows the difference, if anything differs
    run_golden.py FILE TOOL --write    writes what the commands print into FILE; review it with `git diff`

A golden file has the form of cram's tests. A line without indentation is a comment. An indented line that begins
with `$` is a command, `>` continues it, and the lines below are its results:

      $ reshard diff before after
      'w': the shapes are [4, 6] and [4, 7]
      ! note: ...
      [1]

A line of standard output has no prefix, one of standard error has `! `, and `[1]` is an exit status other than 0. A line
that is repeated is shown once; empty lines and times are omitted. All commands of a file run in one bash, in an empty
directory, after support/common.bash, which has the functions that they call. What `report` prints is never right.
"""

import difflib
import itertools
import os
import re
import subprocess
import sys
import tempfile

INDENT = "  "
TIMES = re.compile(r"[\d.,]+ (bytes|[kMG]?B) in [\d.]+ s, [\d.]+ [kMG]?B/s|planned in .* of memory")


def parse(text):
    """Comments as texts, commands as lists of lines, in order; without the expected results."""
    parts = []
    for line in text.splitlines():
        mark, _, rest = line.removeprefix(INDENT).partition(" ")
        if not line.startswith(INDENT):
            parts.append(line)
        elif mark == "$":
            parts.append([rest])
        elif mark == ">":
            parts[-1].append(rest)
    return parts


def script(commands, directory):
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines = [f"here={here}", f"source {here}/support/common.bash", "set -E -o pipefail", "trap 'echo \"[$?]\" >&2' ERR"]
    for number, command in enumerate(commands):
        lines += ["{", *command, f"}} >{directory}/{number}.out 2>{directory}/{number}.err </dev/null"]
    return "\n".join([*lines, f'echo "$work" >{directory}/work', ""])


def read(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def results(directory, number, work):
    """The lines that belong below a command."""
    def lines(name, prefix):
        text = read(f"{directory}/{number}.{name}").replace(work, "WORK").replace(os.environ["RESHARD_TEST_DATA"], "DATA")
        text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
        for line, equal in itertools.groupby(line for line in text.splitlines() if line and not TIMES.fullmatch(line)):
            is_status = prefix and re.fullmatch(r"\[\d+\]", line)
            count = len(list(equal))
            times = f" ({count} times)" if count > 1 else ""
            yield f"{INDENT}{'' if is_status else prefix}{line}".rstrip() + times

    return [*lines("out", ""), *lines("err", "! ")]


def main(path, tool, *options):
    text = read(path)
    parts = parse(text)
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.setdefault("RESHARD_TEST_DATA", os.path.join(os.path.dirname(os.path.abspath(path)), "../data"))
    with tempfile.TemporaryDirectory() as directory:
        commands = [part for part in parts if isinstance(part, list)]
        with open(f"{directory}/script", "w", encoding="utf-8") as file:
            file.write(script(commands, directory))
        ended = subprocess.run(["bash", f"{directory}/script", tool], check=False)
        if not os.path.exists(f"{directory}/work"):
            sys.exit(f"{path}: the commands ended early, with {ended.returncode}")
        work, number, now = read(f"{directory}/work").strip(), 0, []
        for part in parts:
            if isinstance(part, str):
                now.append(part)
                continue
            now += [f"{INDENT}{'>' if i else '$'} {line}".rstrip() for i, line in enumerate(part)]
            now += results(directory, number, work)
            number += 1
    now = "\n".join(now) + "\n"
    if "--write" in options:
        with open(path, "w", encoding="utf-8") as file:
            file.write(now)
        return
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), now.splitlines(True), path, "now"))
    print(f"{number} commands")
    sys.exit(text != now or "  FAILED: " in now)


main(*sys.argv[1:])
