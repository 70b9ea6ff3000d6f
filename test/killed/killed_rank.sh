# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# A rank that is killed while the others wait for it, in each tier: the job ends with an error and in time,
# every process of it is gone, and no name of a segment is left. Nothing here waits for time to pass.
#
#   killed_rank.sh PROGRAM, with the start of an MPI command line in RESHARD_MPIEXEC

set -u
program=$1
limit=600
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkfifo alive
failed=0

complain() {
    echo "FAILED: $*"
    cat out said
    failed=1
}

# kill_one RANKS TIER PLACE SEGMENTS
kill_one() {
    # Ends when the last rank has closed the fifo, which is when it is gone.
    timeout $limit cat alive >said &
    reader=$!
    # shellcheck disable=SC2086
    timeout $limit $RESHARD_MPIEXEC -n "$1" "$program" "$2" "$3" "$4" "$work/alive" >out 2>&1
    status=$?
    [ $status -ne 124 ] || complain "$*: the job did not end"
    [ $status -ne 0 ] || complain "$*: the job ended as if all were well"
    wait $reader || complain "$*: a process is left"
    [ "$(grep -Ec "^[0-9]+ ($2)\$" said)" -eq "$1" ] || complain "$*: not all ranks used this tier"
    [ "$(grep -c '^dies$' said)" -eq 1 ] || complain "$*: no rank died as it should"
    while read -r process _; do
        for name in /dev/shm/reshard-"$process"-*; do
            [ ! -e "$name" ] || complain "$*: $name is left"
        done
    done <said
}

for ranks in 2 4; do
    for place in between within; do
        kill_one $ranks messages $place unnamed
        kill_one $ranks relays $place unnamed
        for segments in unnamed named; do
            kill_one $ranks rings $place $segments
            kill_one $ranks reads $place $segments
            kill_one $ranks arena $place $segments
        done
    done
done
exit $failed
