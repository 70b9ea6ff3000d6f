// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOST_NAMES_IPP
#define RESHARD_AOA_IMPL_LOST_NAMES_IPP

#include <reshard/aoa/lost_names.hpp>

#include <reshard/aoa/macro/outline.hpp>

#include <cstdint>
#include <string>

namespace reshard::aoa::detail {

RESHARD_DECL void outline_set::add(std::vector<segment> const& segments) {
    outlines_.intern(outline_of(segments));
}

RESHARD_DECL bool outline_set::has(std::string_view key) const {
    std::string outline;
    append_outline(outline, key);
    return outlines_.find(outline).has_value();
}

RESHARD_DECL bool outline_set::empty() const { return outlines_.size() == 0; }

RESHARD_DECL std::vector<std::string_view> keys_in(outline_set const& lost, catalog const* keys,
                                                   std::vector<state_suffix> const& suffixes) {
    std::vector<std::string_view> found;
    if (keys && !lost.empty())
        for (catalog_entry const& entry : *keys)
            for_each_parameter_name(*keys, entry, suffixes, [&](std::string_view key) {
                if ((found.empty() || found.back() != key) && lost.has(key))
                    found.push_back(key);
            });
    return found;
}

/// The texts of a program and the keys of a side that some lost name may mean, as names.
inline std::vector<name> names_of(macro_context& context, outline_set const& lost,
                                  catalog const* keys) {
    std::vector<name> names;
    if (!lost.empty())
        for (std::uint32_t id = 0; id < context.code.text_count(); ++id)
            if (name const one{name::kind_type::text, false, id, {}};
                lost.has(context.code.text(one)))
                names.push_back(one);
    for (std::string_view const key : keys_in(lost, keys, context.options.state_suffixes))
        names.push_back(context.code.make_text(key));
    return names;
}

RESHARD_DECL void restore_lost_names(macro_context& context, std::vector<statement>& statements) {
    if (context.lost.empty())
        return;
    outline_set read, bound;
    for (lost_name const& one : context.lost)
        (one.is_read ? read : bound).add(context.code.pattern(one.open));
    std::vector<name> left;
    for (std::string_view const key : keys_in(read, context.left, context.options.state_suffixes))
        left.push_back(context.code.make_text(key));
    std::vector<name> const right = names_of(context, bound, context.right);
    statement like{};
    like.origin = context.code.make_origin({{}, 0, {}, true});
    statements.insert(statements.begin(), context.code.make_statement(left, right, like));
}

} // namespace reshard::aoa::detail

#endif
