// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_TIED_WEIGHTS_IPP
#define RESHARD_MODEL_IMPL_TIED_WEIGHTS_IPP

#include <reshard/model/tied_weights.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace reshard::model {

RESHARD_DECL std::vector<tensor_sharding> with_aliases(std::vector<tensor_sharding> tensors,
                                                       std::vector<tied_key> const& ties) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        places.emplace(tensors[i].key, i);
    for (tied_key const& tie : ties) {
        auto const found = places.find(tie.key);
        if (found == places.end())
            fail(errc::unknown_key,
                 "'" + tie.alias + "' is tied to '" + tie.key + "', but no tensor has that key");
        if (!places.emplace(tie.alias, tensors.size()).second)
            fail(errc::bad_layout,
                 "'" + tie.alias + "' is tied to '" + tie.key + "', but is a tensor of its own");
        tensor_sharding alias = tensors[found->second];
        alias.key = tie.alias;
        tensors.push_back(std::move(alias));
    }
    return tensors;
}

RESHARD_DECL void tie(mapping& program, std::vector<tied_key> const& ties) {
    for (tied_key const& each : ties) {
        mapping_output const* const output = program.find(each.key);
        if (!output)
            fail(errc::unknown_key, "'" + each.alias + "' is tied to '" + each.key +
                                        "', which the program does not define");
        program.define(each.alias, expression(output->value));
        program.relate({detail::relation::kind::alias, each.key, each.alias});
    }
}

} // namespace reshard::model

#endif
