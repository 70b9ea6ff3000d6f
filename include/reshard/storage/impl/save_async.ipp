// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_SAVE_ASYNC_IPP
#define RESHARD_STORAGE_IMPL_SAVE_ASYNC_IPP

#include <reshard/storage/save_async.hpp>

#include <reshard/bind/equal_tensors.hpp>
#include <reshard/bind/options.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/delta_base.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/impl/save.ipp>
#include <reshard/storage/shared_save.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/written_files.hpp>

#include <fcntl.h>

#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace reshard {

namespace detail {

/// What is to be written where; equal saves share it.
struct files_to_write {
    checkpoint_plan plan;
    file_pieces pieces;
};

/// The copy of a save's bytes.
struct kept_bytes {
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity = 0;
    bool is_used = false;
};

/// A save that is under way, as one process sees it.
struct save_task {
    std::shared_ptr<files_to_write const> files;
    std::shared_ptr<delta_base const> base;
    std::vector<file_piece> mine;
    std::vector<std::byte*> bytes; ///< of each of mine
    kept_bytes* memory = nullptr;
    std::unique_ptr<file_store::unfinished> output;
    staged_directory place; ///< of the output, in the file system
    file_descriptor seen;   ///< the temporary directory, locked while this process needs it
    int rank = 0;
    int size = 1;
    save_options how;
    std::string salt;
    std::vector<std::string> removed;
    std::promise<save_report> result;

    shared_save shared() const { return {place.target, place.temporary, seen, rank, size}; }
};

class async_state {
public:
    async_state() : thread_([this] { work(); }) {}

    ~async_state() {
        {
            std::lock_guard const lock(mutex_);
            is_ending_ = true;
        }
        changed_.notify_all();
        thread_.join();
        remove_given_up();
    }

    /// Memory that no save uses; waits where there is none.
    kept_bytes& acquire(std::size_t bytes) {
        std::unique_lock lock(mutex_);
        kept_bytes* found = nullptr;
        changed_.wait(lock, [&] {
            for (kept_bytes& one : memory_)
                if (!one.is_used && (!found || one.capacity > found->capacity))
                    found = &one;
            return found != nullptr;
        });
        if (found->capacity < bytes) {
            found->memory.reset(); // before the new one is there
            found->capacity = 0;
            found->memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
            found->capacity = bytes;
        }
        found->is_used = true;
        return *found;
    }

    void release(kept_bytes& memory) {
        {
            std::lock_guard const lock(mutex_);
            memory.is_used = false;
        }
        changed_.notify_all();
    }

