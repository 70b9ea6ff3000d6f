// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_STATE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_STATE_IPP

#include <reshard/storage/save_state.hpp>

#include <string>

namespace reshard::detail {

RESHARD_DECL const_state_dict tensors_to_save(model_state const& state, built_state const& built,
                                              bool is_first) {
    const_state_dict all;
    add_tensors(all, state, built);
    for (held_object const& object : held_objects(state))
        all.add(bytes_tensor(tensor_key(object.cell), object.bytes.size()),
                view_of_bytes(object.bytes));
    for (auto const& [descriptor, tensor] : all)
        if (descriptor.key.starts_with(common_prefix))
            fail(errc::bad_layout, "'" + descriptor.key + "': keys that begin with '" +
                                       std::string(common_prefix) +
                                       "' are those of common values; give it another one");
    for (common_value const& value : common_values(state))
        if (is_first)
            all.add(bytes_tensor(std::string(common_prefix) + std::string(value.name),
                                 value.bytes.size()),
                    view_of_bytes(value.bytes));
    return all;
}

} // namespace reshard::detail

#endif
