// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "reshard.h"

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "binding.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The C library. Arguments become values of C++, and errors a status and a sentence.

namespace {

using namespace reshard;
using tool::given_communicator;

/// The statuses, which keep their numbers whatever happens to errc.
constexpr std::pair<errc, reshard_status> statuses[] = {
    {errc::syntax, RESHARD_SYNTAX},
    {errc::unknown_key, RESHARD_UNKNOWN_KEY},
    {errc::bad_macro, RESHARD_BAD_MACRO},
    {errc::shape_mismatch, RESHARD_SHAPE_MISMATCH},
    {errc::dtype_mismatch, RESHARD_DTYPE_MISMATCH},
    {errc::not_covered, RESHARD_NOT_COVERED},
    {errc::overlap, RESHARD_OVERLAP},
    {errc::overflow, RESHARD_OVERFLOW},
    {errc::limit_exceeded, RESHARD_LIMIT_EXCEEDED},
    {errc::bad_layout, RESHARD_BAD_LAYOUT},
    {errc::memory_overlap, RESHARD_MEMORY_OVERLAP},
    {errc::ranks_disagree, RESHARD_RANKS_DISAGREE},
    {errc::unsupported, RESHARD_UNSUPPORTED},
    {errc::not_invertible, RESHARD_NOT_INVERTIBLE},
    {errc::usage, RESHARD_USAGE},
    {errc::corrupt_file, RESHARD_CORRUPT_FILE},
    {errc::missing_file, RESHARD_MISSING_FILE},
    {errc::already_exists, RESHARD_ALREADY_EXISTS},
    {errc::io, RESHARD_IO},
    {errc::deadline, RESHARD_DEADLINE},
};
static_assert(std::size(statuses) == static_cast<std::size_t>(errc::deadline) + 1);

constexpr std::pair<data_type, reshard_dtype> data_types[] = {
    {data_type::boolean, RESHARD_BOOL},
    {data_type::u8, RESHARD_UINT8},
    {data_type::i8, RESHARD_INT8},
    {data_type::u16, RESHARD_UINT16},
    {data_type::i16, RESHARD_INT16},
    {data_type::u32, RESHARD_UINT32},
    {data_type::i32, RESHARD_INT32},
    {data_type::u64, RESHARD_UINT64},
    {data_type::i64, RESHARD_INT64},
    {data_type::f16, RESHARD_FLOAT16},
    {data_type::bf16, RESHARD_BFLOAT16},
    {data_type::f32, RESHARD_FLOAT32},
    {data_type::f64, RESHARD_FLOAT64},
    {data_type::c64, RESHARD_COMPLEX64},
    {data_type::c128, RESHARD_COMPLEX128},
    {data_type::f8_e4m3, RESHARD_FLOAT8_E4M3FN},
    {data_type::f8_e4m3fnuz, RESHARD_FLOAT8_E4M3FNUZ},
    {data_type::f8_e5m2, RESHARD_FLOAT8_E5M2},
    {data_type::f8_e5m2fnuz, RESHARD_FLOAT8_E5M2FNUZ},
    {data_type::f8_e8m0, RESHARD_FLOAT8_E8M0},
    {data_type::f6_e2m3, RESHARD_FLOAT6_E2M3},
    {data_type::f6_e3m2, RESHARD_FLOAT6_E3M2},
    {data_type::f4, RESHARD_FLOAT4_E2M1},
};
static_assert(std::size(data_types) == detail::data_type_count);

/// The row of a table with this number, or null.
template <class Row, std::size_t size>
Row const* row_of(Row const (&table)[size], std::int32_t number) {
    auto const* const found =
        std::find_if(table, table + size, [&](Row const& row) { return row.second == number; });
    return found == table + size ? nullptr : found;
}

/// The number of a value in a table that has every value.
template <class Row, std::size_t size>
std::int32_t number_of(Row const (&table)[size], typename Row::first_type value) {
    return std::find_if(table, table + size, [&](Row const& row) { return row.first == value; })
        ->second;
}

/// The result of a thread's last call.
struct call_result {
    std::string text;
    std::vector<std::string> warnings;
};
thread_local call_result last;

/// Runs a call, and keeps its error for reshard_error_text.
reshard_status guarded(auto const& work) noexcept try {
    last = {};
    detail::local_error const problem = detail::attempt(work);
    if (!problem)
        return RESHARD_OK;
    last.text = problem->what();
    return number_of(statuses, problem->code());
} catch (...) { // no memory for the sentence
    return RESHARD_IO;
}

template <class T>
T& argument(T* pointer, std::string_view name) {
    if (!pointer)
        fail(errc::usage, name, " is a null pointer");
    return *pointer;
}

/// A text of the caller.
std::string text_of(char const* text, std::string_view name) { return &argument(text, name); }

/// Refuses a struct of another size, of which no member but the first is read. If later versions
/// add members, they accept this size too.
template <class T>
T& check_struct_bytes(T* given, std::string_view name) {
    std::uint32_t const bytes = argument(given, name).struct_bytes;
    if (bytes != sizeof(T))
        fail(errc::usage, name, " has struct_bytes ", bytes, ", but this library knows ", sizeof(T),
             " bytes; set it to the sizeof of the struct, and use the header of reshard ",
             reshard_version());
    return *given;
}

void check_mpi_runs() {
    int is_initialized = 0, is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (!is_initialized || is_finalized)
        fail(errc::usage, "a communicator is given, but MPI ",
             is_finalized ? "has ended" : "is not initialized",
             "; give MPI_COMM_NULL for this process alone");
}

given_communicator communicator_of(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL)
        return std::nullopt;
    check_mpi_runs();
    if (comm == MPI_Comm{})
        fail(errc::usage, "the communicator is none of MPI's; give MPI_COMM_NULL for this process "
                          "alone");
    int is_inter = 0;
    MPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        fail(errc::usage, "the communicator is an inter-communicator, whose groups count their "
                          "ranks separately; merge it (MPI_Intercomm_merge)");
    return MPI_Comm_c2f(comm);
}

