// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_ASYNC_STATE_IPP
#define RESHARD_STORAGE_IMPL_ASYNC_STATE_IPP

#include <reshard/bind/plan_cache.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/storage/save.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/device/device.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/os/waiting.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/delta_base.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/shared_save.hpp>
#include <reshard/storage/staging.hpp>
#include <reshard/storage/written_files.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

/// \file
/// The thread that writes saves in the background, and completes them.

namespace reshard::detail {

/// The pieces and files of a save. Equal saves share this object.
struct files_to_write {
    checkpoint_plan plan;
    file_pieces pieces;
};

/// Memory for the copy of a save's tensors.
struct kept_bytes {
    std::shared_ptr<device> near; ///< was asked for the memory; may be null
    std::shared_ptr<std::byte[]> memory;
    std::size_t capacity = 0;
    bool is_used = false;

    bool fits(std::size_t bytes, std::shared_ptr<device> const& wanted) const {
        return capacity >= bytes && (!wanted || near);
    }

    /// Frees the memory, and gets other memory: of the device, if it has enough.
    void replace(std::size_t bytes, std::shared_ptr<device> const& wanted) {
        memory.reset();
        capacity = 0;
        near = wanted;
        if (near)
            try {
                memory = near->host_memory(bytes);
            } catch (error const& problem) {
                if (problem.code() != errc::limit_exceeded)
                    throw;
            }
        if (!memory)
            memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
        capacity = bytes;
    }
};

/// A save in progress, from the view of one process.
struct save_task {
    std::shared_ptr<files_to_write const> files;
    std::shared_ptr<delta_base const> base;
    vector<file_piece> mine;
    vector<std::byte*> bytes; ///< the address of each piece in `mine`
    kept_bytes* memory = nullptr;
    std::unique_ptr<file_store::unfinished> output;
    staged_directory position; ///< the output in the file system
    file_descriptor seen;      ///< the temporary directory, locked while this process needs it
    int rank = 0;
    int size = 1;
    save_options options;
    std::string salt;
    vector<std::string> removed;
    std::promise<save_report> result;

    shared_save shared() const { return {position.target, position.temporary, seen, rank, size}; }
};

/// The saves in progress, the memory of their copies, and the thread that writes them.
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

    /// Memory that no save uses. Waits until a save frees it.
    ///
    /// \param near a device that copies to the memory, and provides it; may be null
    kept_bytes& acquire(std::size_t bytes, std::shared_ptr<device> const& near) {
        std::unique_lock lock(mutex_);
        kept_bytes* largest = nullptr;
        changed_.wait(lock, [&] {
            for (kept_bytes& kept : memory_)
                if (!kept.is_used && (!largest || kept.capacity > largest->capacity))
                    largest = &kept;
            return largest != nullptr;
        });
        if (!largest->fits(bytes, near))
            largest->replace(bytes, near);
        largest->is_used = true;
        return *largest;
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

    /// Returns and clears the error of the last failed save.
    local_error take_problem() {
        std::lock_guard const lock(mutex_);
        return std::exchange(problem_, std::nullopt);
    }

    /// Removes the temporary files of failed saves.
    void remove_given_up() {
        std::lock_guard const lock(mutex_);
        for (staged_directory const& directory : given_up_)
            directory.remove_temporary();
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
    vector<staged_directory> given_up_;
    bool is_ending_ = false;
    std::thread thread_; ///< last, since it uses all other members
};

/// Writes the pieces of this process.
inline vector<written_run> write_pieces(save_task const& task) {
    written_files files(task.files->plan, *task.output, task.base.get(), task.rank);
    for (std::size_t i = 0; i < task.mine.size(); ++i)
        files.put(task.mine[i].position, task.mine[i].bytes.begin,
                  {task.bytes[i], task.mine[i].bytes.size()});
    if (task.options.writing.sync)
        files.sync();
    return files.runs();
}

/// Completes the checkpoint, and makes it appear. Only one process calls this.
inline save_report complete(save_task const& task, runs_by_rank const& runs) {
    checkpoint_plan const& plan = task.files->plan;
    sealed_checkpoint const sealed =
        seal_runs(plan, runs, task.salt, facts_of(task.options.writing), task.base.get());
    written_files files(plan, *task.output, task.base.get(), task.rank);
    for (holder_t i = 0; i < plan.headers.size(); ++i)
        files.finish(i, sealed);
    put_delta_headers(files, sealed);
    if (task.options.writing.sync)
        files.sync();
    if (!task.options.writing.files)
        remove_notes(task.shared());
    if (task.base)
        task.base->check_there(*sealed.delta);
    put_record(*task.output, plan, sealed, task.options.writing.sync);
    if (!task.options.writing.files)
        remove_claim(task.shared());
    task.output->commit();
    task.output->clean_up();
    return {sealed.save, data_bytes(plan.metadata), reused_in(sealed.delta), task.removed};
}

inline save_report report_of_target(save_task const& task) {
    std::filesystem::path const record = task.position.target / save_record_name;
    save_record const written = read_save_record(*files_of_system(), record);
    return {written.save, data_bytes(task.files->plan.metadata), reused_in(written.delta),
            task.removed};
}

/// Checks whether the save is complete, and completes it if this process may.
///
/// \throws error if another process has failed
inline std::optional<save_report> look(save_task const& task) {
    if (is_at(task.seen, task.position.target.string()))
        return report_of_target(task);
    std::error_code problem;
    if (!std::filesystem::exists(task.position.temporary, problem) &&
        !is_at(task.seen, task.position.target.string()))
        fail(errc::io, task.position.target.string(),
             ": was not written: another rank failed; see the error of that rank");
    std::optional<save_report> report;
    complete_if_ready(task.shared(),
                      [&](runs_by_rank const& runs) { report = complete(task, runs); });
    return report;
}

/// Completes a save to a user's store, which only one process writes.
inline save_report complete_alone(save_task const& task, local_error const& failed,
                                  vector<written_run> runs) {
    try {
        if (failed)
            throw error(*failed);
        return complete(task, {std::move(runs)});
    } catch (...) { // a user's store may throw anything
        task.output->clean_up();
        throw;
    }
}

inline save_report async_state::finish(save_task& task) {
    auto runs = vector<written_run>();
    local_error failed = attempt([&] { runs = write_pieces(task); });
    release(*task.memory);
    if (task.options.writing.files)
        return complete_alone(task, failed, std::move(runs));
    if (!failed)
        failed = attempt([&] { publish_runs(task.shared(), runs); });
    if (failed && !publish_failure(task.shared(), failed->code(),
                                   "rank " + std::to_string(task.rank) + ": " + failed->what()))
        throw error(*failed);
    waiting patience(task.options.deadline.seconds);
    for (;; patience.pause()) {
        if (auto report = look(task))
            return *report;
        if (task.options.deadline.seconds > 0 && patience.is_over())
            fail(errc::deadline, task.position.target.string(),
                 ": other ranks did not write their parts within ",
                 seconds_text(task.options.deadline.seconds));
        if (is_ending())
            fail(errc::io, task.position.target.string(),
                 ": this process ends before other ranks have written their parts; the last rank "
                 "completes the save");
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
            if (!task->options.writing.files && task->rank == 0 &&
                problem->code() != errc::deadline && !is_ending_)
                given_up_.push_back(task->position);
        }
        task->result.set_exception(std::make_exception_ptr(*problem));
    }
}

} // namespace reshard::detail

#endif
