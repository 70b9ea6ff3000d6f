// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_FUSED_HPP
#define RESHARD_AOA_MACRO_FUSED_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/macro/context.hpp>
#include <reshard/aoa/macro/parts.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What the fused macros share: their arguments by name, and pieces that are split and put
/// together.

namespace reshard::aoa::detail {

/// Replaces `s -> d`, `s -> q, k, v` and `q, k, v -> d`, each with `fused_qkv_old`, by splits and
/// concats. The fused tensor has, for each part that it is cut into, its queries, its keys, its
/// values.
///
/// \throws     failed_statement with errc::bad_macro for another form, a number that is missing or
///             does not fit, heads that do not divide into the parts, or an attribute it does not
///             have
/// \par Source the fused_qkv_old macro of AOA (PaddlePaddle flex_checkpoint); there heads that do
///             not divide are lost
RESHARD_DECL void expand_fused_qkv_old(macro_context& context, statement const& one,
                                       std::vector<statement>& expanded);

/// Replaces `q, k, v -> d, fused_qkv, ...` and `s -> q, k, v, fused_qkv, ...` by splits and
/// concats. The fused tensor has, of each group of heads, its queries, its key, its value; how it
/// is cut does not matter.
///
/// \throws     failed_statement with errc::bad_macro for another form, a number that is missing or
///             does not fit, or an attribute it does not have
/// \par Source the fused_qkv macro of AOA (PaddlePaddle flex_checkpoint), where
///             `num_key_value_groups` is the number of key heads
RESHARD_DECL void expand_fused_qkv(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded);

/// The pieces as they lie in a tensor of `parts` parts: of each part first the gate, then the up.
RESHARD_DECL std::vector<name> ffn_order(std::span<name const> gate, std::span<name const> up,
                                         index_t parts);

/// Replaces `s -> d, fused_ffn`, `s -> gate, up, fused_ffn` and `gate, up -> d, fused_ffn` by
/// splits and concats that know how both sides cut the fused tensor.
///
/// \throws     failed_statement with errc::bad_macro for another form, an attribute it does not
///             have, or parts that cannot be told
/// \par Source the fused_ffn macro of AOA (PaddlePaddle flex_checkpoint); there the number of parts
///             is that of different offsets along any axis, and 1 for a transposed tensor
RESHARD_DECL void expand_fused_ffn(macro_context& context, statement const& one,
                                   std::vector<statement>& expanded);

/// The first name that has stood before in the list, or null.
///
/// \pre each is a text or a temporary
RESHARD_DECL name const* repeated_name(std::span<name const> names);

/// The statement of a fused macro, which knows how it should have been written.
class fused_statement {
public:
    fused_statement(macro_context& context, statement const& one, std::string_view word,
                    std::string_view form);

    /// Refuses attributes that are none of these and not the macro's own word.
    void allow(std::initializer_list<std::string_view> words) const;

    /// The number of that word, or nothing.
    std::optional<index_t> number(std::string_view word) const;

    /// The number that has two words: `name` and its older `other`.
    index_t heads(std::string_view name, std::string_view other) const;

    /// The axis along which the macro cuts and joins: 1 where the statement names none.
    index_t axis() const { return number("axis").value_or(1); }

    /// Throws what is wrong with the statement; `why` goes on after the macro's word.
    [[noreturn]] void refuse(std::string const& why, text_span where) const;

    /// Refuses a number of names that no form of the macro has, and a result that stands twice.
    void check_form(bool is_known) const;

    /// Into how many parts the tensors that the first left and the first right name mean are cut.
    index_t left_parts() const;
    index_t right_parts() const;

    /// A temporary that would be called `preferred`.
    name fresh(std::string const& preferred) const;

    /// `count` temporaries: `prefix0`, `prefix1`, ...
    std::vector<name> pieces(std::string const& prefix, index_t count) const;

    name left(std::size_t i) const;
    name right(std::size_t i) const;
    std::string text(name const& of) const;

    /// Appends `from -> to, axis=...`: a split, a concat, or a plain renaming of one to one.
    void append(std::vector<statement>& expanded, std::span<name const> from,
                std::span<name const> to);

private:
    using question = std::optional<index_t> (part_counter::*)(statement const&, std::uint32_t,
                                                              index_t) const;

    /// The answer for name number `i`; 1 where it is not known, with a warning where its tensors
    /// are.
    index_t parts(bool left, std::uint32_t i, question ask) const;

    macro_context& context_;
    statement one_;
    statement like_;
    bool like_is_ready_ = false;
    std::string_view word_;
    std::string_view form_;
};

/// Whether a statement has the word of a macro.
RESHARD_DECL bool is_fused(macro_context const& context, statement const& one,
                           std::string_view word);

/// How many heads there are: of the queries, and of the keys (and as many of the values).
struct head_counts {
    index_t query;
    index_t key;
};

/// The numbers of heads that a statement of `fused_qkv` or `fused_qkv_old` names.
///
/// \throws failed_statement with errc::bad_macro for one that is missing, said twice or no multiple
///         of the other, and for another attribute
RESHARD_DECL head_counts read_heads(fused_statement const& fused);

/// The heads in the order of the fused tensor, cut into `groups`: of each group its queries, its
/// keys, its values.
RESHARD_DECL std::vector<name> qkv_order(std::vector<name> const (&heads)[3], std::size_t groups);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/fused.ipp>
#endif

#endif
