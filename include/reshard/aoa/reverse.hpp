// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REVERSE_HPP
#define RESHARD_AOA_REVERSE_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/losses.hpp>
#include <reshard/layout/catalog.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

/// \file
/// Program to program: from a program's results back to its sources.

namespace reshard::aoa {

/// Options of `reverse`. Losses that they do not allow are errors.
struct reverse_options {
    lower_options lowering = {}; ///< for the program itself, and for the reversed program
    bool allow_rounding = false; ///< a cast that rounds is reversed to the cast back
    /// Removed or replaced tensors come back without their content: `_ -> key`.
    bool allow_removed = false;
    bool allow_copies = true; ///< if a tensor has several copies, the first is taken back
    bool take_first = false;  ///< without comparing it with the others when the program runs
};

/// A program in the other direction, and the findings about it.
struct reversal {
    program code;             ///< over the text of the program that was reversed
    vector<finding> findings; ///< `describe(code, finding)` has the words
    std::optional<errc> first_error;
    vector<detail::loss> losses = {}; ///< of the program itself, including the allowed ones
};

namespace detail {

/// Finds losses by key.
class lost_elements {
public:
    /// `losses` have to outlive this object.
    explicit lost_elements(vector<loss> const& losses);

    bool has(std::string_view key) const { return by_key_.contains(key); }

    /// Words that follow the reason why a tensor cannot be recovered: its boxes that are lost, or
    /// rounded. Empty for a tensor that is removed, because the reason is complete.
    std::string describe(catalog_entry const& of) const;

private:
    std::unordered_map<std::string_view, loss const*> by_key_;
};

} // namespace detail

/// The program that makes the tensors of `source` from the tensors of `target`, with its findings.
///
/// `source` and `target` are the sides of `expanded` itself: its sources and its results; without a
/// target, all tensors that it leaves over. When the result runs, `target` is its source and
/// `source` is its target. Optimizer state follows.
///
/// Every reason why the program cannot be reversed is a finding: the lost elements, and the
/// statement that loses them. Each unused copy is a note; a copy that is the same tensor under
/// another name is compared when the program runs. A tensor that no statement has whole is put
/// together from pieces, 1,024 at most.
///
/// \pre        `expanded` is a result of `expand`
/// \post       without an error, running both in turn is the identity on `source`
/// \par Source 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there an uneven concat
///             is split evenly, losses are not found, and fused macros count parts on the wrong
///             side
RESHARD_DECL reversal reverse_all(program const& expanded, catalog const& source,
                                  catalog const* target = nullptr,
                                  reverse_options const& options = {});

/// The same; the first error is thrown.
///
/// \throws error as `lower`, or with errc::not_invertible, with the position in the text, a caret
///         and the chain of macros
RESHARD_DECL program reverse(program const& expanded, catalog const& source,
                             catalog const* target = nullptr, reverse_options const& options = {});

/// A tensor whose facts are known, perhaps except for its data type.
struct known_tensor {
    catalog_entry entry;
    bool is_typed = true;
    bool is_wanted = true; ///< false: made again only if the target has elements of it
};

/// The tensors that a program reads, and the findings about them.
struct inference {
    catalog tensors;
    vector<finding> findings;
    std::optional<errc> first_error;
};

/// The catalog of known tensors, for `expand`.
RESHARD_DECL catalog catalog_of(vector<known_tensor> const& tensors);

/// The tensors that a program reads if it makes the tensors of `target`: the known ones, and those
/// that can be derived from their results.
///
/// Operands of a concat about which nothing is known are assumed to be of equal size, with a
/// warning unless a fused macro says that they are. The type before a cast and the shape before a
/// reshape follow from `tensors` alone: an error says for which tensor they are missing.
///
/// \pre        `expanded` is a result of `expand` with `expand_options::reverse`, over `target`
/// \par Source the reverse mode of AOA (PaddlePaddle flex_checkpoint), which takes every concat for
///             an even one
RESHARD_DECL inference infer_source(program const& expanded, vector<known_tensor> const& tensors,
                                    catalog const& target);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/infer_source.ipp>
#include <reshard/aoa/impl/reverse.ipp>
#endif

#endif
