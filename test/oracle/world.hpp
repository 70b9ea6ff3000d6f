// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_WORLD_HPP
#define RESHARD_TEST_ORACLE_WORLD_HPP

#include "evaluate.hpp"
#include "scenario.hpp"

#include <map>
#include <optional>
#include <string>

/// \file
/// The result of a scenario's program.

namespace reshard::oracle {

using namespace reshard::detail;

/// The arrays and keys of a scenario.
inline world world_of(scenario const& scenario) {
    world result;
    for (std::size_t i = 0; i < scenario.sources.size(); ++i) {
        tensor const& tensor = scenario.sources[i];
        std::int64_t index = 0;
        result.sources[tensor.key] = make_array(tensor.shape, tensor.dtype, [&](numbers const&) {
            return source_value(tensor.dtype, static_cast<std::int64_t>(i), index++);
        });
        result.source_parts[tensor.key] = parts_of(tensor);
    }
    for (tensor const& tensor : scenario.targets) {
        result.target_keys.insert(tensor.key);
        result.target_parts[tensor.key] = parts_of(tensor);
    }
    return result;
}

/// Each target tensor as an array; none if the program says that it has no source.
inline std::map<std::string, std::optional<array>> answers(scenario const& scenario,
                                                           world const& before) {
    aoa::program const program = aoa::parse(scenario.text);
    evaluation const after(program, before);
    std::map<std::string, std::optional<array>> result;
    for (tensor const& tensor : scenario.targets) {
        auto const value = after[tensor.key];
        if (value && (value->shape != tensor.shape || value->dtype != tensor.dtype))
            throw std::logic_error("the oracle and the generator disagree about '" + tensor.key +
                                   "' in\n" + scenario.text);
        result[tensor.key] = value;
    }
    return result;
}

} // namespace reshard::oracle

#endif
