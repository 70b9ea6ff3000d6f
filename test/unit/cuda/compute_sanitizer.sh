#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Runs the tests of CUDA with the tools of compute-sanitizer: memory, races, uninitialised memory, barriers. For a machine
# with a GPU:
#
#   compute_sanitizer.sh [BUILD]     (default: build)

set -eu
build=${1:-build}
command -v compute-sanitizer >/dev/null || {
    echo "compute_sanitizer.sh: compute-sanitizer, a part of the CUDA toolkit, is not on the path" >&2
    exit 2
}
for tool in memcheck racecheck initcheck synccheck; do
    echo "== $tool"
    compute-sanitizer --tool $tool --error-exitcode 1 "$build/test/unit_cuda"
done
compute-sanitizer --tool memcheck --error-exitcode 1 "$build/example/16_devices"
