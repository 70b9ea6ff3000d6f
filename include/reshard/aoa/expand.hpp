// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_EXPAND_HPP
#define RESHARD_AOA_EXPAND_HPP

#include <reshard/aoa/macro/attempt.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/fused.hpp>
#include <reshard/aoa/macro/placeholder.hpp>
#include <reshard/aoa/macro/star.hpp>
#include <reshard/aoa/macro/transpose.hpp>
#include <reshard/core/config.hpp>

#include <optional>
#include <string_view>
#include <vector>

/// \file
/// Program to program: macros become the statements that they stand for.

namespace reshard::aoa::detail {

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
    bool needs_chain = false; ///< asks into how many parts a tensor is cut
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
    {"fused_qkv", each<detail::expand_fused_qkv>},
};

/// A program without macros, and what there is to say of it.
struct expansion {
    program code;
    std::vector<finding> findings;        ///< `describe(code, finding)` has the words
    std::optional<errc> first_error = {}; ///< of the first finding that is an error
    bool is_complete = true; ///< false: a limit ended it, and macros are left in `code`
};

namespace detail {

/// Whether any statement has the word of a macro that needs to know how tensors are cut.
RESHARD_DECL bool needs_chain(macro_context const& context,
                              std::vector<statement> const& statements);

} // namespace detail

/// The statements that `written` stands for, over the tensors of `source`, which is what is read,
/// and of `target`, which may be unknown.
///
/// Every error is a finding, and the other statements are expanded all the same; what a statement
/// with an error would have made is without a value, which `lower_all` passes over.
///
/// \post       where the expansion is complete, no name of the result has a placeholder, an array,
///             a star or `^T`, and no macro's word is left
/// \par Source the macros of AOA (PaddlePaddle flex_checkpoint), 3 of its description; there they
///             rewrite text, here they replace nodes, and temporaries cannot collide with a name
RESHARD_DECL expansion expand_all(program const& written, catalog const& source,
                                  catalog const* target = nullptr,
                                  expand_options const& options = {});

/// The same; the first error is thrown.
///
/// \throws error with errc::bad_macro, errc::unknown_key, errc::shape_mismatch or
///         errc::limit_exceeded, with the place in the text, a caret and the chain of macros
RESHARD_DECL expansion expand(program const& written, catalog const& source,
                              catalog const* target = nullptr, expand_options const& options = {});

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/expand.ipp>
#endif

#endif
