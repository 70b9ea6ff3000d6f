// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_STATE_NEED_HPP
#define RESHARD_LAYOUT_STATE_NEED_HPP

#include <reshard/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Keys that a job requires, regardless of the tensors that it holds.

namespace reshard {

/// Keys that must exist when a job is saved or loaded, named as in a checkpoint: a common value
/// `step` is `common/step`.
///
/// ```
/// {.keys = "model.**", .with = {"*.exp_avg", "*.exp_avg_sq", "common/step"}}
/// ```
struct state_need {
    /// A key, or a pattern (see `key_pattern`) that at least one key must match unless it ends with
    /// `?`.
    std::string keys;
    /// The keys required beside each of these keys; `*` is replaced by the key. Keys of this form
    /// do not count as `keys`, even if the pattern matches them.
    std::vector<std::string> with = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.keys, self.with); }

    bool operator==(state_need const&) const = default;
};

namespace detail {

/// Refuses a job that lacks something.
///
/// \param field the member that has the needs, for the message
/// \param known_names the keys that patterns are matched with
/// \param there the known keys that are saved, or loaded
/// \throws error with errc::unknown_key, which names the first missing keys, the key to which each
///         belongs, and a similar key that nothing else needs
RESHARD_DECL void check_needs(std::string_view field, std::vector<state_need> const& needs,
                              std::vector<std::string> const& known_names,
                              std::vector<std::string> const& there);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/state_need.ipp>
#endif

#endif
