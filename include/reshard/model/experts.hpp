// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_EXPERTS_HPP
#define RESHARD_MODEL_EXPERTS_HPP

#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <string>

/// \file
/// Experts of a layer: their numbers in the model, and on the rank that holds them.

namespace reshard::model {

/// Equally many experts on each expert-parallel rank, in order.
///
/// A key must have the number in the model: with the local one, experts of different ranks would
/// share a key.
struct expert_numbers {
    /// \throws error with errc::bad_layout where the experts cannot be shared equally
    constexpr expert_numbers(index_t all, index_t ranks) : experts_(all), ranks_(ranks) {
        if (all < 0 || ranks < 1 || all % ranks != 0)
            fail(errc::bad_layout,
                 std::to_string(all) +
                     " experts cannot be shared equally by ep=" + std::to_string(ranks) + " ranks");
    }

    /// How many a rank holds.
    constexpr index_t local_count() const { return experts_ / ranks_; }

    /// The expert-parallel rank that holds an expert.
    ///
    /// \throws error with errc::bad_layout for an expert that is not there
    constexpr index_t rank_of(index_t expert) const {
        check(expert, experts_, "expert");
        return expert / local_count();
    }

    /// The number of an expert on its rank.
    ///
    /// \throws error with errc::bad_layout for an expert that is not there
    constexpr index_t local(index_t expert) const {
        check(expert, experts_, "expert");
        return expert % local_count();
    }

    /// The number in the model of expert `local` of a rank.
    ///
    /// \post   `rank_of` and `local` of it are the arguments
    /// \throws error with errc::bad_layout for a rank or an expert that is not there
    constexpr index_t global(index_t rank, index_t local) const {
        check(rank, ranks_, "expert-parallel rank");
        check(local, local_count(), "local expert");
        return rank * local_count() + local;
    }

private:
    static constexpr void check(index_t number, index_t count, char const* what) {
        if (number < 0 || number >= count)
            fail(errc::bad_layout, std::string("there is no ") + what + " " +
                                       std::to_string(number) + " among " + std::to_string(count) +
                                       "; numbering starts at 0");
    }

    index_t experts_;
    index_t ranks_;
};

/// Which layers have experts: from `first` on, one of `every`.
///
/// \pre        `every > 0`
/// \par Source `first_k_dense_replace` and `moe_layer_freq` of DeepSeek and Megatron-Core
struct expert_layers {
    index_t first = 0;
    index_t every = 1;

    constexpr bool contains(index_t layer) const {
        BOOST_ASSERT(every > 0);
        return layer >= first && (layer - first) % every == 0;
    }
};

} // namespace reshard::model

#endif
