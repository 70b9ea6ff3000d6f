#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Installs a wheel where there is no compiler, MPI, Boost or other package, converts a small checkpoint and compares it:
#
#   wheel.sh WHEEL [PYTHON]     (default: /usr/bin/python3)
#
# It says how many seconds that took, from the start of pip. Then it runs the tests of the
# module, alone and on three ranks of the system's mpi4py, if there are NumPy and mpi4py. It needs no more than an empty
# Debian with python3-venv has: `chroot FOLDER sh wheel.sh WHEEL` works in a folder that debootstrap has made.

set -eu
script=$(realpath -m "$(dirname "$0")/module.py")
wheel=$(realpath "$1")
python=$(realpath "${2:-/usr/bin/python3}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Only what the script itself calls is on the path.
mkdir bin
for program in cat cmp date grep ldd ls sed sh; do
    ln -s "$(command -v $program)" bin/$program
done
bare() {
    env -i PATH="$work/env/bin:$work/bin" HOME="$work" LC_ALL=C.UTF-8 "$@"
}
fail() {
    echo "wheel: $*" >&2
    exit 1
}

"$python" -m venv env
cat >three.json <<'JSON'
{"mesh": [["tp", 3]], "rules": [{"match": "**norm.weight", "shard": {}}, {"match": "**", "shard": {"tp": 0}}]}
JSON
began=$(date +%s%N)
bare pip install --quiet --no-index --disable-pip-version-check "$wheel"
installed=$(date +%s%N)
bare reshard synthesize smollm2-135m model --scale 16 >log
bare reshard convert model three --layout three.json >log
bare reshard convert three back >log
bare reshard diff model back >log
ended=$(date +%s%N)
bare python - <<'PY'
import reshard

assert reshard.verify("three")["ok"]
assert sorted(reshard.inspect("model")["tensors"]) == sorted(reshard.inspect("back")["tensors"])
PY

status=0
bare reshard convert model >log 2>&1 || status=$?
[ $status -eq 2 ] || fail "a wrong command line ends with $status, not 2: $(cat log)"
status=0
bare reshard inspect none >log 2>&1 || status=$?
[ $status -eq 3 ] || fail "a missing file ends with $status, not 3: $(cat log)"
status=0
bare OMPI_COMM_WORLD_SIZE=2 reshard inspect model >log 2>&1 || status=$?
{ [ $status -eq 3 ] && grep -q "mpi4py" log; } || fail "two processes without mpi4py end with $status, not 3: $(cat log)"

cd env/lib/python3*/site-packages/reshard
for family in open_mpi mpich; do
    [ -e $family.so ] || fail "the wheel has no table for $family; it was made without that mpi.h"
done
for file in *.so; do
    needed=$(ldd "$file" | grep -vE "^\s*(linux-vdso|/lib|lib(c|m|gcc_s)\.so|libxxhash-.* => $work/)") || true
    [ -z "$needed" ] || fail "$file needs $needed"
done
cd "$work"
milliseconds=$(((ended - began) / 1000000))
echo "wheel: $milliseconds ms from the start of pip ($(((installed - began) / 1000000)) ms) to the end of the comparison"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
PYTHONPATH=$(echo "$work"/env/lib/python3*/site-packages)
export PYTHONPATH
if "$python" -c "import numpy" 2>/dev/null; then
    "$python" "$script"
fi
if "$python" -c "from mpi4py import MPI" 2>/dev/null && command -v mpiexec >/dev/null; then
    mpiexec --oversubscribe -n 3 "$python" "$script"
    mpiexec --oversubscribe -n 3 "$python" -m reshard.tool convert --force model three --layout three.json
    bare reshard diff model three
fi
