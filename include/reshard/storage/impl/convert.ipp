// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CONVERT_IPP
#define RESHARD_STORAGE_IMPL_CONVERT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/convert.hpp>

#include <reshard/bind/bind.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/checkpoint_writer.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/impl/carried_objects.ipp>
#include <reshard/storage/impl/quantised_files.ipp>
#include <reshard/storage/put_pieces.hpp>
#include <reshard/storage/replacement.hpp>
#include <reshard/storage/stored_tensor.hpp>
#include <reshard/storage/window_reads.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

/// A value of this process's status, in bytes; 0 if it is missing.
inline index_t status_bytes(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return std::stoll(line.substr(name.size())) * 1024;
    return 0;
}

RESHARD_DECL memory_watch::memory_watch() {
    std::ofstream("/proc/self/clear_refs") << "5\n"; // resets the peak, if that is allowed
    before_ = status_bytes("VmRSS:");
}

RESHARD_DECL index_t memory_watch::most_bytes() const {
    return std::max<index_t>(0, status_bytes("VmHWM:") - before_);
}

/// The size of the windows in which a piece is built. If the source is read in the same order, the
/// windows are small, so that they stay in a near cache. Else they have `budget` bytes, since each
/// window reads the same parts of the source again.
inline std::uint64_t window_bytes_for(bound_plan const& bound,
                                      std::span<transfer const* const> transfers, data_type dtype,
                                      index_t budget) {
    std::uint64_t const few = std::uint64_t{1} << 20;
    index_t const elements = window_of(dtype, 1, few).elements;
    for (transfer const* const t : transfers) {
        if (t->source_key == zero_source || cut_of(bound.whole, *t).elements() == 0)
            continue;
        std::optional<affine_copy> first;
        cut_to_windows(loop_of(bound, *t), target_of_loop, elements,
                       [&](index_t, affine_copy const& loop) {
                           if (!first)
                               first = loop;
                       });
        loop_span const span = span_of(*first, source_of_loop);
        if (span.end - span.first > 8 * std::max<index_t>(elements, element_count(*first)))
            return std::max(few, static_cast<std::uint64_t>(std::max<index_t>(0, budget)));
    }
    return few;
}

/// \throws error as the program
inline mapping mapping_of_call(convert_options const& options, checkpoint const& source) {
    if (mapping const* const mapping = options.program.known())
        return *mapping;
    catalog const stored = catalog_of(source);
    if (options.program.is_by_name())
        return identity_mapping(stored);
    std::optional<catalog> const wanted =
        options.wanted ? std::optional(catalog_of(*options.wanted)) : std::nullopt;
    return (*options.program.made())(stored, wanted ? &*wanted : nullptr);
}

inline vector<std::string> names_of(vector<std::filesystem::path> const& files) {
    vector<std::string> names;
    for (std::filesystem::path const& file : files)
        names.push_back(file.filename().string());
    return names;
}

/// The plan of a conversion. It is made before any data is read.
///
/// \invariant the members refer to each other
struct planned_conversion {
    mapping program; ///< equal on all ranks, like files, verdict and pieces
    std::unique_ptr<checkpoint> with_quantised; ///< null if the program quantizes nothing
    vector<std::string> notes;                  ///< as `convert_report::notes`
    tied_names names;
    checkpoint_plan files;
    strict_verdict verdict;
    file_pieces pieces;
    holder_t me = 0; ///< the number of this process, of `size` processes
    int size = 1;
    layout piece_holders;
    plan_problem problem;
    plan reads;                           ///< of this process
    vector<std::filesystem::path> beside; ///< files that this process copies
    std::string note_beside;              ///< names directories that it does not copy, or empty

    planned_conversion() = default;
    planned_conversion(planned_conversion const&) = delete;
    planned_conversion& operator=(planned_conversion const&) = delete;

    /// The source with the tensors that the program quantizes.
    checkpoint const& from(checkpoint const& source) const {
        return with_quantised ? *with_quantised : source;
    }

    /// \throws error as `convert`
    void plan_program(checkpoint const& source, convert_options const& options) {
        check_all_read(source.metadata());
        if (!options.wanted || !options.writing.partial)
            check_total_bytes(source.metadata(), [](checkpoint_tensor const&) { return true; });
        program = mapping_of_call(options, source);
        with_quantised = detail::with_quantised(source, program, options.verify);
    }

    /// \throws error as `convert`
    void plan_files(checkpoint const& source, std::filesystem::path const& target,
                    convert_options const& options) {
        at_path(source.metadata().path, [&] {
            check_readable(program, source.files_layout(),
                           options.wanted ? &*options.wanted : nullptr);
        });
        carry_fused(program, source.files_layout());
        if (!options.cut_fused)
            at_path(target, [&] { plan_fused(source, options); });
        at_path(source.metadata().path,
                [&] { check_scales(program, source.files_layout(), true); });
        if (options.wanted)
            check_scales(program, *options.wanted);
        at_path(target, [&] { choose_files(source, options); });
    }

