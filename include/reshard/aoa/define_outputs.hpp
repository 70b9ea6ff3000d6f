// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/lower_context.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_DEFINE_OUTPUTS_HPP
#define RESHARD_AOA_DEFINE_OUTPUTS_HPP

#include <reshard/aoa/macro/pattern_index.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/aoa/source_names.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The second half of `lower`: defines the keys of the target or, without a target, the tensors
/// that remain after the program. Optimizer state follows its parameter.

namespace reshard::aoa::detail {

/// The statements of a program whose placeholders match no key, by the keys that they would make.
class missing_makers {
public:
    /// \pre the program outlives this object
    explicit missing_makers(program const& code);

    /// Advice about `parameter`, which no statement makes. If the placeholders of a statement that
    /// would make it match no key, the advice names that statement; otherwise it proposes a new
    /// statement.
    std::string advice(std::string_view parameter);

private:
    void add(statement const& statement, name const& name);

    program const& code_;
    pattern_index index_;
    vector<std::size_t> makers_;               ///< by pattern: the index of the unmatched statement
    mutable std::int64_t searches_left_ = 256; ///< a limit, since each search is slow
};

/// Defines each key of the target, in order. If the target is unknown, defines each tensor that no
/// statement reads: tensors of the source, and results of statements.
///
/// \par Source section 4.10 of the description of AOA; there `a -> c, axis=0` does not count as
///             reading `a`
RESHARD_DECL void define_outputs(lower_context& context);

/// Refuses scales unless each block of their tensor has exactly one.
RESHARD_DECL void check_scales(catalog_entry const& tensor, catalog_entry const& scales,
                               index_vector const& block);

/// For example `'a', 'b' and 3 more`, for `count` keys in total.
RESHARD_DECL std::string listed(vector<std::string> const& quoted, std::size_t count);

/// Fails because not all tensors that make up `parameter` have the state.
[[noreturn]] RESHARD_DECL void fail_without_state(source_names const& source,
                                                  bound_value const& parameter,
                                                  state_suffix const& state,
                                                  std::string const& key);

/// Whether the tensors of a value have the state; std::nullopt if only some of them have it.
RESHARD_DECL std::optional<bool> has_state(source_names const& source, bound_value const& parameter,
                                           state_suffix const& state);

/// The state `key` of the parameter with the value `parameter`: the same boxes of its sources'
/// states, in the states' data type, and zeros for zeros of the parameter. A scalar state is the
/// first source's state. Scales follow the blocks of their tensors.
///
/// \throws     error with errc::unknown_key if a source has no such state, with
///             errc::shape_mismatch if the state's shape differs from the parameter's, with
///             errc::dtype_mismatch if the states of the sources differ in type
/// \pre        `parameter` is made of at least one source
/// \par Source section 4.8 of the description of AOA; there a parameter's cast is applied to its
///             state too
RESHARD_DECL expression state_of(source_names const& source, bound_value const& parameter,
                                 state_suffix const& state, std::string const& key);

/// Records that the scalar states of all sources of a parameter have to be equal.
///
/// \throws error with errc::shape_mismatch or errc::dtype_mismatch if they cannot be equal
RESHARD_DECL void relate_numbers(lower_context& context, bound_value const& parameter,
                                 state_suffix const& state);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/define_outputs.ipp>
#include <reshard/aoa/impl/state_rule.ipp>
#endif

#endif