given_communicator communicator_of_f(std::int32_t comm) {
    if (comm == RESHARD_ALONE)
        return std::nullopt;
    check_mpi_runs();
    MPI_Comm const in_c = MPI_Comm_f2c(comm);
    if (in_c == MPI_COMM_NULL)
        fail(errc::usage, "the communicator is MPI_COMM_NULL, as on ranks that are not in it; give "
                          "RESHARD_ALONE for this process alone");
    return communicator_of(in_c);
}

/// The open checkpoints by their numbers. A thread may close one that another thread reads.
class open_checkpoints {
public:
    reshard_checkpoint add(std::shared_ptr<checkpoint const> opened) {
        std::lock_guard const lock(mutex_);
        by_number_.emplace(++last_number_, std::move(opened));
        return last_number_;
    }

    std::shared_ptr<checkpoint const> find(reshard_checkpoint number) {
        std::lock_guard const lock(mutex_);
        auto const found = by_number_.find(number);
        if (found == by_number_.end())
            fail(errc::usage, "checkpoint ", number, " is not open");
        return found->second;
    }

    void close(reshard_checkpoint number) {
        auto const kept = find(number); // files are closed when the lock is free again
        std::lock_guard const lock(mutex_);
        by_number_.erase(number);
    }

private:
    std::mutex mutex_;
    std::map<reshard_checkpoint, std::shared_ptr<checkpoint const>> by_number_;
    reshard_checkpoint last_number_ = 0;
};

open_checkpoints& checkpoints() {
    static open_checkpoints all;
    return all;
}

void describe(detail::checkpoint_tensor const& found, reshard_tensor& tensor) {
    tensor.dtype = found.is_read() ? number_of(data_types, found.dtype) : 0;
    tensor.ndim = static_cast<std::int32_t>(found.shape.size());
    tensor.reserved = 0;
    tensor.key_bytes = static_cast<std::int64_t>(found.key.size());
    tensor.key = found.key.c_str();
    tensor.shape = found.shape.begin();
}

detail::checkpoint_tensor const& tensor_of(checkpoint const& files, std::string const& key) {
    detail::checkpoint_tensor const* const found = tool::find_tensor(files, key);
    if (!found)
        fail(errc::unknown_key, files.metadata().path.string(), ": has no tensor '", key, "'");
    return *found;
}

