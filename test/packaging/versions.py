# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Whether packages have the version that stands in include/reshard/version.hpp:  versions.py ROOT

What pip's recipe takes from there by an expression is taken here by the same expression.
"""

import json
import re
import sys
import tomllib
from pathlib import Path


def version_of_headers(root):
    text = (root / "include/reshard/version.hpp").read_text()
    return ".".join(re.search(rf"#define RESHARD_VERSION_{part} (\d+)\n", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def version_of_pip(root):
    folder = root / "python"
    recipe = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(recipe["regex"], (folder / recipe["input"]).read_text(), re.MULTILINE)
    return recipe["result"].format(**found.groupdict())


def version_of_vcpkg(root):
    return json.loads((root / "packaging/vcpkg/reshard/vcpkg.json").read_text())["version"]


def version_of_changelog(root):
    """The newest one, which may be not released yet."""
    return re.search(r"^## ([0-9.]+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)[1]


root = Path(sys.argv[1])
expected = version_of_headers(root)
wrong = 0
for place, version in (("pyproject.toml", version_of_pip), ("vcpkg.json", version_of_vcpkg), ("CHANGELOG.md", version_of_changelog)):
    found = version(root)
    if found != expected:
        print(f"{place}: the version is {found}, and {expected} in version.hpp")
        wrong += 1
sys.exit(wrong)
