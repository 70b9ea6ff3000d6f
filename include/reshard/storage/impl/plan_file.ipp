// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_PLAN_FILE_IPP
#define RESHARD_STORAGE_IMPL_PLAN_FILE_IPP

#include <reshard/storage/plan_file.hpp>

#include <reshard/format/text_file.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/plan/kept_plan.hpp>

#include <string>
#include <utility>

namespace reshard {

RESHARD_DECL void write_plan(std::filesystem::path const& path, std::uint64_t digest,
                             plan const& plan) {
    detail::write_whole_file(path, detail::to_bytes(detail::kept_plan{digest, plan}));
}

RESHARD_DECL plan read_plan(std::filesystem::path const& path, std::uint64_t digest) {
    std::string const bytes = detail::read_text_file(path);
    detail::kept_plan kept;
    try {
        kept = detail::from_bytes<detail::kept_plan>(bytes);
    } catch (error const& problem) {
        fail(problem.code(), path.string(), ": ", problem.what());
    }
    if (kept.digest != digest)
        fail(errc::bad_layout, path.string(),
             ": this plan was made for other layouts, another program or other options (digest ",
             kept.digest, "); the digest is now ", digest, "; make the plan again");
    return std::move(kept.whole);
}

} // namespace reshard

#endif