/// One number for each axis, or the `others` for a null pointer.
index_vector numbers_of(std::int64_t const* numbers, std::int32_t ndim,
                        index_vector const& others) {
    return numbers ? index_vector(numbers, numbers + ndim) : others;
}

data_type dtype_of(reshard_dtype dtype) {
    auto const* const row = row_of(data_types, dtype);
    if (!row)
        fail(errc::usage, "dtype ", dtype, " is none of the data types of reshard.h");
    return row->first;
}

/// \param global_shape for a shard without its own; null: the shard's shape
local_shard shard_of(reshard_shard const& shard, index_vector const* global_shape) {
    std::int32_t const ndim = shard.ndim;
    if (ndim < 0 || static_cast<std::size_t>(ndim) > max_ndim)
        fail(errc::limit_exceeded, "ndim is ", ndim, ", but a tensor has 0 to ", max_ndim, " axes");
    if (shard.reserved != 0)
        fail(errc::usage, "reserved is ", shard.reserved, ", and must be 0");
    if (ndim > 0)
        argument(shard.shape, "shape");
    data_type const dtype = dtype_of(shard.dtype);
    index_vector const shape = numbers_of(shard.shape, ndim, {});
    shard_descriptor descriptor{
        shard.key,
        dtype,
        numbers_of(shard.global_shape, ndim, global_shape ? *global_shape : shape),
        box{numbers_of(shard.offset, ndim, index_vector::filled(shape.size(), 0)), shape},
        {}};
    check(descriptor); // before strides are made of its extents
    index_vector const strides =
        shard.strides ? numbers_of(shard.strides, ndim, {}) : row_major_strides(shape);
    return {std::move(descriptor), {shard.data, dtype, shape, strides}};
}

/// \throws error that names the key
template <class StateDict>
void add(StateDict& tensors, reshard_shard const& shard, index_vector const* global_shape) {
    std::string const key = text_of(shard.key, "key");
    try {
        local_shard added = shard_of(shard, global_shape);
        tensors.add(std::move(added.descriptor), added.tensor);
    } catch (error const& problem) {
        std::string const text = problem.what();
        std::string const quoted = "'" + key + "'";
        throw error(problem.code(), text.starts_with(quoted) ? text : quoted + ": " + text);
    }
}

/// \param name of the array in messages
template <class StateDict>
StateDict state_of(reshard_shard const* shards, std::int64_t count, std::string const& name) {
    if (count < 0)
        fail(errc::usage, "the number of shards in ", name, " is ", count);
    StateDict tensors;
    for (std::int64_t i = 0; i < count; ++i)
        add(tensors,
            check_struct_bytes(&argument(shards, name) + i, name + "[" + std::to_string(i) + "]"),
            nullptr);
    tensors.check();
    return tensors;
}

/// The options of a call. \param flags those that the call has
reshard_options options_of(reshard_options const* given, std::uint32_t flags) {
    if (!given)
        return RESHARD_OPTIONS_INIT;
    reshard_options const& chosen = check_struct_bytes(given, "options");
    if (chosen.flags & ~flags)
        fail(errc::usage, "options has flags ", chosen.flags, ", but this call supports only ",
             flags);
    return chosen;
}

/// A program that adds its warnings to those of the call, but for those with the code `left_out`.
any_program program_of(reshard_options const& chosen, std::string const& left_out = {}) {
    return tool::program_of(chosen.program ? chosen.program : "",
                            chosen.program_name ? chosen.program_name : "program", last.warnings,
                            left_out);
}

void read_box(reshard_checkpoint number, reshard_shard const* box) {
    auto const files = checkpoints().find(number);
    reshard_shard const& wanted = check_struct_bytes(box, "box");
    index_vector const stored = tensor_of(*files, text_of(wanted.key, "key")).shape;
    state_dict want;
    add(want, wanted, static_cast<std::int32_t>(stored.size()) == wanted.ndim ? &stored : nullptr);
    want.check();
    load(solo(), *files, want);
}