    void choose_files(checkpoint const& source, convert_options const& options) {
        if (options.strict && options.wanted)
            verdict = judge_keys(*options.strict, keys_of(options.wanted->tensors),
                                 keys_of(program.outputs()));
        names = tie_names(source, program, options);
        std::ranges::move(names.notes, std::back_inserter(notes));
        files = files_for(program,
                          verdict.left_out.empty()
                              ? options.wanted
                              : std::optional(without_left_out(*options.wanted, verdict)),
                          writing_of(source, program, options), names.aliases,
                          objects_for(source, program, options, notes));
        note_new_tensors(notes, source.metadata(), program, files.metadata.aliases);
    }

    /// \throws error with errc::bad_layout if the layout does not fit the fused tensors, and
    ///         errc::unsupported if the format cannot hold them
    void plan_fused(checkpoint const& source, convert_options const& options) {
        check_torn(program, source.files_layout());
        std::string text = deinterleave_whole(program, source.files_layout(),
                                              options.wanted ? &*options.wanted : nullptr);
        if (!text.empty())
            notes.push_back(std::move(text));
        if (options.wanted)
            check_fused(program, *options.wanted);
        check_fused_order(fused_of(program, options.wanted), options.writing.format);
    }

    void plan_pieces(convert_options const& options, int rank, int ranks) {
        me = static_cast<holder_t>(rank);
        size = ranks;
        pieces = options.wanted ? pieces_by_rank(files, size) : pieces_by_bytes(files, size);
        piece_holders = layout_of(files.metadata, pieces, size);
    }

    /// \throws error as `make_plan`, beginning with the path of the source
    void plan_transfers(checkpoint const& source) {
        at_path(source.metadata().path, [&] {
            problem = problem_of(program, source.files_layout(), piece_holders);
            problem.source_names = &source.file_names();
            check_scales_exist(program, problem);
            reads = make_plan(problem, {holder_set::nobody(), holder_set({me})},
                              {.shared_sources = true});
        });
    }

    /// Finds the files beside the source that the first process copies; no directories.
    ///
    /// \throws error with errc::io
    void find_beside(checkpoint const& source, convert_options const& options) {
        if (!options.carry || files.is_file || me != 0)
            return;
        beside = side_files(source.metadata());
        erase_if(beside, [&](std::filesystem::path const& file) {
            return std::ranges::count(names.outdated, file.filename().string()) > 0;
        });
        auto const directories = side_directories(source.metadata());
        if (!directories.empty())
            note_beside = "directories beside the tensors are not copied: " +
                          first_and_more("'" + directories.front() + "'", directories.size());
    }

    index_t bytes_to_write() const {
        index_t bytes = 0;
        for (file_piece const& piece : pieces)
            if (piece.process == me)
                bytes += static_cast<index_t>(piece.bytes.size());
        return bytes;
    }
};

/// The arguments that must be equal on all ranks of a conversion.
///
/// \throws error as `convert`
inline compared_values conversion_fingerprint(planned_conversion const& work,
                                              checkpoint const& source,
                                              convert_options const& options) {
    compared_values fingerprint;
    fingerprint.add_digest("checkpoint as its source", digest_of(source.metadata()));
    fingerprint.add_digest("options.program", digest_of(work.program));
    fingerprint.add("options.writing", options.writing); // `wanted` determines the files
    fingerprint.add("options.strict", options.strict);
    fingerprint.add("options.verify", options.verify);
    fingerprint.add("options.cut_fused", options.cut_fused);
    fingerprint.add("options.carry", options.carry);
    fingerprint.add("options.objects", options.objects);
    fingerprint.add("options.object_names", options.object_names);
    fingerprint.add("options.header_like", options.header_like.string());
    fingerprint.add_digest("config.json of the source",
                           digest_of_all(work.names.config.value_or("")));
    fingerprint.add_digest("options.wanted or options.writing.writer",
                           digest_of(work.files.metadata));
    return fingerprint;
}

/// Plans a conversion on all ranks, and compares the replicas that it reads.
///
/// \par Collective every rank of the group, in the same order
std::unique_ptr<planned_conversion> plan_conversion(group auto const& world,
                                                    checkpoint const& stored,
                                                    std::filesystem::path const& target,
                                                    convert_options const& options) {
    auto planned = std::make_unique<planned_conversion>();
    planned_conversion& work = *planned;
    call_opening opening{"convert to " + target.string(), {}};
    opening.problem = attempt([&] {
        if (options.memory_budget < 1)
            fail(errc::usage, "options.memory_budget is ", options.memory_budget,
                 " bytes; give 1 or more (values below 1 MiB count as 1 MiB)");
        work.plan_program(stored, options);
        work.plan_files(work.from(stored), target, options);
        opening.fingerprint = conversion_fingerprint(work, work.from(stored), options);
    });
    open_call(world, opening);
    checkpoint const& source = work.from(stored);
    agree_on(world, [&] {
        work.plan_pieces(options, world.rank(), world.size());
        work.plan_transfers(source);
        check_copies(source, work.program, world.rank(), world.size());
        if (!united(source))
            check_saved_replicas(source,
                                 tensors_used(work.problem, work.program, source.files_layout()),
                                 world.rank(), world.size());
        work.find_beside(source, options);
    });
    if (united(source))
        check_replicas(world, source,
                       tensors_used(work.problem, work.program, source.files_layout()));
    return planned;
}

