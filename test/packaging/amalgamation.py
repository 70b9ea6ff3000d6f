# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Whether headers that packaging/amalgamate.py makes one file of compile, without the others, and whether two units of
them link:  amalgamation.py ROOT COMPILER
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, COMPILER = Path(sys.argv[1]).resolve(), sys.argv[2]
SCRIPT = [sys.executable, "-B", str(ROOT / "packaging/amalgamate.py")]


def checked(command, **options):
    return subprocess.run(command, check=True, text=True, **options)


def made(*headers):
    return checked([*SCRIPT, *headers], stdout=subprocess.PIPE).stdout


refused = subprocess.run([*SCRIPT, "reshard/nothing.hpp"], capture_output=True, text=True)
assert refused.returncode == 1 and "no include/reshard/nothing.hpp" in refused.stderr, refused
assert refused.stdout == ""

text = made("reshard.hpp", "reshard/aoa.hpp")
assert text == made("reshard.hpp", "reshard/aoa.hpp"), "the same headers make two different files"
assert not re.search(r"^\s*#\s*include\s*<reshard", text, re.MULTILINE), "an include of the library is left"

with tempfile.TemporaryDirectory() as directory:
    work = Path(directory)
    (work / "reshard.hpp").write_text(text)
    checked([COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-iquote", directory, "-c",
             str(ROOT / "test/packaging/amalgamated.cpp"), "-o", "unit.o"], cwd=work)
    (work / "again.o").write_bytes((work / "unit.o").read_bytes())
    checked([COMPILER, "unit.o", "again.o", "-o", "amalgamated"], cwd=work)
    printed = checked([work / "amalgamated"], stdout=subprocess.PIPE).stdout
    assert printed == "q, k -> qk, axis=1\nqk -> qk^T\n", printed
