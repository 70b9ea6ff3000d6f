#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs the README's examples as they stand there, their files and their commands, and draws its picture again.

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


def sections(readme):
    """What stands above the first heading of a section, and the example."""
    first, _, rest = readme.partition("\n## An example\n")
    return first, rest.partition("\n## ")[0]


def files_of(text):
    """The quoted files, by their last name."""
    found = re.findall(r"<!-- from: (?:\S+/)?([\w.]+) -->\n```\w*\n(.*?)\n```", text, re.DOTALL)
    return {name: content + "\n" for name, content in found}


def commands_of(text):
    shell = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)[1].replace("\\\n", " ")
    return [line for line in shell.split("\n") if re.match(r"(reshard|mpiexec) ", line)]


def refusal(commands, directory, environment):
    """What is wrong with the first command that fails or warns, or None."""
    launcher = os.environ.get("RESHARD_MPIEXEC", "mpiexec --oversubscribe")
    for command in commands:
        run = subprocess.run(command.replace("mpiexec --oversubscribe", launcher), shell=True, text=True,
                             cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(f"$ {command}\n{run.stdout}")
        if run.returncode != 0:
            return f"exit status {run.returncode}"
        if re.search(r"warning:|no rule", run.stdout):
            return "the example of a first reader gives no warnings"
    return None


def finding(root, directory, environment):
    first, example = sections((root / "README.md").read_text())
    files = files_of(first) | files_of(example)
    commands, first_commands = commands_of(example), commands_of(first)
    if len(files) != 3 or len(commands) != 4 or len(first_commands) != 2:
        return f"three files, four and two commands are expected, not {sorted(files)}, {commands}, {first_commands}"
    for name, content in files.items():
        (directory / name).write_text(content)
    layout = root / "test" / "data" / "layouts" / "pp2_tp3.json"
    made_before = f"reshard convert smollm2 six --layout {layout}"
    if wrong := refusal([*commands, made_before, *first_commands], directory, environment):
        return wrong
    if (directory / "plan.svg").read_bytes() != (root / "doc" / "images" / "plan.svg").read_bytes():
        return "the tool draws another doc/images/plan.svg"
    return None


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    environment = dict(os.environ)
    environment["PATH"] = str(pathlib.Path(arguments[1]).resolve().parent) + ":" + environment["PATH"]
    with tempfile.TemporaryDirectory() as directory:
        wrong = finding(pathlib.Path(arguments[0]).resolve(), pathlib.Path(directory), environment)
    if wrong:
        print(f"README.md: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
