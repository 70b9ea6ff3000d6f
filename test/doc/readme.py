#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs the README's example as it stands there: its two files, then its commands.

    readme.py ROOT TOOL

The commands that begin with the tool or with mpiexec are run, those that build it are not. RESHARD_MPIEXEC
is what mpiexec is called like here.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def example(readme):
    return readme.partition("\n## An example\n")[2].partition("\n## ")[0]


def files_of(text):
    """The quoted files, by their last name."""
    found = re.findall(r"<!-- from: (?:\S+/)?([\w.]+) -->\n```\w*\n(.*?)\n```", text, re.DOTALL)
    return {name: content + "\n" for name, content in found}


def commands_of(text):
    shell = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)[1].replace("\\\n", " ")
    return [line for line in shell.split("\n") if re.match(r"(reshard|mpiexec) ", line)]


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    text = example((pathlib.Path(arguments[0]) / "README.md").read_text())
    files, commands = files_of(text), commands_of(text)
    if len(files) != 2 or len(commands) != 4:
        print(f"README.md: two files and four commands are expected, not {sorted(files)} and {commands}")
        return 1
    environment = dict(os.environ)
    environment["PATH"] = str(pathlib.Path(arguments[1]).resolve().parent) + ":" + environment["PATH"]
    launcher = os.environ.get("RESHARD_MPIEXEC", "mpiexec --oversubscribe")
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            (pathlib.Path(directory) / name).write_text(content)
        for command in commands:
            run = subprocess.run(command.replace("mpiexec --oversubscribe", launcher), shell=True, text=True,
                                 cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            print(f"$ {command}\n{run.stdout}")
            if run.returncode != 0:
                print(f"README.md: exit status {run.returncode}")
                return 1
            if re.search(r"warning:|no rule", run.stdout):
                print("README.md: the example of a first reader gives no warnings")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
