// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_TOLD_PART_HPP
#define RESHARD_SERIALIZATION_TOLD_PART_HPP

#include <reshard/plan/told_part.hpp>
#include <reshard/serialization/plan.hpp>

#include <string>

/// \file
/// Parts of plans in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<told_part>{"part of a plan", 9, 1};

/// The numbers of its sources, then the plan.
template <class Archive>
void write_to(Archive& archive, told_part const& told) {
    detail::write_list(archive, told.sources);
    archive << told.part;
}

/// \throws error with errc::corrupt_file where a source has no number, or the plan is none
template <class Archive>
void read_from(Archive& archive, told_part& told) {
    told.sources = detail::read_list<key_id>(archive);
    archive >> told.part;
    if (told.sources.size() != told.part.source_dtypes.size())
        detail::refuse_archive("has numbers for " + std::to_string(told.sources.size()) + " of " +
                               std::to_string(told.part.source_dtypes.size()) + " sources");
}

} // namespace reshard

#endif
