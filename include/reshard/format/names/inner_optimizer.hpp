// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_INNER_OPTIMIZER_HPP
#define RESHARD_FORMAT_NAMES_INNER_OPTIMIZER_HPP

#include <reshard/core/error.hpp>

#include <concepts>
#include <type_traits>

/// \file
/// Finds the optimizer that holds the state, if optimizers wrap each other.

namespace reshard::model {

/// Says how to get the optimizer inside a wrapper. Specialise it for your own types:
///
/// ```
/// template <> struct reshard::model::optimizer_traits<group_sharded_optimizer> {
///     static auto& inner(auto& outer) { return outer.wrapped; }
/// };
/// ```
/// `inner` returns a reference or a pointer. For a type that may wrap objects of the same type,
/// return a pointer, which is null if the object wraps nothing. A type without `inner` holds its
/// state itself.
template <class Optimizer>
struct optimizer_traits {};

/// An optimizer that wraps another optimizer.
template <class T>
concept wraps_optimizer =
    requires(T& outer) { optimizer_traits<std::remove_cv_t<T>>::inner(outer); };

/// The optimizer inside all wrappers, which holds the state and updates it.
///
/// A wrapper may return a copy of the state, or no state. The next step changes the state of the
/// inner optimizer.
///
/// \throws     error with errc::usage if more than 64 optimizers of one type wrap each other
/// \par Source PaddlePaddle's optimizers of stage 3, of hybrid parallelism and of gradient scaling
///             wrap each other; there, the checkpoint code tests for known types
template <class T>
constexpr auto& unwrap_optimizer(T& optimizer) {
    if constexpr (!wraps_optimizer<T>) {
        return optimizer;
    } else {
        using traits = optimizer_traits<std::remove_cv_t<T>>;
        if constexpr (!std::is_pointer_v<decltype(traits::inner(optimizer))>) {
            return unwrap_optimizer(traits::inner(optimizer));
        } else {
            static_assert(std::convertible_to<decltype(traits::inner(optimizer)), T*>,
                          "optimizers that wrap each other by pointers must have the same type");
            constexpr int most = 64;
            T* at = &optimizer;
            for (int depth = 0; T* const next = traits::inner(*at); ++depth, at = next)
                if (depth == most)
                    fail(errc::usage, "more than ", most,
                         " optimizers wrap each other; does one wrap itself?");
            return *at;
        }
    }
}

} // namespace reshard::model

#endif
