#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes headers of the library, and all that they include of it, as one file, for Compiler Explorer and the like.

    amalgamate.py [HEADER...] > reshard.hpp      by default reshard.hpp

The headers are named as in an #include: reshard.hpp, reshard/aoa.hpp. The file is header-only, and includes the standard
library and Boost as they do. A file with an include guard stands in it once, one without each time that it is included.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LICENSE_LINE = "// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.\n"
DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif|include)\b\s*(.*)")
OWN = re.compile(r"<(reshard(?:\.hpp|/[\w/.]+))>")


class Amalgamation:
    def __init__(self):
        self.seen = set()    # guarded files, and headers of others, that stand in the text already
        self.lines = []

    def add(self, name):
        """Appends a file of the library, with what it includes in its place."""
        text = (ROOT / "include" / name).read_text().removeprefix(LICENSE_LINE)
        guard = re.search(r"^#ifndef (RESHARD_\w+)\n#define \1$", text, re.MULTILINE)
        before, rest = (text[:guard.start()], text[guard.start():]) if guard else ("", text)
        for target in re.findall(r"^#include (<.*>)", before, re.MULTILINE):
            self.include(name, target, f"#include {target}\n", False)
        if guard and name in self.seen:
            return
        self.seen |= {name} if guard else set()
        self.lines.append(f"// ---- {name}\n")
        always = {f"#ifndef {guard[1]}" if guard else "", "#ifndef RESHARD_SEPARATE_COMPILATION"}
        conditions = []      # of the #if's around a line, whether each may be false
        for line in rest.splitlines(keepends=True):
            found = DIRECTIVE.match(line)
            if found and found[1] == "include":
                self.include(name, found[2], line, any(conditions))
                continue
            if found and found[1].startswith("if"):
                conditions.append(line.strip() not in always)
            elif found and found[1].startswith("el"):
                conditions[-1] = True
            elif found:
                conditions.pop()
            self.lines.append(line)

    def include(self, name, target, line, may_be_left_out):
        own = OWN.match(target)
        if not own and (may_be_left_out or target not in self.seen):
            self.lines.append(line)
            if not may_be_left_out:
                self.seen.add(target)
        elif own:
            before = set(self.seen)
            self.add(own[1])
            if may_be_left_out and self.seen != before:
                sys.exit(f"amalgamate.py: {name} includes {own[1]} under a condition, where others would miss it; "
                         "include it before the condition, too")


def version():
    text = (ROOT / "include/reshard/version.hpp").read_text()
    return ".".join(re.search(rf"VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def main(headers):
    made = Amalgamation()
    headers = headers or ["reshard.hpp"]
    for header in ["reshard/version.hpp", *headers]:
        if not (ROOT / "include" / header).is_file():
            sys.exit(f"amalgamate.py: there is no include/{header}; name a header as in #include <...>\n{__doc__}")
        made.add(header)
    license_text = "".join(f"// {line}".rstrip() + "\n" for line in (ROOT / "LICENSE_1_0.txt").read_text().splitlines())
    names = ", ".join(f"<{header}>" for header in headers)
    sys.stdout.write(f"// Reshard {version()}: {names} and what they include, in one file made by packaging/amalgamate.py.\n//\n"
                     f"{license_text}\n#ifdef RESHARD_SEPARATE_COMPILATION\n"
                     "#error \"this file is header-only: do not define RESHARD_SEPARATE_COMPILATION\"\n#endif\n\n"
                     f"{''.join(made.lines)}")


if __name__ == "__main__":
    main(sys.argv[1:])
