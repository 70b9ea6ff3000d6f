#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# The library's main job on a real model's checkpoint: from Hugging Face to six ranks and back.

set -eu

usage() {
    cat <<'END'
usage: sh example/demo.sh BUILD_DIR [--keep DIR]

Synthesizes SmolLM2-135M, fuses and transposes its weights for 2 pipeline stages x 3 tensor-parallel
ranks, converts it back, and compares the result with its own digests and with the original. Needs
1 GB in the temporary directory, or in DIR, where the checkpoints then stay.
END
}

refuse() {
    usage >&2
    echo "demo.sh: $*" >&2
    exit 2
}

[ $# -ge 1 ] || refuse "BUILD_DIR is missing"
case $1 in
    -h | --help)
        usage
        exit 0
        ;;
esac
build_dir=$(cd "$1" && pwd)
shift
work=
if [ $# -gt 0 ]; then
    { [ $# -eq 2 ] && [ "$1" = --keep ]; } || refuse "unexpected arguments '$*'"
    mkdir -p "$2"
    work=$(cd "$2" && pwd)
fi

tool=$build_dir/example/reshard
[ -x "$tool" ] || refuse "$tool does not exist; build it with ./bootstrap.sh demo"
models=$(cd "$(dirname "$0")/models" && pwd)

if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
fi
cd "$work"

# Open MPI asks root to confirm, and more processes than cores to be asked for.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpiexec=${MPIEXEC:-mpiexec}
case $($mpiexec --version 2>&1) in
    *"Open MPI"* | *OpenRTE*) mpiexec="$mpiexec --oversubscribe --bind-to none" ;;
esac

rows=

# step NAME RANKS ARGUMENT...: runs the tool, and keeps what its closing line says for the table.
step() {
    name=$1
    ranks=$2
    shift 2
    echo
    echo "\$ $([ "$ranks" = 1 ] || echo "mpiexec -n $ranks ")reshard $*"
    if [ "$ranks" = 1 ]; then
        "$tool" "$@" >output
    else
        # shellcheck disable=SC2086 # words
        $mpiexec -n "$ranks" "$tool" "$@" >output </dev/null
    fi
    cat output
    # 269,030,016 bytes in 0.42 s, 0.64 GB/s
    row=$(sed -n 's/^\([0-9,]*\) bytes in \([0-9.]*\) s, \([0-9.]*\) GB\/s$/\2 \1 \3/p' output)
    rows="$rows$name $row $ranks
"
}

step synthesize 1 synthesize smollm2-135m original --force
step convert 6 convert original six --program "$models/llama_fuse.aoa" \
    --layout "$models/llama_pp2_tp3.json" --force

echo
echo "The save's record, written last:"
grep -v '^  "program"' six/reshard.json | head -n 7

echo
echo "Holders:"
"$tool" inspect six

echo
echo "Where a part of one tensor of rank 0 comes from:"
"$tool" explain --key model.layers.7.self_attn.qkv.weight --box 0:576,190:200 --source original \
    --target "$models/llama_pp2_tp3.json" --program "$models/llama_fuse.aoa"

step "convert back" 2 convert six back --program "$models/llama_unfuse.aoa" --force
step verify 2 verify back
step diff 2 diff --data original back

echo
echo "$rows" | awk '
    BEGIN { printf "%-14s %8s %14s %6s %6s\n", "step", "seconds", "bytes", "GB/s", "ranks" }
    NF > 3 { name = $1; for (i = 2; i <= NF - 4; ++i) name = name " " $i
             printf "%-14s %8s %14s %6s %6s\n", name, $(NF - 3), $(NF - 2), $(NF - 1), $NF }'
echo
echo "Every byte came back."
