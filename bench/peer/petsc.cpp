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

/// Starts PETSc once in a process. It is never finalized, because nothing of it outlives the
/// process.
void start_petsc() {
    PetscBool started = PETSC_FALSE;
    check_petsc(PetscInitialized(&started));
    if (started)
        return;
    check_petsc(PetscInitializeNoArguments());
    check_petsc(PetscPopSignalHandler());
}

/// Contiguous bytes that move together.
///
/// \par Units bytes from the beginning of the sender's and the receiver's memory
struct moved_bytes {
    int sender = 0;
    index_t source = 0;
    index_t target = 0;
    index_t count = 0;
};

/// The bytes that a rank gets.
///
/// \pre nothing is cast or permuted
std::vector<moved_bytes> moves_to(redistribution_case const& moved, int receiver) {
    std::vector<moved_bytes> bytes;
    memory_map const targets(moved.targets, receiver);
    for (int sender = 0; sender < moved.ranks; ++sender) {
        memory_map const sources(moved.sources, sender);
        for (given_piece const& piece : given(moved, sender, receiver)) {
            index_t const element = element_bytes(moved.sources[piece.piece->source].dtype);
            index_t const source = sources.begins[piece.piece->source];
            index_t const target = targets.begins[piece.piece->target];
            for_each_line(piece.shared, piece.piece->order, [&](shared_line const& line) {
                bytes.push_back({sender, source + line.source * element,
                                 target + line.target * element, line.length * element});
            });
        }
    }
    return bytes;
}

/// The greatest number of bytes that divides the lengths and offsets of all runs on all ranks.
index_t unit_of(boost::mpi::communicator const& world, std::vector<moved_bytes> const& moves) {
    index_t unit = 0;
    for (moved_bytes const& bytes : moves)
        unit = std::gcd(std::gcd(unit, bytes.count), std::gcd(bytes.source, bytes.target));
    std::vector<index_t> units;
    boost::mpi::all_gather(world, unit, units);
    for (index_t const element : units)
        unit = std::gcd(unit, element);
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
        for (moved_bytes const& moved_bytes : moves)
            for (index_t i = 0; i < moved_bytes.count / bytes; ++i) {
                leaves.push_back(static_cast<PetscInt>(moved_bytes.target / bytes + i));
                roots.push_back(
                    {moved_bytes.sender, static_cast<PetscInt>(moved_bytes.source / bytes + i)});
            }
        index_t const held_count = memory_map(where.moved.sources, where.world.rank()).bytes;
        check_petsc(PetscSFCreate(where.world, &edges));
        check_petsc(PetscSFSetGraph(edges, static_cast<PetscInt>(held_count / bytes),
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
