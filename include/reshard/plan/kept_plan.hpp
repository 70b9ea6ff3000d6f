// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_KEPT_PLAN_HPP
#define RESHARD_PLAN_KEPT_PLAN_HPP

#include <reshard/core/digest.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/plan/plan.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// \file
/// A stored plan, with digests that show whether it still applies and is undamaged.

namespace reshard::detail {

/// The stored form of a kept plan: its bytes and their checksum.
struct kept_plan_recipe {
    std::uint64_t digest = 0;
    std::uint64_t checksum = 0;
    std::string bytes;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.digest, self.checksum, self.bytes);
    }

    /// The checksum of the plan's bytes and of the digest.
    std::uint64_t right_checksum() const { return digest_of_all(digest, bytes); }
};

/// \throws error with errc::bad_layout if a byte has changed; it names both checksums
inline void validate(kept_plan_recipe const& kept) {
    if (std::uint64_t const index = kept.right_checksum(); index != kept.checksum)
        fail(errc::bad_layout, "its plan has checksum ", index, ", but had checksum ",
             kept.checksum, " when it was written: it has been altered");
}

/// A plan and the digest of its problem (`plan_digest`).
struct kept_plan {
    std::uint64_t digest = 0;
    plan whole;

    kept_plan() = default;
    kept_plan(std::uint64_t made_from, plan kept) : digest(made_from), whole(std::move(kept)) {}

    /// \throws the errors of `from_bytes`
    explicit kept_plan(kept_plan_recipe const& recipe)
        : kept_plan(recipe.digest, from_bytes<plan>(recipe.bytes)) {}

    kept_plan_recipe recipe() const {
        kept_plan_recipe result{digest, 0, to_bytes(whole)};
        result.checksum = result.right_checksum();
        return result;
    }

    bool operator==(kept_plan const&) const = default;
};

template <>
inline constexpr stored_form form_of<kept_plan>{"kept plan", 8};

} // namespace reshard::detail

#endif
