// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOST_NAMES_HPP
#define RESHARD_AOA_LOST_NAMES_HPP

#include <reshard/aoa/macro/context.hpp>
#include <reshard/core/config.hpp>

#include <string_view>
#include <vector>

/// \file
/// Which tensors a broken statement may have meant, so that their absence is not reported as well.

namespace reshard::aoa::detail {

/// Keys by outline, in which numbers are not told apart.
class outline_set {
public:
    void add(std::vector<segment> const& segments);

    bool has(std::string_view key) const;

    bool empty() const;

private:
    name_table outlines_;
};

/// The keys of a side that some lost name may mean.
RESHARD_DECL std::vector<std::string_view> keys_in(outline_set const& lost, catalog const* keys,
                                                   std::vector<state_suffix> const& suffixes);

/// Puts a broken statement before all others that reads and binds whatever broken statements with
/// open numbers may have meant.
RESHARD_DECL void restore_lost_names(macro_context& context, std::vector<statement>& statements);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lost_names.ipp>
#endif

#endif
