# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# A trainer and a server that are jobs of their own meet, whoever comes first. Nothing
# is left of them.
#
#   two_programs.sh TRAINER SERVER, with the start of an MPI command line in RESHARD_MPIEXEC

set -u
trainer=$1
server=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

complain() {
    echo "FAILED: $*"
    cat trained served 2>/dev/null
    failed=1
}

# start RANKS PROGRAM OUTPUT
start() {
    # shellcheck disable=SC2086
    timeout 600 $RESHARD_MPIEXEC -n "$1" "$2" "$work/port" >"$3" 2>&1 &
}

# ends PROCESS NAME
ends() {
    wait "$1" || complain "$2 ended with $?"
}

for first in trainer server; do
    if [ $first = trainer ]; then
        start 4 "$trainer" trained && one=$!
        start 2 "$server" served && other=$!
    else
        start 2 "$server" served && other=$!
        start 4 "$trainer" trained && one=$!
    fi
    ends $one trainer
    ends $other server
    grep -q "published 10 versions.*a server has it" trained || complain "the trainer said something else"
    grep -q "every version was complete; the last one is 10" served || complain "the server said something else"
    [ ! -e port ] || complain "the port file is left"
done
exit $failed
