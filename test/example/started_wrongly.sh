# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# A trainer and a server that are not started as they should be end with an error, and say what to type.
#
#   started_wrongly.sh TRAINER SERVER, with the start of an MPI command line in RESHARD_MPIEXEC

set -u
trainer=$1
server=$2
failed=0

# refuses SENTENCE COMMAND...
refuses() {
    sentence=$1
    shift
    said=$(timeout 600 "$@" 2>&1)
    status=$?
    case $status in
        0 | 124) echo "FAILED: $* ended with $status" && failed=1 ;;
    esac
    for part in "$sentence" "mpiexec -n 4 08_trainer_mpi_4 : -n 2 08_server_mpi_2"; do
        case $said in
            *"$part"*) ;;
            *) echo "FAILED: $* did not say '$part' but: $said" && failed=1 ;;
        esac
    done
}

refuses "Trainers: 1, servers: 0." "$trainer"
refuses "Trainers: 0, servers: 1." "$server"
# shellcheck disable=SC2086
refuses "Trainers: 4, servers: 0." $RESHARD_MPIEXEC -n 4 "$trainer"
# shellcheck disable=SC2086
refuses "Trainers: 2, servers: 2." $RESHARD_MPIEXEC -n 2 "$trainer" : -n 2 "$server"
# The servers first: then rank 0 is not a trainer.
# shellcheck disable=SC2086
refuses "Trainers: 4, servers: 2." $RESHARD_MPIEXEC -n 2 "$server" : -n 4 "$trainer"
exit $failed
