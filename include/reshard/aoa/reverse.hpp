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
/// Reverses a program: from its results back to its sources.

namespace reshard::aoa {

/// Options of `reverse`. A loss that they do not allow is an error.
struct reverse_options {
    lower_options lowering = {}; ///< for the program, and for the reversed program
    bool allow_rounding = false; ///< a cast that rounds is reversed by the opposite cast
    /// Removed or replaced tensors come back as zeros: `_ -> key`.
    bool allow_removed = false;
    bool allow_copies = true; ///< if a tensor has several copies, the first copy is used
    bool take_first = false;  ///< the copies are not compared when the program runs
};

/// A reversed program, and the findings about it.
struct reversal {
    program code;             ///< with the text of the original program
    vector<finding> findings; ///< `describe(code, finding)` prints a finding
    std::optional<errc> first_error;
    vector<detail::loss> losses = {}; ///< losses of the original program, also allowed ones
};

namespace detail {

/// Finds the losses of a tensor by key.
class lost_elements {
public:
    /// \pre `losses` outlive this object
    explicit lost_elements(vector<loss> const& losses);

    bool has(std::string_view key) const { return by_key_.contains(key); }

    /// The text after the reason why a tensor cannot be recovered: its lost or rounded boxes. Empty
    /// for a removed tensor, because the reason is complete.
    std::string describe(catalog_entry const& of) const;

private:
    std::unordered_map<std::string_view, loss const*> by_key_;
};

} // namespace detail

/// Reverses a program: the result makes the tensors of `source` from the tensors of `target`.
///
/// `source` and `target` are the sides of `expanded`: its sources and its results. Without a
/// target, the results are all tensors that remain after the program. When the reversed program
/// runs, `target` is its source, and `source` is its target. Optimizer state follows its parameter.
///
/// Every reason why the program cannot be reversed is a finding, with the lost elements and the
/// statement that loses them. Each unused copy is a note. A copy that is the same tensor under
/// another name is compared when the reversed program runs. A tensor that no statement has as a
/// whole is reassembled from at most 1,024 pieces.
///
/// \pre        `expanded` is a result of `expand`
/// \post       without an error, running both programs in turn is the identity on `source`
/// \par Source section 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there an
///             uneven concat is split evenly, losses are not detected, and fused macros count parts
///             on the wrong side
RESHARD_DECL reversal reverse_all(program const& expanded, catalog const& source,
                                  catalog const* target = nullptr,
                                  reverse_options const& options = {});

/// As `reverse_all`, but throws the first error.
///
/// \throws error as `lower`, or with errc::not_invertible, with the position in the text, a caret
///         and the chain of macros
RESHARD_DECL program reverse(program const& expanded, catalog const& source,
                             catalog const* target = nullptr, reverse_options const& options = {});

/// A tensor with known facts. Its data type may be unknown.
struct known_tensor {
    catalog_entry entry;
    bool is_typed = true;
    bool is_wanted = true; ///< false: included only if the target has elements of it
};

/// The tensors that a program reads, and the findings about them.
struct inference {
    catalog tensors;
    vector<finding> findings;
    std::optional<errc> first_error;
};

/// The catalog of the known tensors, for `expand`.
RESHARD_DECL catalog catalog_of(vector<known_tensor> const& tensors);

/// The tensors that a program has to read so that it makes the tensors of `target`: the known
/// tensors, and tensors that are inferred from their results.
///
/// If nothing is known about the operands of a concat, they are assumed to be of equal size, with a
/// warning unless a fused macro determines their sizes. The type before a cast and the shape before
/// a reshape come only from `tensors`; an error names the tensors that need them.
///
/// \pre        `expanded` is a result of `expand` with `expand_options::reverse`, over `target`
/// \par Source the reverse mode of AOA (PaddlePaddle flex_checkpoint), which assumes that every
///             concat is even
RESHARD_DECL inference infer_source(program const& expanded, vector<known_tensor> const& tensors,
                                    catalog const& target);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/infer_source.ipp>
#include <reshard/aoa/impl/reverse.ipp>
#endif

#endif
