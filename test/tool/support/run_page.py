#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Prints a page with the output of its commands as it is now.

    run_page.py PAGE TOOL     RESHARD_MPIEXEC has the start of an MPI command line

Commands are the lines that begin with `$ ` in blocks of ```console; they run in one empty directory.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# What mpiexec adds when a program ends with an error is left out.
MPIEXEC = """#!/bin/bash
%s "$@" 2>&1 </dev/null | grep -v -e '^$' -e '^--*$' -e '^Primary job' -e '^a non-zero exit code' \
    -e '^mpiexec detected' -e '^the job to be terminated' -e 'Process name:' -e 'Exit code:'
exit "${PIPESTATUS[0]}"
"""


def run(command, directory, tools):
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run(["bash", "-c", command], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                          stdin=subprocess.DEVNULL, check=False).stdout


def page_now(lines, directory, tools):
    in_console = False
    for line in lines:
        is_command = in_console and line.startswith("$ ")
        if line.startswith("```"):
            in_console = line == "```console"
        if not in_console or is_command or line.startswith("```"):
            yield line
        if is_command:
            yield from run(line[2:], directory, tools).splitlines()


def main(page, tool):
    with tempfile.TemporaryDirectory() as place:
        directory, tools = pathlib.Path(place, "work"), pathlib.Path(place, "bin")
        directory.mkdir()
        tools.mkdir()
        (tools / "reshard").symlink_to(pathlib.Path(tool).resolve())
        starter, _, options = os.environ["RESHARD_MPIEXEC"].partition(" ")
        (tools / "mpiexec").write_text(MPIEXEC % f"{shutil.which(starter)} {options}")
        (tools / "mpiexec").chmod(0o755)
        lines = pathlib.Path(page).read_text(encoding="utf-8").splitlines()
        for line in page_now(lines, directory, tools):
            print(line)


main(sys.argv[1], sys.argv[2])
