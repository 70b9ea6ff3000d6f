// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_ANY_PROGRAM_HPP
#define RESHARD_BIND_ANY_PROGRAM_HPP

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Any program of a redistribution, and the steps of a call with it.

namespace reshard {

class any_program;
struct layout;

namespace detail {

struct conversion_kernels;

/// A program that has a function `mapping_of(program, source, target)` in its own namespace, as
/// `aoa::program` has.
template <class P>
concept catalog_program = requires(P const& program, catalog const& source, catalog const* target) {
    { mapping_of(program, source, target) } -> std::convertible_to<mapping>;
};

/// The known facts about one side of a call.
struct side_facts {
    layout const* known = nullptr;             ///< null if no rank knows it
    std::vector<std::vector<cut_tensor>> cuts; ///< of each rank, if `known` is null
};

/// The steps of a call with its program. A call that moves tensors by name compiles none of it.
struct program_steps {
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank: as the program; errc::ranks_disagree if it
    ///         gives different mappings
    mapping (*make_mapping)(any_group const& ranks, any_program const& program,
                            side_facts const& source, side_facts const& target);

    /// Refuses tensors that the program takes for equal, and that differ.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error with errc::overlap, on every rank
    void (*compare_copies)(any_group const& ranks, const_state_dict const& tensors,
                           mapping const& program, tensor_mover const& move);

    /// Of a mapping, the keys among it that it leaves over.
    std::uint64_t (*digest)(mapping const& program);

    /// Refuses a target whose ranks lack scales of their elements.
    ///
    /// \throws error with errc::bad_layout
    void (*check)(mapping const& program, layout const& target);

    conversion_kernels const& conversions;
};

/// The steps of all programs.
RESHARD_DECL program_steps const& steps_of_programs();

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

    any_program(mapping mapping) : any_program(content(std::move(mapping))) {}

    /// By name if there is no mapping.
    any_program(std::optional<mapping> mapping) {
        if (mapping)
            *this = std::move(*mapping);
    }

    template <detail::catalog_program Program>
    any_program(Program program)
        : any_program(content(function(
              [kept = std::move(program)](catalog const& source, catalog const* target) -> mapping {
                  return mapping_of(kept, source, target);
              }))) {}

    template <class F>
        requires(!std::same_as<F, any_program> &&
                 std::is_invocable_r_v<mapping, F const&, catalog const&, catalog const*>)
    any_program(F program) : any_program(content(function(std::move(program)))) {}

    /// The program that other ranks of a redistribution have, for example on the other side: this
    /// rank need not know it. They give a function, or text that was parsed.
    static any_program of_other_ranks() { return any_program(content(elsewhere())); }

    bool is_by_name() const { return std::holds_alternative<std::monostate>(program_); }
    bool is_of_other_ranks() const { return std::holds_alternative<elsewhere>(program_); }

    /// The mapping that it was made from, or null.
    mapping const* known() const { return std::get_if<mapping>(&program_); }

    /// The function that it was made from, or null; of a program that only other ranks have, one
    /// that throws.
    function const* made() const {
        static function const unknown = [](catalog const&, catalog const*) -> mapping {
            fail(errc::usage, "the program should come from other ranks, but no rank has one; give "
                              "it on one of them");
        };
        return is_of_other_ranks() ? &unknown : std::get_if<function>(&program_);
    }

    /// The steps of a call with it, or null if tensors move by name.
    detail::program_steps const* steps() const { return steps_; }

private:
    struct elsewhere {};

    using content = std::variant<std::monostate, mapping, function, elsewhere>;

    explicit any_program(content program)
        : program_(std::move(program)), steps_(&detail::steps_of_programs()) {}

    content program_;
    detail::program_steps const* steps_ = nullptr;
};

namespace detail {

/// The kernels that a call needs, or null if it casts nothing.
inline conversion_kernels const* conversions_of(any_program const& program) {
    return program.steps() ? &program.steps()->conversions : nullptr;
}

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/any_program.ipp>
#endif

#endif
