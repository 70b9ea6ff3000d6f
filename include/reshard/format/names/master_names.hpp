// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_MASTER_NAMES_HPP
#define RESHARD_FORMAT_NAMES_MASTER_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/catalog.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Master weights that a checkpoint has under the names of another version.

namespace reshard::model {

/// The name that another version gives a master weight: `opt.w_fp32_master_0` for
/// `opt.master_weights.w`, and the reverse, in which the segment is the second. Nothing for other
/// keys.
///
/// \par Source the loader of PaddlePaddle Flex Checkpoint, which tries these names for keys that
///             are missing
RESHARD_DECL std::optional<std::string> other_master_name(std::string_view key);

/// A key that is wanted, and the name under which the tensor is stored.
struct renamed_key {
    std::string wanted;
    std::string stored;

    bool operator==(renamed_key const&) const = default;
};

/// The wanted keys that `stored` has under another version's name only, in their order: to be
/// reported, never taken in silence.
RESHARD_DECL std::vector<renamed_key> renamed_masters(std::vector<std::string> const& wanted,
                                                      catalog const& stored);

/// Defines each of these keys as the tensor that is stored under its other name.
///
/// \throws error with errc::unknown_key for a stored name that the catalog does not have
RESHARD_DECL void define_renamed(mapping& program, std::vector<renamed_key> const& renamed,
                                 catalog const& stored);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/master_names.ipp>
#endif

#endif
