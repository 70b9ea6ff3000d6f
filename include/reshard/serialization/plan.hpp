// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_PLAN_HPP
#define RESHARD_SERIALIZATION_PLAN_HPP

#include <reshard/plan/plan.hpp>
#include <reshard/serialization/core.hpp>

/// \file
/// Plans in archives: patterns once, and the transfers that share them.

namespace reshard {

template <>
inline constexpr stored_form form_of<cut>{"cut"};
template <>
inline constexpr stored_form form_of<pattern>{"pattern"};
template <>
inline constexpr stored_form form_of<transfer>{"transfer"};
template <>
inline constexpr stored_form form_of<plan>{"plan", 4, 1};

/// Extents, the two offsets, order and joins of axes.
template <class Archive>
void write_to(Archive& archive, cut const& part) {
    archive << part.extent << part.source_offset << part.target_offset;
    detail::write_order(archive, part.order, part.extent.size());
    detail::write_joins(archive, part.joins);
}

/// \throws error where the boxes are none, or the order of axes is not one of theirs
template <class Archive>
void read_from(Archive& archive, cut& part) {
    archive >> part.extent >> part.source_offset >> part.target_offset;
    part.order = detail::read_order(archive, part.extent.size());
    part.joins = detail::read_joins(archive, part.extent, part.order);
    if (!detail::is_sound(part.target_box()) || !detail::is_sound(part.source_box()))
        detail::refuse_archive("has a cut of the extents " + to_string(part.extent) + " from " +
                               to_string(part.source_offset) + " to " +
                               to_string(part.target_offset));
}

/// The number of axes, then each cut.
template <class Archive>
void write_to(Archive& archive, pattern const& cuts) {
    archive << static_cast<std::uint8_t>(cuts.ndim());
    detail::write_count(archive, cuts.size());
    for (std::size_t i = 0; i < cuts.size(); ++i)
        archive << cuts[i];
}

/// \throws error with errc::corrupt_file where a cut has other axes than the pattern
template <class Archive>
void read_from(Archive& archive, pattern& cuts) {
    std::size_t const ndim =
        detail::read_below<std::uint8_t>(archive, max_ndim + 1, "a number of axes");
    cuts = pattern(ndim);
    for (auto left = detail::read_number<std::uint64_t>(archive); left > 0; --left) {
        cut part;
        archive >> part;
        if (part.target_offset.size() != ndim)
            detail::refuse_archive("has a cut of the extents " + to_string(part.extent) +
                                   " in a pattern of " + std::to_string(ndim) + " axes");
        cuts.push_back(part);
    }
}

/// Its numbers, in the order of the members.
template <class Archive>
void write_to(Archive& archive, transfer const& part) {
    archive << part.source_holder << part.target_holder << part.source_key << part.target_key;
    archive << part.source_shard << part.target_shard << part.cut;
    archive << part.source_part << part.target_part << part.chain;
}

/// A transfer as it is; the plan checks it.
template <class Archive>
void read_from(Archive& archive, transfer& part) {
    archive >> part.source_holder >> part.target_holder >> part.source_key >> part.target_key;
    archive >> part.source_shard >> part.target_shard >> part.cut;
    archive >> part.source_part >> part.target_part >> part.chain;
}

namespace detail {

template <class Archive>
void write_dtypes(Archive& archive, std::vector<data_type> const& dtypes) {
    write_count(archive, dtypes.size());
    for (data_type const dtype : dtypes)
        write_dtype(archive, dtype);
}

template <class Archive>
std::vector<data_type> read_dtypes(Archive& archive) {
    std::vector<data_type> dtypes;
    for (auto left = read_number<std::uint64_t>(archive); left > 0; --left)
        dtypes.push_back(read_dtype(archive));
    return dtypes;
}

/// What keeps `part` from being a transfer of `whole`, or nothing.
inline char const* transfer_fault(plan const& whole, transfer const& part) {
    if (part.target_key >= whole.target_dtypes.size())
        return "a target that there is not";
    if (part.cut >= whole.patterns[whole.pattern_of[part.target_key]].size())
        return "a cut that there is not";
    if (part.chain >= whole.chains.size())
        return "a chain of casts that there is not";
    if ((part.source_key == zero_source) != (part.source_holder == no_holder))
        return "a source without a holder, or a holder without a source";
    if (part.source_key == zero_source)
        return nullptr;
    if (part.source_key >= whole.source_dtypes.size())
        return "a source that there is not";
    return result(whole.source_dtypes[part.source_key], whole.chains[part.chain]) ==
                   whole.target_dtypes[part.target_key]
               ? nullptr
               : "casts that do not lead to the target's data type";
}

/// \throws error where a number points beyond what the plan has, or transfers are out of order
inline void check_stored(plan const& whole) {
    if (whole.pattern_of.size() != whole.target_dtypes.size())
        refuse_archive("has patterns for " + std::to_string(whole.pattern_of.size()) + " of " +
                       std::to_string(whole.target_dtypes.size()) + " targets");
    for (std::uint32_t const which : whole.pattern_of)
        if (which >= whole.patterns.size())
            refuse_archive("has the pattern " + std::to_string(which) + " of " +
                           std::to_string(whole.patterns.size()));
    for (transfer const& part : whole.transfers)
        if (char const* const fault = transfer_fault(whole, part))
            refuse_archive(std::string("has a transfer with ") + fault);
    auto const place = [](transfer const& part) {
        return std::pair{part.target_key, part.target_shard};
    };
    if (!std::is_sorted(whole.transfers.begin(), whole.transfers.end(),
                        [&](auto const& a, auto const& b) { return place(a) < place(b); }))
        refuse_archive("has transfers out of order");
}

} // namespace detail

/// Its members in their order.
template <class Archive>
void write_to(Archive& archive, plan const& whole) {
    detail::write_dtypes(archive, whole.source_dtypes);
    detail::write_dtypes(archive, whole.target_dtypes);
    detail::write_list(archive, whole.pattern_of);
    detail::write_list(archive, whole.patterns);
    detail::write_list(archive, whole.chains);
    detail::write_list(archive, whole.transfers);
}

/// A plan that is consistent in itself. Of holders and shards it cannot know how many there are:
/// whoever reads a plan sees to it that it meets the layouts that it was made for.
///
/// \throws error where a number points beyond what the plan has
template <class Archive>
void read_from(Archive& archive, plan& whole) {
    whole.source_dtypes = detail::read_dtypes(archive);
    whole.target_dtypes = detail::read_dtypes(archive);
    whole.pattern_of = detail::read_list<std::uint32_t>(archive);
    whole.patterns = detail::read_list<pattern>(archive);
    whole.chains = detail::read_list<cast_chain>(archive);
    whole.transfers = detail::read_list<transfer>(archive);
    detail::check_stored(whole);
}

} // namespace reshard

#endif
