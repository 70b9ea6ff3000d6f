// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CHECK_HPP
#define RESHARD_EXPR_CHECK_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/expr/losses.hpp>
#include <reshard/expr/mapping.hpp>

#include <string>
#include <vector>

/// \file
/// Everything that can be said of a mapping before any byte moves.

namespace reshard {

namespace detail {

/// The keys of a mapping by what happens to them; those of the target, but for `removed`.
struct key_classes {
    std::vector<std::string> identity;    ///< the source's tensor of that name, unchanged
    std::vector<std::string> renamed;     ///< another tensor of the source, unchanged
    std::vector<std::string> transformed; ///< anything else
    std::vector<std::string> added;       ///< without a source
    std::vector<std::string> removed;     ///< of the source, by a statement

    bool operator==(key_classes const&) const = default;
};

/// Sorts the keys of a mapping over `source` into classes. A tensor without elements that the
/// source has under another name is renamed.
RESHARD_DECL key_classes classify(mapping const& map, catalog const& source);

/// A fault of a mapping, or something worth knowing.
///
/// `code` is for programs: of an error, the name of its `errc`; of a note `unused`, `rounded` or
/// `not_wanted`.
struct mapping_finding {
    severity level;
    std::string code;
    std::string key; ///< of a target tensor; of `unused` and `rounded`, of a source tensor
    std::string message;

    bool operator==(mapping_finding const&) const = default;
};

} // namespace detail

/// What `check` says of a mapping.
struct report {
    std::vector<detail::mapping_finding> findings; ///< errors first
    detail::key_classes keys;
    std::vector<detail::loss> losses; ///< what the mapping destroys

    bool ok() const;
    bool invertible() const { return losses.empty(); }
};

/// Everything that is wrong with a mapping of the tensors of `source` to those of `target`, which
/// may be unknown, or that is worth knowing: never the first finding alone, and one for each fault.
///
/// Errors: an element of a target tensor without a source or with two, pieces that leave their
/// tensors, shapes and data types that differ from those of source and target, keys that nobody
/// has. Notes: source elements that no target uses, tensors that are rounded, tensors that nobody
/// wants.
///
/// \par Source no other system says before a byte moves that a program is right
RESHARD_DECL report check(mapping const& map, catalog const& source,
                          catalog const* target = nullptr);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/check.ipp>
#endif

#endif
