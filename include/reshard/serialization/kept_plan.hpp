// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_KEPT_PLAN_HPP
#define RESHARD_SERIALIZATION_KEPT_PLAN_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/serialization/bytes.hpp>
#include <reshard/serialization/plan.hpp>

#include <cstdint>
#include <string>

/// \file
/// A plan that is kept, with what tells later whether it is still the right one, and unharmed.

namespace reshard {

/// A plan and the digest of what it was made from (`plan_digest`).
struct kept_plan {
    std::uint64_t digest = 0;
    plan whole;

    bool operator==(kept_plan const&) const = default;
};

template <>
inline constexpr stored_form form_of<kept_plan>{"kept plan", 8, 1};

namespace detail {

/// Of the plan's bytes and of the digest that they belong to.
inline std::uint64_t checksum_of(std::uint64_t digest, std::string const& bytes) {
    hasher sum;
    sum.add(digest);
    sum.add(bytes);
    return sum.value();
}

} // namespace detail

/// The digest, a checksum, and the plan as bytes of its own.
template <class Archive>
void write_to(Archive& archive, kept_plan const& kept) {
    std::string const bytes = to_bytes(kept.whole);
    archive << kept.digest << detail::checksum_of(kept.digest, bytes);
    detail::write_text(archive, bytes);
}

/// \throws error with errc::corrupt_file where a byte is not what it was; it names both checksums
template <class Archive>
void read_from(Archive& archive, kept_plan& kept) {
    kept.digest = detail::read_number<std::uint64_t>(archive);
    auto const expected = detail::read_number<std::uint64_t>(archive);
    std::string const bytes = detail::read_text(archive);
    std::uint64_t const found = detail::checksum_of(kept.digest, bytes);
    if (found != expected)
        detail::refuse_archive("holds a plan with checksum " + std::to_string(found) +
                               " that had checksum " + std::to_string(expected) +
                               " when it was written: it has been altered");
    kept.whole = from_bytes<plan>(bytes);
}

} // namespace reshard

#endif
