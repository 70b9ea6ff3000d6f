// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_STRICTNESS_HPP
#define RESHARD_LAYOUT_STRICTNESS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// How to treat keys that only one side has, and which keys a job requires.

namespace reshard {

/// How a load treats *unexpected* keys, which are wanted but not available, and *missing* keys,
/// which are available but not wanted.
///
/// \par Source the eight modes of Megatron-Core's `StrictHandling`, with the same meanings of
///             *unexpected* and *missing*
enum class strictness {
    assume_ok_unexpected, ///< keys are not compared; the load itself refuses missing tensors
    log_unexpected,       ///< unexpected keys are skipped and logged
    log_all,              ///< also logs missing keys
    raise_unexpected,     ///< unexpected keys are an error
    raise_all,            ///< missing keys are also an error
    return_unexpected,    ///< unexpected keys are skipped and returned to the caller
    return_all,           ///< also returns missing keys
    ignore_all,           ///< unexpected keys are skipped silently
};

namespace detail {

inline constexpr std::string_view strictness_names[] = {
    "assume_ok_unexpected", "log_unexpected", "log_all",    "raise_unexpected", "raise_all",
    "return_unexpected",    "return_all",     "ignore_all",
};

} // namespace detail

/// The name of a mode, for example `log_all`.
constexpr std::string_view name(strictness mode) {
    return detail::strictness_names[static_cast<std::size_t>(mode)];
}

namespace detail {

/// The mode with that name.
///
/// \throws error with errc::usage if there is none; the message lists all names
RESHARD_DECL strictness strictness_from_name(std::string_view text);

/// The keys that only one side has, sorted.
struct key_mismatch {
    vector<std::string> unexpected = {}; ///< wanted but not available
    vector<std::string> missing = {};    ///< available but not wanted

    bool empty() const { return unexpected.empty() && missing.empty(); }
    bool operator==(key_mismatch const&) const = default;
};

/// Compares two lists of keys. Order and duplicates do not matter.
RESHARD_DECL key_mismatch compare_keys(vector<std::string> wanted, vector<std::string> available);

} // namespace detail

/// The result of applying a mode of `strictness` to a mismatch of keys.
struct strict_verdict {
    detail::key_mismatch log;          ///< to be logged
    detail::key_mismatch raise;        ///< must make the load fail
    detail::key_mismatch give_back;    ///< returned to the caller
    vector<std::string> left_out = {}; ///< unexpected keys that the load does not change

    bool operator==(strict_verdict const&) const = default;
};

/// Keys that must exist when a job is saved or loaded. They have the names of a checkpoint: a
/// common value `step` is `common/step`.
///
/// ```
/// {.keys = "model.**", .with = {"*.exp_avg", "*.exp_avg_sq", "common/step"}}
/// ```
struct state_need {
    /// A key, or a pattern (see `key_pattern`). At least one key must match a pattern that does not
    /// end with `?`.
    std::string keys;
    /// For each of these keys, further keys that are required; `*` is replaced by the key. Keys of
    /// this form never count as `keys`, even if the pattern matches them.
    vector<std::string> with = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.keys, self.with); }

    bool operator==(state_need const&) const = default;
};

namespace detail {

/// Applies a mode to a mismatch.
RESHARD_DECL strict_verdict judge(strictness mode, key_mismatch const& mismatch);

/// Describes a mismatch with the first keys of each side; empty without a mismatch.
RESHARD_DECL std::string describe(key_mismatch const& keys);

/// Throws if the verdict is that the load must fail.
///
/// \throws error with errc::unknown_key, which names the first keys
RESHARD_DECL void raise(strict_verdict const& verdict);

/// Throws if required keys are missing.
///
/// \param field the name of the member that lists the needs, for the message
/// \param known_names the keys that patterns may match
/// \param there the keys that are saved or loaded
/// \throws error with errc::unknown_key, which names the first missing keys, the key to which each
///         belongs, and a similar key that is not required
RESHARD_DECL void check_needs(std::string_view field, vector<state_need> const& needs,
                              vector<std::string> const& known_names,
                              vector<std::string> const& there);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/strictness.ipp>
#endif

#endif
