// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CONVERT_HPP
#define RESHARD_STORAGE_CONVERT_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/at_path.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/file_views.hpp>
#include <reshard/storage/memory_watch.hpp>
#include <reshard/storage/replicas.hpp>
#include <reshard/storage/target_files.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

/// \file
/// From a checkpoint to a checkpoint, without tensors in between.

namespace reshard {

/// How much is done: called with bytes done and bytes in all, of this process.
using progress_function = std::function<void(index_t, index_t)>;

/// What a conversion may be told.
struct convert_options {
    /// Who shall hold what; nothing: a Hugging Face directory of everything that the program
    /// yields.
    std::optional<layout> wanted = {};
    write_options writing = {};
    progress_function progress = {};
    /// What is done about keys that only `wanted` or only the program has. Nothing: a key that the
    /// program does not yield is an error, and what `wanted` does not have is not written.
    std::optional<strictness> strict = {};
};

/// What a conversion did, over all ranks.
///
/// \par Units bytes
struct convert_report {
    index_t keys = 0;
    index_t bytes = 0;       ///< of tensors written
    index_t bytes_read = 0;  ///< of the source's files, but for comparing replicas
    index_t bytes_moved = 0; ///< between processes: none, each reads the files itself
    /// Memory beside the mapped files that the neediest rank took: for the plan and all else that a
    /// conversion allocates, as the system counts it when the plan and when the files are made.
    index_t peak_extra_bytes = 0;
    strict_verdict keys_judged =
        {}; ///< what `options.strict` wants to be said, and what is left out
};

namespace detail {

/// The files of a conversion, and what its strictness says of the keys.
RESHARD_DECL checkpoint_plan files_of(mapping const& program, convert_options const& options,
                                      strict_verdict& verdict);

/// Runs what fills the files of this process; calls `progress` after each transfer.
RESHARD_DECL index_t fill_files(bound_plan const& bound, progress_function const& progress);

RESHARD_DECL index_t data_bytes(checkpoint_metadata const& written);

template <group Group>
index_t largest_over(Group const& world, index_t mine) {
    index_t largest = mine;
    for (index_t const one : gather_values(world, mine))
        largest = std::max(largest, one);
    return largest;
}

template <group Group>
index_t sum_over(Group const& world, index_t mine) {
    index_t sum = 0;
    for (index_t const one : gather_values(world, mine))
        sum = checked_add(sum, one, "what the processes count,");
    return sum;
}

RESHARD_DECL std::uint64_t digest_of_call(checkpoint const& source, mapping const& program,
                                          checkpoint_plan const& files,
                                          convert_options const& options);

} // namespace detail

/// Writes a checkpoint at `target` whose tensors are made of those of `source`, as `program` says.
///
/// In the layout `options.wanted`, as sharded safetensors: rank `r` of it is played by process
/// `r % size`. Every process reads the bytes that its files need, from the mapped source, and
/// shares in comparing the replicas of the tensors that are used. Tensors without a source are
/// zeros.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, and `target` is what it was: as `problem_of`, `make_plan` and
///         `checkpoint_writer`; errc::overlap for replicas that differ, naming both files, the key
///         and the first element that does; errc::not_covered or errc::overlap for a layout that
///         leaves elements of a tensor out, or whose shards share some, unless it may be `partial`;
///         errc::unknown_key where `options.strict` says so;
///         errc::ranks_disagree. It begins with the source's path, or, where the layout is wrong,
///         the target's
template <group Group>
convert_report convert(Group const& world, checkpoint const& source,
                       std::filesystem::path const& target, mapping const& program,
                       convert_options const& options = {}) {
    detail::memory_watch memory;
    checkpoint_plan files;
    strict_verdict verdict;
    std::uint64_t digest = 0;
    local_error const problem = attempt([&] {
        detail::at_path(target, [&] { files = detail::files_of(program, options, verdict); });
        digest = detail::digest_of_call(source, program, files, options);
    });
    agree_to_run(world, "convert to " + target.string(), digest, problem);
    layout const held = layout_of(files.metadata);
    plan_problem work;
    plan whole;
    agree_on(world, [&] {
        holder_set const mine(files_of_process(files, world.rank(), world.size()));
        detail::at_path(source.metadata().path, [&] {
            work = problem_of(program, source.files_layout(), held);
            work.source_names = &source.file_names();
            whole = make_plan(work, {holder_set::nobody(), mine}, {.shared_sources = true});
            memory.look();
        });
    });
    detail::check_replicas(world, source, detail::tensors_used(work, source.files_layout()));
    checkpoint_writer writer(world, target, files, options.writing.replace);
    index_t read = 0;
    agree_on(world, [&] {
        auto const targets = views_in_files<tensor_view>(files.metadata, writer.files());
        read = detail::fill_files({whole, work, source.views(), targets}, options.progress);
        memory.look();
    });
    writer.commit(world);
    return {.keys = static_cast<index_t>(files.metadata.tensors.size()),
            .bytes = detail::data_bytes(files.metadata),
            .bytes_read = detail::sum_over(world, read),
            .bytes_moved = 0,
            .peak_extra_bytes = detail::largest_over(world, memory.most_bytes()),
            .keys_judged = std::move(verdict)};
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/convert.ipp>
#endif

#endif
