// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "../method_petsc.hpp"

#include <petscsf.h>

#include <boost/mpi/collectives/all_gather.hpp>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

void check_petsc(PetscErrorCode code) {
    if (code != 0)
        throw std::runtime_error("PETSc failed with code " + std::to_string(code));
}

/// Starts PETSc once in a process. It is never finished: nothing of it outlives the process.
void start_petsc() {
    PetscBool started = PETSC_FALSE;
    check_petsc(PetscInitialized(&started));
    if (started)
        return;
    check_petsc(PetscInitializeNoArguments());
    check_petsc(PetscPopSignalHandler());
}

/// Bytes that move together.
///
/// \par Units bytes from the beginning of the giver's and the taker's memory
struct moved_bytes {
    int giver = 0;
    index_t source = 0;
    index_t target = 0;
    index_t count = 0;
};

/// All that a rank gets.
///
/// \pre nothing is cast or permuted
std::vector<moved_bytes> moves_to(redistribution_case const& moved, int taker) {
    std::vector<moved_bytes> all;
    memory_map const targets(moved.targets, taker);
    for (int giver = 0; giver < moved.ranks; ++giver) {
        memory_map const sources(moved.sources, giver);
        for (given_piece const& one : given(moved, giver, taker)) {
            index_t const element = element_bytes(moved.sources[one.piece->source].dtype);
            index_t const source = sources.begins[one.piece->source];
            index_t const target = targets.begins[one.piece->target];
            for_each_line(one.shared, one.piece->order, [&](shared_line const& line) {
                all.push_back({giver, source + line.source * element,
                               target + line.target * element, line.length * element});
            });
        }
    }
    return all;
}

/// The greatest number of bytes that divides all runs and places, of all ranks.
index_t unit_of(boost::mpi::communicator const& world, std::vector<moved_bytes> const& moves) {
    index_t unit = 0;
    for (moved_bytes const& one : moves)
        unit = std::gcd(std::gcd(unit, one.count), std::gcd(one.source, one.target));
    std::vector<index_t> units;
    boost::mpi::all_gather(world, unit, units);
    for (index_t const one : units)
        unit = std::gcd(unit, one);
    return unit;
}

} // namespace

struct petsc_method::forest {
    MPI_Datatype unit = MPI_DATATYPE_NULL;
    PetscSF edges = nullptr;

    forest(setting const& where, std::vector<moved_bytes> const& moves) {
        index_t const bytes = unit_of(where.world, moves);
        MPI_Type_contiguous(static_cast<int>(bytes % 8 ? bytes : bytes / 8),
                            bytes % 8 ? MPI_BYTE : MPI_DOUBLE, &unit);
        MPI_Type_commit(&unit);
        std::vector<PetscInt> leaves;
        std::vector<PetscSFNode> roots;
        for (moved_bytes const& one : moves)
            for (index_t i = 0; i < one.count / bytes; ++i) {
                leaves.push_back(static_cast<PetscInt>(one.target / bytes + i));
                roots.push_back({one.giver, static_cast<PetscInt>(one.source / bytes + i)});
            }
        index_t const held = memory_map(where.moved.sources, where.world.rank()).bytes;
        check_petsc(PetscSFCreate(where.world, &edges));
        check_petsc(PetscSFSetGraph(edges, static_cast<PetscInt>(held / bytes),
                                    static_cast<PetscInt>(leaves.size()), leaves.data(),
                                    PETSC_COPY_VALUES, roots.data(), PETSC_COPY_VALUES));
        check_petsc(PetscSFSetUp(edges));
    }
    forest(forest const&) = delete;
    forest& operator=(forest const&) = delete;
    ~forest() {
        PetscSFDestroy(&edges);
        MPI_Type_free(&unit);
    }
};

petsc_method::petsc_method(setting const& where) : where_(where) {
    start_petsc();
    forest_ = std::make_unique<forest>(where, moves_to(where.moved, where.world.rank()));
}

petsc_method::~petsc_method() = default;

void petsc_method::run() {
    std::byte const* const source = where_.source;
    std::byte* const target = where_.target;
    check_petsc(PetscSFBcastBegin(forest_->edges, forest_->unit, source, target, MPI_REPLACE));
    check_petsc(PetscSFBcastEnd(forest_->edges, forest_->unit, source, target, MPI_REPLACE));
}

} // namespace bench
