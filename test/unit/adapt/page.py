#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Every block of C++ on the page of adapters stands in a source that is compiled, spaces aside.

    page.py PAGE SOURCE...   one line a block that stands nowhere; exit 1 where there is one
    page.py --self-test      shows that a block that differs is found
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines_of(text):
    """The lines without their indentation; a comment behind code is left out."""
    stripped = (re.sub(r"(?<=\S) +// .*", "", line.strip()) for line in text.splitlines())
    return [line for line in stripped if line]


def stands_in(block, source):
    """True where the includes are there, and the other lines one behind the other."""
    includes = [line for line in block if line.startswith("#include")]
    code = [line for line in block if not line.startswith("#include")]
    return set(includes) <= set(source) and " ".join(code) in " ".join(source)


def findings(page, sources):
    blocks = BLOCK.findall(page)
    if not blocks:
        yield "the page has no block of C++"
    for block in blocks:
        lines = lines_of(block)
        if not any(stands_in(lines, lines_of(source)) for source in sources):
            yield "in no source that is compiled:\n" + block


def self_test():
    page = "```cpp\n#include <a>\n\nint a;\n  int b;\n```\n"
    right = "#include <a>\n#include <b>\nvoid f() {\n    int a; // why\n    int b;\n}\n"
    assert not list(findings(page, ["", right]))
    assert list(findings(page, [right.replace("int b", "int c")]))
    assert list(findings(page, [right.replace("<a>", "<c>")]))
    assert list(findings("text", [right]))


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    page, *sources = (pathlib.Path(name).read_text() for name in arguments)
    found = list(findings(page, sources))
    print("\n".join(found) or f"{len(BLOCK.findall(page))} blocks, all compiled")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
