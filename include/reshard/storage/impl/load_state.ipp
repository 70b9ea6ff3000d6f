// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_LOAD_STATE_IPP
#define RESHARD_STORAGE_IMPL_LOAD_STATE_IPP

#include <reshard/storage/load_state.hpp>

#include <utility>
#include <variant>

namespace reshard::detail {

RESHARD_DECL void state_load::prepare(model_state const& state, layout const& stored) {
    built = build_all(state);
    bytes = bytes_of(state, stored);
    add_tensors(tensors, state, built);
    for (bytes_to_load& wanted : bytes)
        tensors.add(bytes_tensor(wanted.key, wanted.bytes.size()), view_of_bytes(wanted.bytes));
}

RESHARD_DECL void state_load::finish(model_state& state) {
    for (auto const& [deferred, shards] : built)
        merge(*deferred, shards);
    std::erase_if(state, [](auto const& named) {
        return std::holds_alternative<stored_value>(named.second);
    });
    for (bytes_to_load& loaded : bytes) {
        auto const [place, is_new] = state.try_emplace(loaded.name, stored_value{});
        if (auto* const object = std::get_if<stored_object>(&place->second))
            object->bytes = std::move(loaded.bytes);
        else
            place->second = stored_value{std::move(loaded.bytes)};
    }
}

RESHARD_DECL void check_names(model_state const& state, std::vector<bytes_to_load> const& bytes) {
    for (bytes_to_load const& wanted : bytes) {
        auto const place = state.find(wanted.name);
        if (wanted.key.starts_with(common_prefix) && place != state.end() &&
            !std::holds_alternative<stored_value>(place->second))
            fail(errc::usage, "'" + wanted.name + "' is a common value of the checkpoint, and " +
                                  "something else in the state; give it another name there");
    }
}

} // namespace reshard::detail

#endif
