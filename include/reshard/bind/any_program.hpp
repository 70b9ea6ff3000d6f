// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_ANY_PROGRAM_HPP
#define RESHARD_BIND_ANY_PROGRAM_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/layout/catalog.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

/// \file
/// What a redistribution does with tensors: anything that gives a mapping of two catalogs.

namespace reshard {

namespace detail {

/// A program that has a function `mapping_of(program, source, target)` in its own namespace, as
/// `aoa::program` has.
template <class P>
concept catalog_program = requires(P const& program, catalog const& source, catalog const* target) {
    { mapping_of(program, source, target) } -> std::convertible_to<mapping>;
};

} // namespace detail

/// A mapping, AOA text that was parsed, or a function of the catalogs of both sides.
///
/// A function is called on every rank, with the same catalogs: it must give the same mapping, or
/// the same error. A default-constructed program moves tensors by name.
class any_program {
public:
    using function = std::function<mapping(catalog const& source, catalog const* target)>;

    /// Each target tensor is the source tensor of the same name.
    any_program() = default;

    any_program(mapping known) : program_(std::move(known)) {}

    /// By name where there is no mapping.
    any_program(std::optional<mapping> known) {
        if (known)
            program_ = std::move(*known);
    }

    template <detail::catalog_program Program>
    any_program(Program program)
        : program_(function(
              [kept = std::move(program)](catalog const& source, catalog const* target) -> mapping {
                  return mapping_of(kept, source, target);
              })) {}

    template <class F>
        requires(!std::same_as<F, any_program> &&
                 std::is_invocable_r_v<mapping, F const&, catalog const&, catalog const*>)
    any_program(F program) : program_(function(std::move(program))) {}

    bool is_by_name() const { return std::holds_alternative<std::monostate>(program_); }

    /// The mapping that it was made from, or null.
    mapping const* known() const { return std::get_if<mapping>(&program_); }

    /// The function that it was made from, or null.
    function const* made() const { return std::get_if<function>(&program_); }

private:
    std::variant<std::monostate, mapping, function> program_;
};

} // namespace reshard

#endif
