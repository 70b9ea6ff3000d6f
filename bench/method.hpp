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
/// The interface of a method, by which a benchmark redistributes.

namespace bench {

/// The bytes and messages that one rank sends to others in one run.
struct traffic {
    index_t bytes = 0;
    index_t messages = 0;
};

/// The input of a method: a case, and this rank's memory, laid out as `memory_map` says.
struct setting {
    boost::mpi::communicator world;
    redistribution_case const& moved;
    std::byte const* source = nullptr;
    std::byte* target = nullptr; ///< null for a method that owns the memory of its target
};

/// A way to redistribute, prepared for one case and for arrays that stay at their addresses.
///
/// Every rank calls the method's constructor, which takes a `setting`. A method has two static
/// members: the function `refusal(redistribution_case const&)` returns why the method cannot do a
/// case, or an empty text; `owns_target` is true if the constructor makes the target.
class method {
public:
    virtual ~method() = default;

    /// Fills the target. Every rank calls it.
    virtual void run() = 0;

    /// Fills the target if `run` only prepares. This time is not measured.
    virtual void finish() {}

    /// The messages of the method, if another library sends them without `MPI_Isend`.
    virtual std::optional<traffic> sent() const { return std::nullopt; }

    /// The memory of the target, if the method owns it.
    virtual std::byte* target() const { return nullptr; }
};

/// A method's name, and the function that prepares it.
struct contestant {
    std::string name;
    std::function<std::unique_ptr<method>(setting const&)> prepare;
    std::string refusal;      ///< why it cannot do the case; empty if it can
    bool owns_target = false; ///< if false, it fills the given memory
    bool is_bound = false;    ///< it is a bound: its copies are not checked
};

template <class Method, class... Arguments>
contestant contestant_of(std::string name, redistribution_case const& moved,
                         Arguments... arguments) {
    return {std::move(name),
            [=](setting const& where) { return std::make_unique<Method>(where, arguments...); },
            Method::refusal(moved), Method::owns_target};
}

/// The least traffic of a rank: one message to each rank that needs its elements.
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
