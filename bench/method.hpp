// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_HPP
#define RESHARD_BENCH_METHOD_HPP

#include "overlap.hpp"

#include <boost/mpi/communicator.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// \file
/// The benchmark's interface to a way of redistributing.

namespace bench {

/// What one rank sends to others in one run.
struct traffic {
    index_t bytes = 0;
    index_t messages = 0;
};

/// Where a method runs: a case, and this rank's memory, laid out as `memory_map` says.
struct setting {
    boost::mpi::communicator world;
    redistribution_case const& moved;
    std::byte const* source = nullptr;
    std::byte* target = nullptr; ///< null for a method that owns the memory of its target
};

/// A way of redistributing, prepared for one case and arrays that do not move.
///
/// Beside its constructor from a `setting`, which every rank calls, a method has
///     static std::string refusal(redistribution_case const&);  // why it cannot do a case, or
///     nothing static constexpr bool owns_target;                       // its constructor makes
///     the target
class method {
public:
    virtual ~method() = default;

    /// Fills the target. Every rank calls it.
    virtual void run() = 0;

    /// What is left to fill the target, off the clock, for a method whose `run` only prepares.
    virtual void finish() {}

    /// The messages that others send for the method, if it does not call `MPI_Isend` itself.
    virtual std::optional<traffic> sent() const { return std::nullopt; }

    /// The memory of the target, of a method that owns it.
    virtual std::byte* target() const { return nullptr; }
};

/// A method's name, and how it is prepared.
struct contestant {
    std::string name;
    std::function<std::unique_ptr<method>(setting const&)> prepare;
    std::string refusal;      ///< why it cannot do the case; empty: it can
    bool owns_target = false; ///< else it fills the given memory
    bool is_bound = false;    ///< it copies, but to no purpose
};

template <class Method, class... Arguments>
contestant contestant_of(std::string name, redistribution_case const& moved,
                         Arguments... arguments) {
    return {std::move(name),
            [=](setting const& where) { return std::make_unique<Method>(where, arguments...); },
            Method::refusal(moved), Method::owns_target};
}

/// The least that a rank has to send: one message to each rank that needs its elements.
inline traffic least_traffic(redistribution_case const& moved, int rank) {
    traffic traffic;
    for (int peer = 0; peer < moved.ranks; ++peer) {
        auto const pieces = peer == rank ? std::vector<given_piece>{} : given(moved, rank, peer);
        traffic.messages += !pieces.empty();
        for (given_piece const& piece : pieces)
            traffic.bytes += piece.shared.elements() *
                             std::min(element_bytes(moved.sources[piece.piece->source].dtype),
                                      element_bytes(moved.targets[piece.piece->target].dtype));
    }
    return traffic;
}

} // namespace bench

#endif