void load_shards(given_communicator const& communicator, reshard_checkpoint number,
                 reshard_shard const* shards, std::int64_t count, reshard_options const* given) {
    std::shared_ptr<checkpoint const> files;
    state_dict want;
    options chosen{.between_nodes = relays()};
    auto const mistake = detail::attempt([&] {
        files = checkpoints().find(number);
        want = state_of<state_dict>(shards, count, "shards");
        chosen.program = program_of(options_of(given, 0), "not_used"); // may be loaded later
    });
    tool::run_agreed(communicator, mistake,
                     [&](auto const& world) { load(world, *files, want, chosen); });
}

void save_shards(given_communicator const& communicator, reshard_shard const* shards,
                 std::int64_t count, char const* path, reshard_options const* given) {
    std::string target;
    const_state_dict have;
    save_options chosen;
    auto const mistake = detail::attempt([&] {
        target = text_of(path, "path");
        have = state_of<const_state_dict>(shards, count, "shards");
        reshard_options const options = options_of(given, RESHARD_WHOLE | RESHARD_REPLACE);
        chosen.form = options.flags & RESHARD_WHOLE ? save_form::huggingface : save_form::chosen;
        chosen.writing.replace = options.flags & RESHARD_REPLACE;
        chosen.program = program_of(options);
    });
    tool::run_agreed(communicator, mistake, [&](auto const& world) {
        for (std::string const& note : save(world, have, target, chosen).notes)
            last.warnings.push_back("note: " + note);
    });
}

/// An array of shards of the caller.
struct given_shards {
    reshard_shard const* first;
    std::int64_t count;
};

void move_shards(given_communicator const& communicator, given_shards source, given_shards target,
                 reshard_options const* given) {
    const_state_dict have;
    state_dict want;
    options chosen{.between_nodes = relays()};
    auto const mistake = detail::attempt([&] {
        have = state_of<const_state_dict>(source.first, source.count, "have");
        want = state_of<state_dict>(target.first, target.count, "want");
        chosen.program = program_of(options_of(given, 0));
    });
    tool::run_agreed(communicator, mistake,
                     [&](auto const& world) { reshard::redistribute(world, have, want, chosen); });
}

/// The words of a command line, with `--json`.
std::vector<std::string> words_of(int argc, char const* const* argv) {
    if (argc < 1)
        fail(errc::usage, "a command has no words (argc is ", argc, ")");
    std::vector<std::string> words;
    for (int i = 0; i < argc; ++i)
        words.push_back(text_of((&argument(argv, "argv"))[i], "argv[" + std::to_string(i) + "]"));
    words.insert(words.begin() + 1, "--json");
    return words;
}

/// A copy that `free` frees.
char* copy_of(std::string const& text) {
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (!copy)
        throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

void run(given_communicator const& communicator, int argc, char const* const* argv, char** json) {
    std::vector<std::string> words;
    auto const mistake = detail::attempt([&] {
        argument(json, "json");
        words = words_of(argc, argv);
    });
    tool::answer const answer = tool::run_words(
        communicator ? tool::processes(tool::group_of(*communicator)) : tool::processes(solo()),
        words, mistake);
    for (auto const& [noun, line] : answer.said)
        last.warnings.push_back(noun == "warning" ? line : noun + ": " + line);
    answer.check();
    if (!answer.text.starts_with('{'))
        fail(errc::usage, words.front(), ": the output is not JSON; call it without --help");
    *json = copy_of(answer.text);
}

} // namespace

char const* reshard_version() {
    static std::string const text = tool::version_text();
    return text.c_str();
}

char const* reshard_status_name(reshard_status status) {
    auto const* const row = row_of(statuses, status);
    return status == RESHARD_OK ? "ok" : row ? name(row->first).data() : nullptr;
}

char const* reshard_dtype_name(reshard_dtype dtype) {
    auto const* const row = row_of(data_types, dtype);
    return row ? name(row->first).data() : nullptr;
}

std::int32_t reshard_dtype_bits(reshard_dtype dtype) {
    auto const* const row = row_of(data_types, dtype);
    return row ? bits(row->first) : 0;
}

char const* reshard_error_text() { return last.text.c_str(); }

