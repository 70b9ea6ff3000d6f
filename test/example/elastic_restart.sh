# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# One training on 4 ranks, then on 3, then on 1. Each run compares its end with a training that was never
# interrupted; here it is seen that it went on where the one before it ended, and kept two checkpoints.
#
#   elastic_restart.sh PROGRAM, with the start of an MPI command line in RESHARD_MPIEXEC

set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# train RANKS LAST SENTENCE CHECKPOINTS
train() {
    # shellcheck disable=SC2086
    said=$($RESHARD_MPIEXEC -n "$1" "$program" "$work/run" "$2" 2>&1) || failed=1
    echo "$said"
    case $said in
        *"$3, as if never interrupted"*) ;;
        *) echo "FAILED: it did not say '$3'" && failed=1 ;;
    esac
    kept=$(cd "$work/run" && echo *)
    [ "$kept" = "$4" ] || { echo "FAILED: $kept stayed, not $4" && failed=1; }
}

train 4 4 "4 ranks, from nothing: steps 1 to 4" "step_3 step_4"
train 3 7 "3 ranks, from what 4 saved: steps 5 to 7" "step_6 step_7"
train 1 10 "1 rank, from what 3 saved: steps 8 to 10" "step_10 step_9"
exit $failed
