# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What the tests of the tool share: scripts, which are run as bash TEST.sh TOOL, and goldens, which run_golden.py reads.
# The start of an MPI command line is in RESHARD_MPIEXEC. Sourced; leaves the shell in an empty directory that is removed
# at the end.

set -u

tool=$(realpath "$1")
PATH=$(dirname "$tool"):$PATH # goldens call it by its name
here=${here:-$(cd "$(dirname "$0")" && pwd)}
data=${RESHARD_TEST_DATA:-$here/../data}
RESHARD_MPIEXEC=${RESHARD_MPIEXEC:-mpiexec --oversubscribe --bind-to none}
work=$(mktemp -d)
# Open MPI's directory for a user goes when the last of his jobs ends, and another one may just begin.
OMPI_MCA_orte_tmpdir_base=$(mktemp -d)
export OMPI_MCA_orte_tmpdir_base
trap 'rm -rf "$work" "$OMPI_MCA_orte_tmpdir_base"' EXIT
cd "$work" || exit 1
mkdir out # targets go here: what is in it later was written
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Where `python3` is a script that looks for one, as pyenv's is, it takes ten times as long to start as what it finds.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
    python3() {
        "$python" "$@"
    }
fi

checks=0
failures=0

report() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}

# on RANKS COMMAND...: alone or under mpiexec; nothing takes longer than ten minutes. RANKS may hold more of
# the command line, as in "1 other : -n 2". Standard error is without what mpiexec itself and its libraries say.
on() {
    local ranks=$1 status
    shift
    if [ "$ranks" = 1 ]; then
        timeout 600 "$@" </dev/null
        return
    fi
    {
        # shellcheck disable=SC2086 # words
        ! timeout 600 $RESHARD_MPIEXEC -n $ranks "$@" </dev/null 2>&1 >&3 |
            grep -av -e '^--*$' -e '^Primary job' -e '^a non-zero exit code' -e '^mpiexec detected' -e '^\[warn\] Epoll' \
                -e '^the job to be terminated' -e '^  Process name: \[' -e '^  Exit code:  ' -e '^$' >&2
        status=${PIPESTATUS[0]}
    } 3>&1
    return "$status"
}

# messages FILE: standard error without notes and warnings, and without the lines that belong to the message above them.
messages() {
    grep -v -e '^note: ' -e '^warning: ' -e '^ ' -e '^$' "$1"
}

# succeeds RANKS ARGUMENT...: the tool ends with 0; its output is in the file `output`.
succeeds() {
    local ranks=$1
    shift
    checks=$((checks + 1))
    if ! on "$ranks" "$tool" "$@" >output 2>errors; then
        report "on $ranks: $*"
        cat errors
    fi
}

# refuses STATUS PATTERN ARGUMENT...: on one rank and on three, or on as many as RESHARD_REFUSED_RANKS says, the tool ends
# with that status and one message that matches, and out/ is as it was.
refuses() {
    local status=$1 pattern=$2
    shift 2
    local ranks
    for ranks in ${RESHARD_REFUSED_RANKS:-1 3}; do
        refuses_on "$ranks" "$status" "$pattern" "$tool" "$@"
    done
}

# refuses_on RANKS STATUS PATTERN COMMAND...
refuses_on() {
    local ranks=$1 status=$2 pattern=$3 before found count
    shift 3
    checks=$((checks + 1))
    before=$(contents)
    on "$ranks" "$@" >output 2>errors
    found=$?
    [ "$found" = "$status" ] || report "on $ranks: exit $found, not $status: ${*:2}"
    count=$(messages errors | wc -l)
    [ "$count" = 1 ] || report "on $ranks: $count messages, not 1: ${*:2}"
    messages errors | grep -Eq -- "$pattern" || report "on $ranks: no message like /$pattern/: ${*:2}"
    [ -s output ] && report "on $ranks: something on standard output: ${*:2}"
    [ "$(contents)" = "$before" ] || report "on $ranks: out/ has changed: ${*:2}"
    if [ "$failures" -gt 0 ] && [ "${shown:-0}" -lt "$failures" ]; then
        shown=$failures
        sed 's/^/    /' errors
    fi
}

# refused ARGUMENT...: prints the exit status and the message of the tool, which are the same on one rank and on three, or
# on as many as RESHARD_REFUSED_RANKS says.
refused() {
    local ranks found expected=
    for ranks in ${RESHARD_REFUSED_RANKS:-1 3}; do
        found=$(refused_on "$ranks" "$tool" "$@")
        [ "${expected:=$found}" = "$found" ] || report "on $ranks: $found"
    done
    echo "$expected"
}

# refused_on RANKS COMMAND...: the same of one call of a command. It prints nothing on standard output, and out/ is as it
# was.
refused_on() {
    local status=0 before
    before=$(contents)
    on "$@" >output 2>errors || status=$?
    sed "/^$/d; s/^/[$status] /" errors
    [ ! -s output ] || report "standard output: $(cat output)"
    [ "$(contents)" = "$before" ] || report "out/ has changed"
}

# tensors FILE JSON: writes a file as support/write_safetensors.py says.
tensors() {
    mkdir -p "$(dirname "$1")" && python3 "$here/support/write_safetensors.py" "$@"
}

# contents: all that is in out/, with sums.
contents() {
    find out -type f -exec cksum {} + | sort
    find out -mindepth 1 | sort
}

# json FILE EXPRESSION...: what python makes of `d`, the document in FILE, a line for each; `-` is standard input.
json() {
    python3 -c 'import json, sys; d = json.load(open(0 if sys.argv[1] == "-" else sys.argv[1]))
for expression in sys.argv[2:]: print(eval(expression))' "$@"
}

# expects FILE EXPRESSION VALUE
expects() {
    local found
    checks=$((checks + 1))
    found=$(json "$1" "$2" 2>&1)
    [ "$found" = "$3" ] || report "$2 is '$found', not '$3'"
}

needs_python() {
    if ! command -v python3 >/dev/null 2>&1; then
        echo "skipped: there is no python3"
        exit 77
    fi
}

# runs_page PAGE: the commands of a page of doc/ print what the page shows.
runs_page() {
    local page=$here/../../doc/$1
    checks=$((checks + 1))
    export RESHARD_MPIEXEC
    python3 "$here/support/run_page.py" "$page" "$tool" >now || report "the page cannot be run"
    diff -u "$page" now || report "the tool says something else than doc/$1"
}

# Ends a test.
conclude() {
    echo "$checks checks, $failures failures"
    [ "$failures" = 0 ]
    exit
}
