// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CHECK_HPP
#define RESHARD_EXPR_CHECK_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/losses.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <optional>
#include <string>

/// \file
/// All checks of a mapping before any byte moves.

namespace reshard {

namespace detail {

/// The keys of a mapping by what happens to their tensors; target keys, except for `removed`.
struct key_classes {
    vector<std::string> identity;    ///< the source tensor of the same name, unchanged
    vector<std::string> renamed;     ///< another source tensor, unchanged
    vector<std::string> transformed; ///< anything else
    vector<std::string> added;       ///< has no source
    vector<std::string> removed;     ///< source keys that a statement removes

    bool operator==(key_classes const&) const = default;
};

/// Sorts the keys of a mapping over `source` into classes. A tensor without elements counts as
/// renamed if the source has it under another name.
RESHARD_DECL key_classes classify(mapping const& map, catalog const& source);

/// A fault of a mapping, or a useful note.
///
/// `code` is for programs: the name of an error's `errc`, or `unused`, `rounded` or `not_wanted`
/// for a note.
struct mapping_finding {
    severity level;
    std::string code;
    std::string key; ///< of a target tensor; for `unused` and `rounded`, of a source tensor
    std::string message;

    bool operator==(mapping_finding const&) const = default;
};

/// Relates a quantised tensor to its scales: how many elements have how many scales. The keys and
/// extents of both decide; std::nullopt if these do not fit.
///
/// \param said facts that decide if the extents allow several forms
RESHARD_DECL std::optional<block_form> form_of_scales(catalog_entry const& tensor,
                                                      catalog_entry const& scales,
                                                      quantisation_facts const& said);

/// The scales that a dequantized tensor is multiplied by.
struct tensor_scales {
    std::string key;
    block_form form;
    value_packing packing = value_packing::none;
    std::string of_scales = {};      ///< a tensor of one number that the scales are multiplied by
    bool divides = false;            ///< they are divided by it instead
    vector<std::string> no_use = {}; ///< tensors without meaning once it is dequantized

    /// The keys of all these tensors.
    vector<std::string> companions() const {
        vector<std::string> keys = no_use;
        keys.push_back(key);
        if (!of_scales.empty())
            keys.push_back(of_scales);
        return keys;
    }
};

/// The relations that record these scales in a mapping.
RESHARD_DECL vector<relation> relations_of(std::string const& tensor, tensor_scales const& scales);

/// The elements of a quantised tensor times their scales.
///
/// \par Shape  the tensor's; packed values have axes of their own, as `value_packing` says
/// \throws     error as `dequantized`; the text follows the tensor's name
RESHARD_DECL expression dequantized(expression const& tensor, value_packing packing,
                                    data_type dtype);

/// Whether a catalog has scales of a tensor, or other tensors that belong to it.
RESHARD_DECL bool has_scales(catalog_entry const& tensor, catalog const& source);

/// The scales of a quantised tensor, by the names of conventions; std::nullopt for integers that
/// have no companions.
///
/// \throws error with errc::unknown_key if there are none, with errc::unsupported for other
///         schemes, with errc::shape_mismatch or errc::dtype_mismatch if the scales do not fit,
///         or if the extents of blocks are not certain
RESHARD_DECL std::optional<tensor_scales> scales_to_dequantize(catalog_entry const& tensor,
                                                               catalog const& source);

/// The `scales=` pattern for scales: `*.weight_packed => *.weight_scale` for `q.weight_scale`.
/// Empty if `source` lacks the tensor to which they belong by a known convention.
RESHARD_DECL std::string pattern_of_scales(std::string const& scales, catalog const& source);

/// A quantised output that is separated from its scales.
struct scale_finding {
    severity level; ///< error; a warning if readers may load the output without its scales
    errc code;      ///< errc::unknown_key: no output has the scales
    std::string key;
    std::string message;
    std::string statement = {}; ///< end of the message: a statement that carries the scales along
    std::string rename = {};    ///< renames for that: `q.weight_scale=p.weight_scale`, or empty
};

/// Relates the outputs of a program to their scales, zero points and similar tensors, by the names
/// of known conventions. Finds outputs that the program separates from these tensors: outputs that
/// it casts, or that it renames, fuses or cuts inside a block without them. Errors come first.
///
/// \param source the layout that the program reads
RESHARD_DECL vector<scale_finding> carry_scales(mapping& program, layout const& source);

/// Relates the outputs of a program to the scales of the numbers that it quantizes, and finds
/// outputs whose numbers it moves, joins or cuts in another way than their scales.
RESHARD_DECL vector<scale_finding> relate_quantised(mapping& program);

/// Warns if a program changes or renames a quantised tensor, or if `target` cuts it, and another
/// tensor of a similar key looks like its scales but follows no known convention.
///
/// \param target may be null
RESHARD_DECL std::optional<scale_finding>
find_unknown_scales(mapping const& program, layout const& source, layout const* target);

/// Does what `carry_scales` does, and fails on errors.
///
/// \param needs_all whether it is an error if no output has the scales
/// \throws error for the first finding that is an error
RESHARD_DECL void check_scales(mapping& program, layout const& source, bool needs_all);

} // namespace detail

/// The result of checking a mapping.
struct report {
    vector<detail::mapping_finding> findings; ///< errors first
    detail::key_classes keys;
    vector<detail::loss> losses; ///< the elements that the mapping loses

    bool ok() const;
    bool invertible() const { return losses.empty(); }
};

/// All findings about a mapping from the tensors of `source` to the tensors of `target`: one for
/// each fault, and useful notes. `target` may be null.
///
/// Errors: target elements with no source or with two, pieces that exceed their tensors, shapes and
/// data types that differ between the mapping and either side, unknown keys. Notes: source elements
/// that no target uses, tensors that are rounded, tensors that the target does not want.
///
/// \par Source no other system checks a whole program before a byte moves
RESHARD_DECL report check(mapping const& map, catalog const& source,
                          catalog const* target = nullptr);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/carry_scales.ipp>
#include <reshard/expr/impl/check.ipp>
#include <reshard/expr/impl/find_scales.ipp>
#include <reshard/expr/impl/unknown_scales.ipp>
#endif

#endif
