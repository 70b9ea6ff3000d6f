// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_WORLD_HPP
#define RESHARD_TEST_ORACLE_WORLD_HPP

#include "evaluate.hpp"
#include "scenario.hpp"

#include <map>
#include <optional>
#include <string>

/// \file
/// What a scenario's program makes of its sources.

namespace reshard::oracle {

using namespace reshard::detail;

/// The arrays and keys of a scenario.
inline world world_of(scenario const& all) {
    world result;
    for (std::size_t i = 0; i < all.sources.size(); ++i) {
        tensor const& one = all.sources[i];
        std::int64_t place = 0;
        result.sources[one.key] = make_array(one.shape, one.dtype, [&](numbers const&) {
            return source_value(one.dtype, static_cast<std::int64_t>(i), place++);
        });
        result.source_parts[one.key] = parts_of(one);
    }
    for (tensor const& one : all.targets) {
        result.target_keys.insert(one.key);
        result.target_parts[one.key] = parts_of(one);
    }
    return result;
}

/// Each target tensor as an array; nothing where the program says that it has no source.
inline std::map<std::string, std::optional<array>> answers(scenario const& all,
                                                           world const& before) {
    aoa::program const program = aoa::parse(all.text);
    evaluation const after(program, before);
    std::map<std::string, std::optional<array>> result;
    for (tensor const& one : all.targets) {
        auto const value = after[one.key];
        if (value && (value->shape != one.shape || value->dtype != one.dtype))
            throw std::logic_error("the oracle and the generator disagree about '" + one.key +
                                   "' in\n" + all.text);
        result[one.key] = value;
    }
    return result;
}

} // namespace reshard::oracle

#endif
