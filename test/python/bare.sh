#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Runs wheel.sh in an empty Debian, which debootstrap makes once, as root:
#
#   bare.sh SUITE WHEEL [FOLDER]     bare.sh trixie build/wheels/reshard-*-cp312-abi3-*.whl
#
# SUITE is bookworm (Python 3.11) or a later one (the wheel of Python 3.12). FOLDER is where it is made
# (default: build/bare-SUITE).

set -eu
suite=$1
wheel=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
folder=$(realpath -m "${3:-$here/../../build/bare-$suite}")

if [ ! -e "$folder/made" ]; then
    rm -rf "$folder"
    debootstrap --variant=minbase --include=python3-venv "$suite" "$folder" >"$folder.log" 2>&1 ||
        { tail -n 20 "$folder.log" >&2; exit 1; }
    touch "$folder/made"
fi
mkdir -p "$folder/reshard"
cp "$wheel" "$here/wheel.sh" "$here/module.py" "$here/on_gpu.py" "$folder/reshard"
chroot "$folder" sh "/reshard/wheel.sh" "/reshard/$(basename "$wheel")"