    void add(save_task task) {
        {
            std::lock_guard const lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_all();
    }

    /// What a save failed with since the last call.
    local_error take_problem() {
        std::lock_guard const lock(mutex_);
        return std::exchange(problem_, std::nullopt);
    }

    /// Removes what saves that were given up have left.
    void remove_given_up() {
        std::lock_guard const lock(mutex_);
        for (staged_directory const& place : given_up_)
            place.remove_temporary();
        given_up_.clear();
    }

    plan_cache plans;
    digest_cache<std::shared_ptr<files_to_write const>> known_files{4};

private:
    void work();
    std::optional<save_task> next();
    bool is_ending() {
        std::lock_guard const lock(mutex_);
        return is_ending_;
    }
    save_report finish(save_task& task);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<save_task> tasks_;
    kept_bytes memory_[2];
    local_error problem_;
    std::vector<staged_directory> given_up_;
    bool is_ending_ = false;
    std::thread thread_; ///< the last member: it uses all others
};

/// Writes the pieces of this process.
inline std::vector<written_run> write_pieces(save_task const& task) {
    written_files files(task.files->plan, *task.output, task.base.get(), task.rank);
    for (std::size_t i = 0; i < task.mine.size(); ++i)
        files.put(task.mine[i].place, task.mine[i].bytes.begin,
                  {task.bytes[i], task.mine[i].bytes.size()});
    if (task.how.writing.sync)
        files.sync();
    return files.runs();
}

/// Makes the checkpoint appear, as the only process that does.
inline save_report complete(save_task const& task, runs_by_rank const& runs) {
    checkpoint_plan const& plan = task.files->plan;
    sealed_checkpoint const sealed =
        seal_runs(plan, runs, task.salt, facts_of(task.how.writing), task.base.get());
    written_files files(plan, *task.output, task.base.get(), task.rank);
    for (holder_t i = 0; i < plan.headers.size(); ++i)
        files.finish(i, sealed);
    put_delta_headers(files, sealed);
    if (task.how.writing.sync)
        files.sync();
    if (!task.how.writing.files)
        remove_notes(task.shared());
    if (task.base)
        task.base->check_there(*sealed.delta);
    put_record(*task.output, plan, sealed, task.how.writing.sync);
    if (!task.how.writing.files)
        remove_claim(task.shared());
    task.output->commit();
    task.output->clean_up();
    return {sealed.save, data_bytes(plan.metadata), reused_in(sealed.delta), task.removed};
}

inline save_report report_of_target(save_task const& task) {
    std::filesystem::path const record = task.place.target / save_record_name;
    save_record const written = read_save_record(*files_of_system(), record);
    return {written.save, data_bytes(task.files->plan.metadata), reused_in(written.delta),
            task.removed};
}

/// Looks whether the save is complete, and completes it where this process may.
///
/// \throws error where a process has given up
inline std::optional<save_report> look(save_task const& task) {
    if (is_at(task.seen, task.place.target.string()))
        return report_of_target(task);
    std::error_code problem;
    if (!std::filesystem::exists(task.place.temporary, problem) &&
        !is_at(task.seen, task.place.target.string()))
        fail(errc::io, task.place.target.string(),
             ": is not written: another rank has given it up; its own error says why");
    std::optional<save_report> report;
    complete_if_ready(task.shared(),
                      [&](runs_by_rank const& runs) { report = complete(task, runs); });
    return report;
}

/// Completes the save of a process that is alone.
inline save_report complete_alone(save_task const& task, local_error const& failed,
                                  std::vector<written_run> runs) {
    try {
        if (failed)
            throw error(*failed);
        return complete(task, {std::move(runs)});
    } catch (...) { // whatever a store of the user throws
        task.output->clean_up();
        throw;
    }
}

inline save_report async_state::finish(save_task& task) {
    auto runs = std::vector<written_run>();
    local_error failed = attempt([&] { runs = write_pieces(task); });
    release(*task.memory);
    if (task.how.writing.files)
        return complete_alone(task, failed, std::move(runs));
    if (!failed)
        failed = attempt([&] { publish_runs(task.shared(), runs); });
    if (failed && !publish_failure(task.shared(), failed->code(),
                                   "rank " + std::to_string(task.rank) + ": " + failed->what()))
        throw error(*failed);
    auto const begin = std::chrono::steady_clock::now();
    while (true) {
        if (auto report = look(task))
            return *report;
        std::chrono::duration<double> const waited = std::chrono::steady_clock::now() - begin;
        if (task.how.deadline.seconds > 0 && waited.count() > task.how.deadline.seconds)
            fail(errc::deadline, task.place.target.string(),
                 ": other ranks have not written their part within ", task.how.deadline.seconds,
                 " s");
        if (is_ending())
            fail(errc::io, task.place.target.string(),
                 ": this process ends before all others have written; the last one completes it");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

inline std::optional<save_task> async_state::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty())
        return std::nullopt;
    save_task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
}

inline void async_state::work() {
    while (auto task = next()) {
        save_report report;
        local_error const problem = attempt([&] { report = finish(*task); });
        if (!problem) {
            task->result.set_value(std::move(report));
            continue;
        }
        {
            std::lock_guard const lock(mutex_);
            problem_ = problem;
            if (!task->how.writing.files && task->rank == 0 && problem->code() != errc::deadline &&
                !is_ending_)
                given_up_.push_back(task->place);
        }
        task->result.set_exception(std::make_exception_ptr(*problem));
    }
}

/// Where each of some pieces lies in memory: one behind the other, from cache lines on.
inline std::size_t bytes_for(std::vector<file_piece> const& pieces) {
    std::size_t bytes = 0;
    for (file_piece const& piece : pieces)
        bytes += (piece.bytes.size() + 63) / 64 * 64;
    return bytes;
}

/// The pieces of a task as tensors in the memory that it keeps.
inline state_dict kept_tensors(save_task& task) {
    state_dict kept;
    std::byte* at = task.memory->memory.get();
    for (file_piece const& piece : task.mine) {
        shard_descriptor const shard = descriptor_of(task.files->plan.metadata, piece);
        index_vector const shape = local_shape(shard);
        if (bits(shard.dtype) % 8 != 0)
            std::memset(at, 0, piece.bytes.size()); // bits behind the last element
        kept.add(shard, tensor_view{at, shard.dtype, shape, row_major_strides(shape)});
        task.bytes.push_back(at);
        at += (piece.bytes.size() + 63) / 64 * 64;
    }
    return kept;
}

inline std::shared_ptr<files_to_write const> files_of_save(async_state& state, layout const& all,
                                                           save_options const& how, int size) {
    std::string const bytes = to_bytes(all);
    std::uint64_t const digest =
        digest_of_all(digest_of_bytes(std::as_bytes(std::span(bytes))), options_of_plan(how), size);
    if (auto const known = how.writing.writer ? nullptr : state.known_files.find(digest))
        return *known;
    if (how.writing.single_file)
        fail(errc::usage, "a save in the background is a directory; leave out single_file, or use "
                          "save");
    if (!how.writing.format.empty())
        fail(errc::usage, "a save in the background has the formats of safetensors; leave out "
                          "write_options.format, or use save");
    auto made = std::make_shared<files_to_write>();
    made->plan = files_to_save(all, how);
    made->pieces = how.form == save_form::sharded ? pieces_by_rank(made->plan, size)
                                                  : pieces_by_holder(made->plan, all, size);
    if (!how.writing.writer) // which the digest does not tell
        state.known_files.add(digest, std::shared_ptr<files_to_write const>(made));
    return made;
}

/// What the first rank says of a save: any rank may write the record.
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
inline void check_async(int size, save_options const& how) {
    if (how.cache)
        fail(errc::usage, "save_options.cache: an async_saver keeps plans itself; leave it out");
    if (how.writing.files && size > 1)
        fail(errc::usage,
             "save_options.writing.files: in the background, one rank alone saves to "
             "another place than the file system, and here are ",
             size, "; leave it out, or use save");
}

/// Opens the temporary directory, by which this process sees what becomes of it.
inline void see(save_task& task, std::filesystem::path const& target,
                std::filesystem::path const& temporary) {
    task.place = {resolved(without_slash(target)), temporary, task.how.writing.replace};
    task.seen = file_descriptor::open(temporary.string(), O_RDONLY | O_DIRECTORY);
    task.seen.try_share();
}

/// Copies what is to be written into memory that no other save uses.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike; then the memory is free again
void copy_tensors(group auto const& world, source_tensors have, async_state& state,
                  save_task& task) {
    state_dict kept;
    local_error const problem = attempt([&] {
        task.memory = &state.acquire(bytes_for(task.mine));
        kept = kept_tensors(task);
    });
    local_error const failed = attempt([&] {
        agree(world, problem);
        redistribute(world, std::move(have), std::move(kept), {.cache = &state.plans});
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
                                              async_state& state, save_options const& how) {
    agree_to_run(world, "save in the background to " + target.string(), digest_of(how),
                 attempt([&] {
                     check_async(world.size(), how);
                     have.tensors.check();
                     check_twins(have.tensors);
                     if (auto const earlier = state.take_problem())
                         throw error(*earlier);
                 }));
    state.remove_given_up();
    have.layout = replicate_known(world, std::move(have.layout), "source");
    layout const all =
        have.layout ? *have.layout : layout_of_all(world, have.tensors.descriptors());
    check_aliases(world, have.tensors, all, how);
    save_task task;
    task.rank = world.rank();
    task.size = world.size();
    task.how = how;
    task.how.writing.numbers = numbers_of_first(world, how.writing.numbers);
    task.salt = gather_values(world, how.writing.digests ? std::string() : random_text()).front();
    agree_on(world, [&] {
        check_numbers(task.how.writing.numbers);
        at_path(target, [&] { task.files = files_of_save(state, all, how, world.size()); });
    });
    agree_on_files(world, task.files->plan, how, [&] {
        for (file_piece const& piece : task.files->pieces)
            if (piece.process == static_cast<holder_t>(world.rank()))
                task.mine.push_back(piece);
    });
    task.base = base_of_all(world, target, how.writing);
    staging directory(world, how.writing.files, target, how.writing.replace);
    agree_on(world, [&] {
        if (!how.writing.files)
            see(task, target, directory.target().name());
    });
    copy_tensors(world, std::move(have), state, task);
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
                                                        save_options const& how) {
    return detail::save_async_as(alone, std::move(have), target, saver.state(), how);
}

RESHARD_DECL std::shared_future<save_report> save_async(mpi_group const& world, source_tensors have,
                                                        std::filesystem::path const& target,
                                                        async_saver& saver,
                                                        save_options const& how) {
    return detail::save_async_as(world.with_deadline(how.deadline), std::move(have), target,
                                 saver.state(), how);
}

} // namespace reshard

#endif
