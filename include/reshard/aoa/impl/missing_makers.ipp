// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_MISSING_MAKERS_IPP
#define RESHARD_AOA_IMPL_MISSING_MAKERS_IPP

#include <reshard/aoa/define_outputs.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace reshard::aoa::detail {

RESHARD_DECL missing_makers::missing_makers(program const& code) : code_(code) {
    for (statement const& statement : code.unmatched())
        for (name const& name : code.right(statement))
            if (name.kind == name::kind_type::pattern)
                add(statement, name);
}

RESHARD_DECL std::string missing_makers::advice(std::string_view parameter) {
    statement const* maker = nullptr;
    if (searches_left_-- > 0)
        index_.for_each_match(parameter, [&](std::size_t pattern, auto const&) {
            maker = &code_.unmatched()[makers_[pattern]];
            return false;
        });
    if (maker)
        return "the statement at " + place_text(code_, maker->where) +
               " would make it, but its placeholders match nothing";
    std::string const add = "write  _ -> " + quoted_name(parameter) + "  if it has no source";
    std::size_t const count = code_.unmatched().size();
    if (count == 0)
        return add;
    return "the placeholders of " + std::to_string(count) +
           (count == 1 ? " statement" : " statements") + " match nothing, the first at " +
           place_text(code_, code_.unmatched().front().where) + "; or " + add;
}

RESHARD_DECL void missing_makers::add(statement const& statement, name const& name) {
    try {
        index_.add(make_key_pattern(code_.pattern(name),
                                    [](segment const&) { return std::optional<std::size_t>(); }));
        makers_.push_back(static_cast<std::size_t>(&statement - code_.unmatched().data()));
    } catch (statement_error const&) {
        return; // two adjacent numbers in the name: no key can match it
    }
}

} // namespace reshard::aoa::detail

#endif
