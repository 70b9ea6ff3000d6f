// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_ASYNC_IPP
#define RESHARD_STORAGE_IMPL_SAVE_ASYNC_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/save_async.hpp>

#include <reshard/bind/overlap.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/delta_base.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/impl/async_state.ipp>
#include <reshard/storage/impl/save.ipp>
#include <reshard/storage/staging.hpp>

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace reshard {

namespace detail {

/// The number of bytes for pieces in memory. The pieces are consecutive; each piece begins at a
/// multiple of 64 bytes.
inline std::size_t bytes_for(vector<file_piece> const& pieces) {
    std::size_t bytes = 0;
    for (file_piece const& piece : pieces)
        bytes += (piece.bytes.size() + 63) / 64 * 64;
    return bytes;
}

/// The pieces of a task, as tensors in the memory for copies. Sets the address of each piece.
inline state_dict kept_tensors(save_task& task) {
    state_dict kept;
    std::byte* at = task.memory->memory.get();
    for (file_piece const& piece : task.mine) {
        shard_descriptor const shard = descriptor_of(task.files->plan.metadata, piece);
        index_vector const shape = local_shape(shard);
        if (bits(shard.dtype) % 8 != 0)
            std::memset(at, 0, piece.bytes.size()); // clears the bits after the last element
        kept.add(shard, tensor_view{at, shard.dtype, shape, row_major_strides(shape)});
        task.bytes.push_back(at);
        at += (piece.bytes.size() + 63) / 64 * 64;
    }
    return kept;
}

inline std::shared_ptr<files_to_write const> files_of_save(async_state& state, layout const& layout,
                                                           save_options const& options, int size) {
    std::string const bytes = to_bytes(layout);
    std::uint64_t const digest = digest_of_all(digest_of_bytes(std::as_bytes(std::span(bytes))),
                                               options_of_plan(options), size);
    if (auto const match = options.writing.writer ? nullptr : state.known_files.find(digest))
        return *match;
    if (options.writing.single_file)
        fail(errc::usage, "a background save writes a directory; omit single_file, or use save");
    if (!options.writing.format.empty())
        fail(errc::usage,
             "a background save writes only safetensors; omit write_options.format, or use save");
    auto shared = std::make_shared<files_to_write>();
    mapping const program = identity_mapping(catalog_of(layout));
    shared->plan = files_to_save(program, layout, options);
    shared->pieces = writes_whole(options) ? pieces_by_holder(shared->plan, program, layout, size)
                                           : pieces_by_rank(shared->plan, size);
    if (!options.writing.writer) // the digest does not cover it
        state.known_files.add(digest, std::shared_ptr<files_to_write const>(shared));
    return shared;
}

/// The first rank's numbers, on every rank, since any rank may write the record.
///
/// \par Collective every rank of the group, in the same order
std::map<std::string, double> numbers_of_first(group auto const& world,
                                               std::map<std::string, double> const& mine) {
    std::map<std::string, std::uint64_t> bits;
    for (auto const& [name, value] : mine)
        bits.emplace(name, std::bit_cast<std::uint64_t>(value));
    std::map<std::string, double> first;
    auto const of_ranks = gather_values(world, bits);
    for (auto const& [name, value] : of_ranks.front())
        first.emplace(name, std::bit_cast<double>(value));
    return first;
}

/// \throws error with errc::usage
inline void check_async(int size, save_options const& options) {
    if (!options.program.is_by_name())
        fail(errc::usage, "save_async does not support save_options.program; omit it, or use save");
    if (options.cache)
        fail(errc::usage, "save_options.cache: an async_saver keeps plans itself; omit it");
    if (options.writing.files && size > 1)
        fail(errc::usage,
             "save_options.writing.files: async saves to a store of files support one rank, not ",
             size, "; omit it, or use save");
}

/// Opens the temporary directory, so that this process notices when it is renamed.
inline void see(save_task& task, std::filesystem::path const& target,
                std::filesystem::path const& temporary) {
    task.position = {resolved(without_slash(target)), temporary, task.options.writing.replace};
    task.seen = file_descriptor::open(temporary.string(), O_RDONLY | O_DIRECTORY);
    task.seen.try_share();
}

/// The device of the first tensor on a device, or null.
inline std::shared_ptr<device> device_of(source_tensors const& have, device_list const& devices) {
    if (have.tensors.devices().empty())
        return nullptr;
    memory_space const memory = have.tensors.devices().front().memory;
    auto const match = std::ranges::find(devices, memory, &device::space);
    return match == devices.end() ? nullptr : *match;
}

/// Copies the pieces into memory that no other save uses.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank; then no save uses the memory
void copy_tensors(group auto const& world, source_tensors have, async_state& state,
                  save_task& task) {
    state_dict kept;
    local_error const problem = attempt([&] {
        task.memory = &state.acquire(bytes_for(task.mine), device_of(have, task.options.devices));
        kept = kept_tensors(task);
    });
    local_error const failed = attempt([&] {
        agree(world, problem);
        redistribute(world, std::move(have), std::move(kept),
                     {.cache = &state.plans, .devices = task.options.devices});
    });
    if (!failed)
        return;
    if (task.memory)
        state.release(*task.memory);
    throw error(*failed);
}

/// \par Collective every rank of the group, in the same order
std::shared_future<save_report> save_async_as(group auto const& world, source_tensors have,
                                              std::filesystem::path const& target,
                                              async_state& state, save_options const& options) {
    agree_to_run(world, "save in the background to " + target.string(), {"options", options},
                 attempt([&] {
                     check_async(world.size(), options);
                     have.tensors.check(spaces_of(options.devices));
                     check_twins(have.tensors, options.devices);
                     if (auto const earlier = state.take_problem())
                         throw error(*earlier);
                 }));
    state.remove_given_up();
    layout const layout = layout_of_ranks(world, have.layout, have.tensors.descriptors(), "source");
    check_aliases(world, have.tensors, layout, options);
    save_task task;
    task.rank = world.rank();
    task.size = world.size();
    task.options = options;
    task.options.writing.numbers = numbers_of_first(world, options.writing.numbers);
    task.salt =
        gather_values(world, options.writing.digests ? std::string() : random_text()).front();
    agree_on(world, [&] {
        check_numbers(task.options.writing.numbers);
        at_path(target, [&] { task.files = files_of_save(state, layout, options, world.size()); });
    });
    agree_on_files(world, task.files->plan, options, [&] {
        for (file_piece const& piece : task.files->pieces)
            if (piece.process == static_cast<holder_t>(world.rank()))
                task.mine.push_back(piece);
    });
    task.base = base_of_all(world, target, options.writing);
    staging directory(world, options.writing.files, target, options.writing.replace);
    agree_on(world, [&] {
        if (!options.writing.files)
            see(task, target, directory.target().name());
    });
    copy_tensors(world, std::move(have), state, task);
    task.options.devices.clear(); // the thread that writes must not own them
    task.removed = gather_values(world, directory.removed()).front();
    task.output = directory.release();
    std::shared_future<save_report> result = task.result.get_future().share();
    state.add(std::move(task));
    return result;
}

} // namespace detail

RESHARD_DECL async_saver::async_saver() : state_(std::make_unique<detail::async_state>()) {}
RESHARD_DECL async_saver::~async_saver() = default;

RESHARD_DECL std::shared_future<save_report> save_async(solo const& alone, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options) {
    return detail::save_async_as(alone, std::move(have), target, saver.state(), options);
}

RESHARD_DECL std::shared_future<save_report> save_async(mpi_group const& world, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& options) {
    return detail::save_async_as(world.with_deadline(options.deadline), std::move(have), target,
                                 saver.state(), options);
}

} // namespace reshard

#endif
