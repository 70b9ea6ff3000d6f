// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_OPTIONS_HPP
#define RESHARD_SERIALIZATION_OPTIONS_HPP

#include <reshard/plan/options.hpp>
#include <reshard/serialization/core.hpp>

/// \file
/// For whom a plan is made, and who gives, in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<holder_set>{"set of holders"};
template <>
inline constexpr stored_form form_of<plan_scope>{"scope of a plan", 5, 1};
template <>
inline constexpr stored_form form_of<plan_options>{"set of options", 6, 1};

/// Whether it is everybody, then those listed.
template <class Archive>
void write_to(Archive& archive, holder_set const& some) {
    archive << static_cast<std::uint8_t>(some.is_everybody());
    detail::write_list(archive, some.listed());
}

/// \throws error with errc::corrupt_file where everybody is listed
template <class Archive>
void read_from(Archive& archive, holder_set& some) {
    bool const everybody = detail::read_bool(archive);
    auto listed = detail::read_list<holder_t>(archive);
    if (everybody && !listed.empty())
        detail::refuse_archive("lists some holders of everybody");
    some = everybody ? holder_set() : holder_set(std::move(listed));
}

/// Those who give, then those who get.
template <class Archive>
void write_to(Archive& archive, plan_scope const& scope) {
    archive << scope.sources << scope.targets;
}

template <class Archive>
void read_from(Archive& archive, plan_scope& scope) {
    archive >> scope.sources >> scope.targets;
}

/// Its members in their order.
template <class Archive>
void write_to(Archive& archive, plan_options const& options) {
    archive << options.processes << static_cast<std::uint8_t>(options.shared_sources)
            << options.processes_per_node;
}

template <class Archive>
void read_from(Archive& archive, plan_options& options) {
    archive >> options.processes;
    options.shared_sources = detail::read_bool(archive);
    archive >> options.processes_per_node;
}

} // namespace reshard

#endif
