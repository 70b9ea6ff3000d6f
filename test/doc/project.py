#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs example/project as its README says, compares what is printed with what stands there, and with the picture of it.

    project.py ROOT BUILD TOOL    with what BUILD installs; RESHARD_MPIEXEC has the start of an MPI command line
    project.py --write ROOT BUILD TOOL    first writes what is printed into the README, and draws the picture
"""

import difflib
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RUN_PAGE = pathlib.Path(__file__).resolve().parents[1] / "tool" / "support" / "run_page.py"
LINE, COLUMN, MARGIN = 18, 7.9, 16


def printed(page, root, build, tool):
    """The page with the output of its commands as it is now."""
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", build, "--component", "reshard_development", "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        environment = dict(os.environ, RESHARD=str(root), PREFIX=prefix)
        environment.pop("CMAKE_GENERATOR", None)
        return subprocess.run([sys.executable, "-B", RUN_PAGE, page, tool], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout


def picture(text):
    """The commands and output of a page as an SVG, dark, on pages of either colour."""
    lines = re.search(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1].splitlines()
    width = round(max(map(len, lines)) * COLUMN + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        colour = "#7ee787" if line.startswith("$ ") else "#c9d1d9"
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * number + 13}" fill="{colour}">{html.escape(line)}</text>\n')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" '
            'xml:space="preserve">\n<title id="title">A project of its own, built and run in a terminal</title>\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n{"".join(rows)}</svg>\n')


def main(arguments):
    writes = arguments[:1] == ["--write"]
    if len(arguments[writes:]) != 3:
        print(__doc__)
        return 2
    root, build, tool = (pathlib.Path(argument).resolve() for argument in arguments[writes:])
    page, drawn = root / "example/project/README.md", root / "doc/images/project.svg"
    now = printed(page, root, build, tool)
    expected = {page: now, drawn: picture(now)}
    differs = False
    for path, text in expected.items():
        if writes:
            path.write_text(text)
        if path.read_text() != text:
            differs = True
            sys.stdout.writelines(difflib.unified_diff(path.read_text().splitlines(True), text.splitlines(True), str(path), "now"))
    if differs:
        print("project.py --write puts what is printed now into both")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
