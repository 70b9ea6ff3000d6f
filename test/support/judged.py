# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Self-tests of checks: trees of files, and what is to be found in them."""

import pathlib
import tempfile


def misjudged(cases, judge):
    """How many of `cases`, pairs of files (their texts by name) and of a part of what `judge` finds in a tree of them, or
    None for nothing, it does not judge so; each is printed."""
    failures = 0
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = list(judge(root))
        if bool(found) == (expected is None) or expected and not any(expected in line for line in found):
            failures += 1
            print(f"{files}: expected {expected!r}, found {found}")
    return failures
