// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_PIECE_LIMIT_HPP
#define RESHARD_EXPR_PIECE_LIMIT_HPP

#include <reshard/core/error.hpp>
#include <reshard/expr/piece.hpp>

#include <cstddef>
#include <string>

/// \file
/// How many pieces an operation may make.

namespace reshard::detail {

/// Counts pieces, and refuses too many: pieces of a few elements
/// take more memory than the elements.
class piece_limit {
public:
    static constexpr std::size_t default_most = std::size_t{1} << 22;

    constexpr explicit piece_limit(std::size_t most = default_most) : most_(most) {}

    /// Counts one more.
    ///
    /// \param  whole it is, or is cut from; for the message
    /// \throws error with errc::limit_exceeded
    constexpr void count(piece const& whole) {
        if (left() == 0) {
            is_exceeded_ = true;
            fail(errc::limit_exceeded, "a box of shape " + to_string(whole.target_box().shape) +
                                           " made from one of shape " +
                                           to_string(whole.source_box().shape) +
                                           " takes more than " + std::to_string(most_) +
                                           " pieces; cut the tensor along an outer axis");
        }
        ++made_;
    }

    constexpr std::size_t left() const { return most_ - made_; }
    constexpr bool is_exceeded() const { return is_exceeded_; }

private:
    std::size_t most_;
    std::size_t made_ = 0;
    bool is_exceeded_ = false;
};

} // namespace reshard::detail

#endif
