# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Whether recipes of packages fit the sources: the Boost libraries of vcpkg.json are those that headers include, and
recipes set options that CMake has, in Python that can be parsed:  recipes.py ROOT

An adapter includes the library that it adapts, which its user has anyway.
"""

import json
import re
import sys
from pathlib import Path

# Directories of headers that are not named after their library.
LIBRARIES = {"archive": "serialization", "version": "config"}


def included(root):
    """The Boost libraries of all headers but adapters, as vcpkg calls them."""
    for path in (root / "include").rglob("*.[hi]pp"):
        if path.parent.name != "adapt":
            for name in re.findall(r"#include <boost/([a-z0-9_]+)", path.read_text()):
                yield "boost-" + LIBRARIES.get(name, name).replace("_", "-")


def listed(root):
    for dependency in json.loads((root / "packaging/vcpkg/reshard/vcpkg.json").read_text())["dependencies"]:
        name = dependency if isinstance(dependency, str) else dependency["name"]
        if name.startswith("boost-"):
            yield name


def options(paths, expression):
    return {option for path in paths for option in re.findall(expression, path.read_text())}


def findings(root):
    needed, named = set(included(root)), set(listed(root))
    yield from (f"vcpkg.json: {name} is missing, which headers include" for name in sorted(needed - named))
    yield from (f"vcpkg.json: no header includes anything of {name}" for name in sorted(named - needed))
    known = options([root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake")], r"option\((RESHARD_\w+)")
    recipes = [root / "packaging/vcpkg/reshard/portfile.cmake", root / "packaging/spack/package.py",
               root / "packaging/conan/conanfile.py", root / "python/pyproject.toml"]
    for path in recipes:
        if path.suffix == ".py":
            compile(path.read_text(), path, "exec")
    used = options(recipes, r"\b(RESHARD_(?:BUILD|CHECK|INSTALL|COMPILED|MPI)\w*)")
    yield from (f"a recipe sets {name}, which is not an option of CMakeLists.txt" for name in sorted(used - known))


found = list(findings(Path(sys.argv[1])))
print("\n".join(found), f"{len(found)} findings", sep="\n" if found else "")
sys.exit(bool(found))
