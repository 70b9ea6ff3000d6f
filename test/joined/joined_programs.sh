# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Two MPI jobs that are started apart become one group where the launcher has a server for that, and say so
# where it has none, or where one of them does not come.
#
#   joined_programs.sh PROGRAM, with the start of an MPI command line in RESHARD_MPIEXEC

set -u
program=$1
command -v ompi-server >/dev/null || { echo "skipped: there is no ompi-server" && exit 77; }
work=$(mktemp -d)
cd "$work" || exit 1
timeout 1500 ompi-server --no-daemonize -r "$work/uri" >server 2>&1 &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
while [ ! -s uri ]; do
    kill -0 $server 2>/dev/null || { cat server && exit 1; }
    sleep 0.05
done
failed=0

# run RANKS WHICH SECONDS OPTION...
run() {
    ranks=$1 which=$2 seconds=$3
    shift 3
    # shellcheck disable=SC2086
    timeout 600 $RESHARD_MPIEXEC "$@" -n "$ranks" "$program" "$which" "$work/meeting" "$seconds" >"$which" 2>&1
    echo $? >"$which.status"
}

# both_say COUNT SENTENCE STATUS: each rank of both jobs
both_say() {
    [ "$(cat first second | grep -c "$2")" -eq "$1" ] && [ "$(cat first.status second.status)" = "$3
$3" ] && [ ! -e meeting ] && [ ! -e meeting.answer ] && return
    echo "FAILED: not all ranks said '$2', a status is not $3, or a file is left"
    cat first first.status second second.status
    ls
    failed=1
}

run 2 first 300 --ompi-server "file:$work/uri" &
job=$!
run 3 second 300 --ompi-server "file:$work/uri"
wait $job
both_say 5 "^has all$" 0

run 3 second 300 &
job=$!
run 2 first 300
wait $job
both_say 5 "^unsupported: .*: the launcher cannot connect jobs that were started separately" 3

run 3 second 300 &
job=$!
run 2 first 300 --ompi-server "file:$work/uri"
wait $job
both_say 5 "^unsupported: .*: the launcher cannot connect jobs that were started separately" 3

run 2 first 0 --ompi-server "file:$work/uri"
run 1 second 0 --ompi-server "file:$work/uri"
both_say 3 "^deadline: .*: the other job did not arrive within 0 s" 3

# refuses SENTENCE STATUS WHICH: what a user has at that path stays
refuses() {
    if ! grep -q "$1" "$3" || [ "$(cat "$3.status")" != "$2" ] || [ "$(cat meeting)" != mine ]; then
        echo "FAILED: $3 does not say '$1', or touches another file"
        cat "$3" "$3.status" meeting
        failed=1
    fi
}
echo mine >meeting
for which in first second; do
    run 1 $which 5 --ompi-server "file:$work/uri"
    refuses "^already_exists: .*meeting: the existing file is not a note of an MPI job" 3 $which
done
mv meeting meeting.answer
run 1 first 5 --ompi-server "file:$work/uri"
mv meeting.answer meeting
refuses "^already_exists: .*meeting.answer: the existing file is not a note" 3 first
rm meeting
mkfifo meeting meeting.answer
run 1 second 5 --ompi-server "file:$work/uri"
run 1 first 5 --ompi-server "file:$work/uri"
rm meeting meeting.answer
both_say 2 "^already_exists: .*: the existing file is not a note of an MPI job" 3

mkfifo input
run 1 silent 300 --ompi-server "file:$work/uri" <input &
job=$!
exec 3>input
while ! grep -qs "^here$" silent; do # then it comes at once
    kill -0 $job 2>/dev/null || break
    sleep 0.05
done
run 2 first 10 --ompi-server "file:$work/uri"
exec 3>&-
wait $job
if ! grep -q "meeting: the other job arrived, but MPI did not connect the two within 10 s" first || [ "$(cat first.status)" != 1 ]; then
    echo "FAILED: a job waits for one that does not connect, or does not say so"
    cat first first.status silent silent.status
    failed=1
fi
exit $failed
