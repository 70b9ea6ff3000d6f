// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CONVERT_IPP
#define RESHARD_STORAGE_IMPL_CONVERT_IPP

#include <reshard/storage/convert.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/chunk_check.hpp>
#include <reshard/storage/replacement.hpp>
#include <reshard/storage/stored_tensor.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace reshard {

namespace detail {

RESHARD_DECL index_t own_memory_bytes() {
    std::ifstream counts("/proc/self/statm");
    index_t all = 0, resident = 0, shared = 0;
    counts >> all >> resident >> shared;
    return counts ? (resident - shared) * ::sysconf(_SC_PAGESIZE) : 0;
}

inline checkpoint_plan files_of(mapping const& program, convert_options const& how,
                                strict_verdict& verdict) {
    if (how.strict && how.wanted)
        verdict = judge_keys(*how.strict, keys_of(how.wanted->tensors), keys_of(program.outputs()));
    return verdict.left_out.empty()
               ? files_for(program, how.wanted, how.writing)
               : files_for(program, without_left_out(*how.wanted, verdict), how.writing);
}

inline index_t fill_files(bound_plan const& bound, progress_function const& progress) {
    index_t all = 0, done = 0, read = 0;
    for (transfer const& transfer : bound.whole.transfers)
        all = checked_add(all, wire_bytes(bound.whole, transfer), "the bytes of all transfers");
    for (transfer const& transfer : bound.whole.transfers) {
        run_locally(bound, transfer);
        done += wire_bytes(bound.whole, transfer);
        if (transfer.source_key != zero_source)
            read = checked_add(read,
                               byte_count(element_count(cut_of(bound.whole, transfer).extent),
                                          bound.whole.source_dtypes[transfer.source_key]),
                               "the bytes read");
        if (progress)
            progress(done, all);
    }
    return read;
}

inline index_t data_bytes(checkpoint_metadata const& written) {
    index_t bytes = 0;
    for (checkpoint_tensor const& tensor : written.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            bytes = checked_add(bytes, static_cast<index_t>(shard.end - shard.begin),
                                "the bytes of all shards");
    return bytes;
}

inline std::uint64_t digest_of_call(checkpoint const& source, mapping const& program,
                                    checkpoint_plan const& files, convert_options const& how) {
    return digest_of_all(digest_of(source.metadata()), digest_of(program),
                         digest_of(files.metadata), how.writing, how.strict);
}

index_t largest_over(group auto const& world, index_t mine) {
    index_t largest = mine;
    for (index_t const one : gather_values(world, mine))
        largest = std::max(largest, one);
    return largest;
}

index_t sum_over(group auto const& world, index_t mine) {
    index_t sum = 0;
    for (index_t const one : gather_values(world, mine))
        sum = checked_add(sum, one, "what the processes count,");
    return sum;
}

/// \throws error what a program throws
inline mapping mapping_of_call(convert_options const& how, checkpoint const& source) {
    if (mapping const* const known = how.program.known())
        return *known;
    catalog const stored = catalog_of(source);
    if (how.program.is_by_name())
        return identity_mapping(stored);
    std::optional<catalog> const wanted =
        how.wanted ? std::optional(catalog_of(*how.wanted)) : std::nullopt;
    return (*how.program.made())(stored, wanted ? &*wanted : nullptr);
}

/// \par Collective every rank of the group, in the same order
convert_report convert_as(group auto const& world, checkpoint const& source,
                          std::filesystem::path const& target, convert_options const& how) {
    mapping program;
    memory_watch memory;
    checkpoint_plan files;
    strict_verdict verdict;
    std::uint64_t digest = 0;
    local_error const problem = attempt([&] {
        program = mapping_of_call(how, source);
        at_path(target, [&] { files = files_of(program, how, verdict); });
        digest = digest_of_call(source, program, files, how);
    });
    agree_to_run(world, "convert to " + target.string(), digest, problem);
    layout const held = layout_of(files.metadata);
    plan_problem work;
    plan whole;
    agree_on(world, [&] {
        holder_set const mine(files_of_process(files, world.rank(), world.size()));
        at_path(source.metadata().path, [&] {
            work = problem_of(program, source.files_layout(), held);
            work.source_names = &source.file_names();
            whole = make_plan(work, {holder_set::nobody(), mine}, {.shared_sources = true});
            memory.look();
        });
    });
    check_replicas(world, source, tensors_used(work, source.files_layout()));
    checkpoint_writer writer(world, target, files, how.writing.replace);
    index_t read = 0;
    agree_on(world, [&] {
        auto const targets = views_in_files<tensor_view>(files.metadata, writer.files());
        bound_plan const bound{whole, work, source.views(), targets};
        check_chunks(source, bound, how.verify);
        read = fill_files(bound, how.progress);
        memory.look();
    });
    std::vector<std::filesystem::path> beside;
    agree_on(world, [&] {
        if (how.carry && world.rank() == 0)
            beside = side_files(source.metadata().path);
    });
    writer.commit(world, beside);
    std::vector<std::string> carried;
    for (std::filesystem::path const& file : beside)
        carried.push_back(file.filename().string());
    return {.keys = static_cast<index_t>(files.metadata.tensors.size()),
            .bytes = data_bytes(files.metadata),
            .bytes_read = sum_over(world, read),
            .bytes_moved = 0,
            .peak_extra_bytes = largest_over(world, memory.most_bytes()),
            .keys_judged = std::move(verdict),
            .carried = gather_values(world, carried).front()};
}

} // namespace detail

RESHARD_DECL convert_report convert(solo const& alone, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& how) {
    return detail::convert_as(alone, source, target, how);
}

RESHARD_DECL convert_report convert(mpi_group const& world, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& how) {
    return detail::convert_as(world.with_deadline(how.deadline), source, target, how);
}

} // namespace reshard

#endif