/// Builds a window in `buffer`, from tensors in files.
inline std::span<std::byte const> content_from_files(bound_plan const& bound, chunk_reader& reader,
                                                     std::span<piece_part const> parts,
                                                     vector<std::byte>& buffer) {
    vector<stored_loop> loops;
    for (piece_part const& part : parts)
        loops.push_back(
            {{bound.problem.sources[part.from->source_key].tensor, part.from->source_shard},
             part.loop,
             conversion_of(bound, *part.from),
             buffer.data()});
    run(reader, std::move(loops));
    return buffer;
}

/// Writes the pieces of this process, and returns the number of bytes that it read.
inline std::uint64_t put_converted(written_files& writer, checkpoint const& source,
                                   planned_conversion const& work, convert_options const& options) {
    auto const targets = shapes_of(work.files.metadata, work.pieces);
    stored_scales scales(source, work.program, options.verify);
    bound_plan const bound{work.reads, work.problem,       source.shapes(),
                           targets,    &all_conversions(), &scales};
    chunk_reader reader(source, options.verify);
    progress_count count(options.progress, work.bytes_to_write());
    vector<std::byte> buffer;
    put_pieces(
        bound, work.pieces, work.me, work.size, writer,
        [&](std::span<transfer const* const> transfers, data_type dtype) {
            return window_bytes_for(bound, transfers, dtype, options.memory_budget);
        },
        [&](std::uint64_t bytes, std::span<piece_part const> parts) {
            buffer.assign(bytes, std::byte{0});
            scales.trim();
            return content_from_files(bound, reader, parts, buffer);
        },
        [&](std::uint64_t bytes) { count.add(bytes); });
    reader.check_unchanged();
    scales.check_unchanged();
    return reader.bytes_read() + scales.bytes_read();
}

/// The names of the files beside a replaced checkpoint that are not replaced themselves.
inline vector<std::string> names_kept(std::filesystem::path const& target,
                                      checkpoint_plan const& files,
                                      vector<std::string> const& replaced,
                                      write_options const& options) {
    if (!options.replace || options.files || files.is_file)
        return {};
    vector<std::string> names = names_of(files_to_keep(target));
    erase_if(names, [&](std::string const& name) { return std::ranges::count(replaced, name); });
    return names;
}

/// The report of a rank about its share of a conversion.
struct conversion_share {
    std::uint64_t bytes_read = 0;
    index_t peak_bytes = 0;
    vector<std::string> carried, kept, removed; ///< of the first rank
    std::string note;                           ///< of the first rank, or empty

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.bytes_read, self.peak_bytes, self.carried, self.kept, self.removed, self.note);
    }
};

/// \par Collective every rank of the group, in the same order
convert_report convert_as(group auto const& world, checkpoint const& stored,
                          std::filesystem::path const& target, convert_options const& options) {
    memory_watch memory;
    auto const planned = plan_conversion(world, stored, target, options);
    planned_conversion& work = *planned;
    checkpoint const& source = work.from(stored);
    checkpoint_writer writer(world, target, work.files, options.writing);
    conversion_share own_share;
    agree_on(world, [&] {
        own_share.bytes_read = put_converted(writer.files(), source, work, options);
        own_share.carried = names_of(work.beside);
        if (work.me == 0)
            own_share.kept = names_kept(target, work.files, own_share.carried, options.writing);
    });
    writer.commit(world, work.beside, work.names.config);
    own_share.peak_bytes = memory.most_bytes();
    own_share.removed = writer.removed();
    own_share.note = work.note_beside;
    vector<conversion_share> const shares = gather_values(world, own_share);
    conversion_share const& first = shares.front();
    if (!first.note.empty())
        work.notes.push_back(first.note);
    std::uint64_t read = 0;
    for (conversion_share const& share : shares)
        read += share.bytes_read;
    checkpoint_metadata const& written = work.files.metadata;
    return {.keys = static_cast<index_t>(written.tensors.size()),
            .bytes = data_bytes(written),
            .reused = writer.reused(),
            .bytes_read = static_cast<index_t>(read),
            .bytes_moved = 0,
            .peak_extra_bytes =
                std::ranges::max(shares, {}, &conversion_share::peak_bytes).peak_bytes,
            .keys_judged = std::move(work.verdict),
            .objects = count_carried(source, options),
            .carried = first.carried,
            .kept = first.kept,
            .aliases = written.aliases,
            .removed = first.removed,
            .notes = std::move(work.notes)};
}

} // namespace detail

RESHARD_DECL convert_report convert(solo const& alone, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& options) {
    return detail::convert_as(alone, source, target, options);
}

RESHARD_DECL convert_report convert(mpi_group const& world, checkpoint const& source,
                                    std::filesystem::path const& target,
                                    convert_options const& options) {
    return detail::convert_as(world.with_deadline(options.deadline), source, target, options);
}

} // namespace reshard

#endif
