// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_MACROS_HPP
#define RESHARD_AOA_MACRO_MACROS_HPP

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/fused.hpp>
#include <reshard/aoa/macro/placeholder.hpp>
#include <reshard/core/config.hpp>

#include <string_view>
#include <vector>

/// \file
/// All macros, and what is done before and after they are applied.

namespace reshard::aoa::detail {

/// Replaces each `x^T` by a temporary, which a statement before it makes of `x` with all axes
/// reversed.
///
/// Finding: errc::bad_macro for `x^T` right of the arrow.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the transpose macro of AOA (PaddlePaddle flex_checkpoint), which reverses all axes
///             too
RESHARD_DECL void expand_transpose(macro_context& context, std::vector<statement>& statements);

/// A name of the segments that are left: a text where they are all text.
RESHARD_DECL name make_name(program& code, std::vector<segment> segments, name const& like);

/// Replaces each name with `[a:b]` by the names with `_a`, ..., `_(b-1)` behind them.
///
/// \throws     failed_statement with errc::bad_macro for a range without numbers
/// \par Source the array macro of AOA (PaddlePaddle flex_checkpoint); there such a range deletes
///             the name
RESHARD_DECL void expand_array(macro_context& context, statement const& one,
                               std::vector<statement>& expanded);

/// Replaces each name with `*` by the keys that equal it with a number for `*`, in numeric order:
/// keys of the source left of the arrow or, where none matches, names that earlier statements make;
/// keys of the target right of it. `e.*.w -> _` removes each of them, `_ -> e.*.w` adds each.
///
/// Findings: errc::bad_macro for two stars, a star with `^T`, or one on the right without a target;
/// errc::unknown_key when nothing matches.
///
/// \throws     failed_statement with errc::limit_exceeded
/// \par Source the star macro of AOA (PaddlePaddle flex_checkpoint); there keys of the source alone
RESHARD_DECL void expand_star(macro_context& context, std::vector<statement>& statements);

/// Breaks the statements with attributes that no statement can have: what is wrong is said once,
/// and not for each layer.
RESHARD_DECL void check_attributes(macro_context& context, std::vector<statement>& statements);

/// Keys by outline, in which numbers are not told apart.
class outline_set {
public:
    void add(std::vector<segment> const& segments);

    bool has(std::string_view key) const;

    bool empty() const;

private:
    name_table outlines_;
};

/// The keys of a side that some lost name may mean.
RESHARD_DECL std::vector<std::string_view> keys_in(outline_set const& lost, catalog const* keys,
                                                   std::vector<state_suffix> const& suffixes);

/// Puts a broken statement before all others that reads and binds whatever broken statements with
/// open numbers may have meant.
RESHARD_DECL void restore_lost_names(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

/// A macro: what it is called, and what it does to all statements of a program.
struct macro {
    std::string_view name;
    void (*expand)(macro_context&, std::vector<statement>&);
    bool needs_chain = false; ///< asks how a tensor is cut
};

/// All macros, in the order in which each is applied to everything that the one before it made.
///
/// \par Source the order of AOA (PaddlePaddle flex_checkpoint), 3.1 of its description; the layer
///             offset and the ids are one macro here
inline constexpr macro macros[] = {
    {"$NAME", detail::expand_placeholders},
    {"[a:b]", each<detail::expand_array>},
    {"*", detail::expand_star},
    {"^T", detail::expand_transpose},
    {"fused_qkv_old", each<detail::expand_fused_qkv_old>, true},
    {"fused_ffn", each<detail::expand_fused_ffn>, true},
    {"fused_qkv", each<detail::expand_fused_qkv>, true},
};

namespace detail {

/// Whether any statement has the word of a macro that needs to know how tensors are cut.
RESHARD_DECL bool needs_chain(macro_context const& context,
                              std::vector<statement> const& statements);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/macros.ipp>
#endif

#endif
