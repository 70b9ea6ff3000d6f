#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Makes the wheel of the Python module in build/wheels, with the tools that `./bootstrap.sh tools` has installed.
#
#   packaging/wheel.sh [PYTHON]     (default: the system's)
#
# The wheel of a Python from 3.12 on serves all later ones, too.

set -eu
cd "$(dirname "$0")/.."

build_dir=$(realpath -m "${RESHARD_BUILD_DIR:-build}")
tools=$build_dir/python-tools/bin
[ -x "$tools/auditwheel" ] || { echo "wheel: run ./bootstrap.sh tools first" >&2; exit 2; }
if [ $# -gt 0 ]; then
    "$1" -m venv "$build_dir/python-tools-other"
    tools=$build_dir/python-tools-other/bin
    "$tools/pip" install --quiet --disable-pip-version-check --requirement python/tools.txt
fi
out=$build_dir/wheels
mkdir -p "$out"
# ccache knows what the build compiled by the name of its compiler; Python's name for it is another one.
export CXX="${CXX:-c++}"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
"$tools/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$built" ./python
# auditwheel names the oldest glibc that the wheel works with, in the tag, and puts xxHash into the wheel.
PATH="$tools:$PATH" "$tools/auditwheel" repair --wheel-dir "$built/repaired" "$built"/*.whl >"$built/log" 2>&1 ||
    { cat "$built/log" >&2; exit 1; }
made=$(basename "$built"/repaired/*.whl)
rm -f "$out"/*-"$(echo "$made" | cut -d- -f3,4)"-*
mv "$built/repaired/$made" "$out"
echo "wheel: $out/$made"
