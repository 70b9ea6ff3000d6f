// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_IPP
#define RESHARD_STORAGE_IMPL_SAVE_IPP

#include <reshard/storage/save.hpp>

#include <optional>

namespace reshard {

namespace detail {

RESHARD_DECL checkpoint_plan files_to_save(layout const& held, save_form form,
                                           write_options const& options) {
    return files_for(identity_mapping(catalog_of(held)),
                     form == save_form::sharded ? std::optional(held) : std::nullopt, options);
}

} // namespace detail

} // namespace reshard

#endif