char const* reshard_warning(std::int64_t index) {
    return index >= 0 && static_cast<std::uint64_t>(index) < last.warnings.size()
               ? last.warnings[static_cast<std::size_t>(index)].c_str()
               : nullptr;
}

reshard_status reshard_open(char const* path, reshard_checkpoint* number) {
    return guarded([&] {
        argument(number, "checkpoint") = 0;
        auto files = std::make_shared<checkpoint const>(text_of(path, "path"));
        last.warnings = files->metadata().warnings;
        *number = checkpoints().add(std::move(files));
    });
}

reshard_status reshard_close(reshard_checkpoint number) {
    return guarded([&] {
        if (number != 0)
            checkpoints().close(number);
    });
}

reshard_status reshard_tensor_count(reshard_checkpoint number, std::int64_t* count) {
    return guarded([&] {
        argument(count, "count") =
            static_cast<std::int64_t>(checkpoints().find(number)->metadata().tensors.size());
    });
}

reshard_status reshard_tensor_at(reshard_checkpoint number, std::int64_t index,
                                 reshard_tensor* tensor) {
    return guarded([&] {
        auto const files = checkpoints().find(number);
        auto const& tensors = files->metadata().tensors;
        if (index < 0 || static_cast<std::uint64_t>(index) >= tensors.size())
            fail(errc::usage, "index ", index, " is outside the ",
                 detail::counted(tensors.size(), "tensor"), " of the checkpoint");
        describe(tensors[static_cast<std::size_t>(index)], check_struct_bytes(tensor, "tensor"));
    });
}

reshard_status reshard_find_tensor(reshard_checkpoint number, char const* key,
                                   reshard_tensor* tensor) {
    return guarded([&] {
        auto const files = checkpoints().find(number);
        describe(tensor_of(*files, text_of(key, "key")), check_struct_bytes(tensor, "tensor"));
    });
}

reshard_status reshard_read(reshard_checkpoint number, reshard_shard const* box) {
    return guarded([&] { read_box(number, box); });
}

reshard_status reshard_load(MPI_Comm comm, reshard_checkpoint number, reshard_shard const* shards,
                            std::int64_t count, reshard_options const* chosen) {
    return guarded([&] { load_shards(communicator_of(comm), number, shards, count, chosen); });
}

reshard_status reshard_load_f(std::int32_t comm, reshard_checkpoint number,
                              reshard_shard const* shards, std::int64_t count,
                              reshard_options const* chosen) {
    return guarded([&] { load_shards(communicator_of_f(comm), number, shards, count, chosen); });
}

reshard_status reshard_save(MPI_Comm comm, reshard_shard const* shards, std::int64_t count,
                            char const* path, reshard_options const* chosen) {
    return guarded([&] { save_shards(communicator_of(comm), shards, count, path, chosen); });
}

reshard_status reshard_save_f(std::int32_t comm, reshard_shard const* shards, std::int64_t count,
                              char const* path, reshard_options const* chosen) {
    return guarded([&] { save_shards(communicator_of_f(comm), shards, count, path, chosen); });
}

reshard_status reshard_redistribute(MPI_Comm comm, reshard_shard const* have,
                                    std::int64_t have_count, reshard_shard const* want,
                                    std::int64_t want_count, reshard_options const* chosen) {
    return guarded([&] {
        move_shards(communicator_of(comm), {have, have_count}, {want, want_count}, chosen);
    });
}

reshard_status reshard_redistribute_f(std::int32_t comm, reshard_shard const* have,
                                      std::int64_t have_count, reshard_shard const* want,
                                      std::int64_t want_count, reshard_options const* chosen) {
    return guarded([&] {
        move_shards(communicator_of_f(comm), {have, have_count}, {want, want_count}, chosen);
    });
}

reshard_status reshard_command(MPI_Comm comm, int argc, char const* const* argv, char** json) {
    if (json)
        *json = nullptr;
    return guarded([&] { run(communicator_of(comm), argc, argv, json); });
}

reshard_status reshard_command_f(std::int32_t comm, int argc, char const* const* argv,
                                 char** json) {
    if (json)
        *json = nullptr;
    return guarded([&] { run(communicator_of_f(comm), argc, argv, json); });
}

void reshard_free(char* json) { std::free(json); }
