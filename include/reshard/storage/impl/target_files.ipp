// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_TARGET_FILES_IPP
#define RESHARD_STORAGE_IMPL_TARGET_FILES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/target_files.hpp>

#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/layout/equal_shares.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reshard {

namespace detail {

RESHARD_DECL bool have_same_holders(layout const& wanted, std::string const& name,
                                    std::string const& other) {
    tensor_layout const* const a = wanted.find(name);
    tensor_layout const* const b = wanted.find(other);
    return a && b && (a->spread == b->spread || wanted.spread_of(*a) == wanted.spread_of(*b));
}

RESHARD_DECL part_index index_shards(shard_table const& shards) {
    part_index index = index_parts(shards, false);
    if (!index.cycles.empty() && find_overlap(index.boxes, index.cycles))
        index = index_parts(shards, true);
    return index;
}

/// The number of elements of `region` in the boxes, or in the blocks of the boxes.
inline index_t count_held(box const& region, part_index const& parts) {
    index_t held = 0;
    parts.boxes.for_each_overlap(region, [&](std::uint32_t i, box const& common) {
        held += common_elements(parts.boxes[i], parts.cycles[i], common, {});
    });
    return held;
}

/// A box of elements that no shard holds; std::nullopt if all elements are held. Halves the region,
/// and continues with a half that lacks elements, until no shard holds any element of it.
///
/// \pre no two boxes share elements
inline std::optional<cover_fault> find_lacking(box region, part_index const& parts) {
    index_t held = count_held(region, parts);
    if (held == element_count(region))
        return std::nullopt;
    while (held > 0) {
        std::size_t axis = 0;
        for (std::size_t i = 1; i < region.ndim(); ++i)
            if (region.shape[i] > region.shape[axis])
                axis = i;
        box half = region;
        half.shape[axis] /= 2;
        held = count_held(half, parts);
        if (held == element_count(half)) {
            half.offset[axis] += half.shape[axis];
            half.shape[axis] = region.shape[axis] - half.shape[axis];
            held = count_held(half, parts);
        }
        region = half;
    }
    return cover_fault{cover_fault::kind::gap, region, 0, 0};
}

RESHARD_DECL std::optional<cover_fault> find_cover_fault(index_vector const& shape,
                                                         part_index const& parts) {
    if (parts.cycles.empty())
        return find_cover_fault(whole(shape), parts.boxes);
    auto const overlap = find_overlap(parts.boxes, parts.cycles);
    return overlap ? overlap : find_lacking(whole(shape), parts);
}

RESHARD_DECL void check_complete(layout const& wanted) {
    for (tensor_layout const& tensor : wanted.tensors) {
        shard_table const shards = listed(wanted.spread_of(tensor));
        index_vector const& shape = wanted.shape_of(tensor);
        part_index const index = index_shards(shards);
        auto const fault = find_cover_fault(shape, index);
        if (!fault)
            continue;
        auto const rank = [&](std::uint32_t i) {
            return "rank " + std::to_string(shards.holder(index.replica(i, 0).shard)) + " " +
                   to_string(index.boxes[i]) + to_string(index.cycles_of(i));
        };
        if (fault->type == cover_fault::kind::gap)
            fail(errc::not_covered, "'", tensor.key, "': the target layout gives elements ",
                 fault->where, " of ", shape,
                 " to no rank; add a shard, or allow a partial target");
        fail(errc::overlap, "'", tensor.key, "': the target layout gives elements ", fault->where,
             " to unequal shards, ", rank(fault->first), " and ", rank(fault->second),
             "; make them equal, or allow a partial target");
    }
}

} // namespace detail

RESHARD_DECL catalog catalog_of(mapping const& program) {
    vector<catalog_entry> entries;
    entries.reserve(program.outputs().size());
    for (mapping_output const& output : program.outputs())
        entries.push_back({output.key, output.value.dtype, output.value.shape,
                           index_vector::filled(output.value.shape.size(), 1)});
    return catalog(std::move(entries));
}

namespace detail {

/// A layout without the tensors with the given keys.
inline layout without_keys(layout layout, std::map<std::string, std::string> const& keys) {
    erase_if(layout.tensors,
             [&](tensor_layout const& tensor) { return keys.contains(tensor.key); });
    return layout;
}

inline catalog without_keys(catalog const& full_catalog,
                            std::map<std::string, std::string> const& keys) {
    vector<catalog_entry> entries;
    for (catalog_entry const& entry : full_catalog)
        if (!keys.contains(entry.key))
            entries.push_back(entry);
    return catalog(std::move(entries));
}

/// Refuses options that a single file cannot hold.
inline void check_single_file(std::optional<layout> const& wanted, write_options const& options) {
    if (wanted)
        fail(errc::usage, "one file holds whole tensors, but a layout of shards was requested; "
                          "omit the layout, or write a directory");
    if (!options.numbers.empty())
        fail(errc::usage, "a single file cannot store the number '", options.numbers.begin()->first,
             "'; omit the numbers, or write a directory");
    if (!options.program.empty())
        fail(errc::usage,
             "a single file cannot store the program's text; omit it, or write a directory");
}

/// True if each rank writes all shards that it holds.
inline bool writes_replicas(write_options const& options) {
    return options.replicas || options.per_rank || options.this_layout_only;
}

/// Refuses replicas without a layout, or together with an option that excludes them.
inline void check_replicas_wanted(std::optional<layout> const& wanted,
                                  write_options const& options) {
    if (!writes_replicas(options))
        return;
    if (!wanted)
        fail(errc::usage, "replicas need a layout, but whole tensors are to be written; give a "
                          "layout, or omit replicas");
    if (options.writer)
        fail(errc::usage,
             "write_options.writer cannot be combined with replicas, per_rank or this_layout_only, "
             "because with these each rank writes its own replicas; omit one");
}

/// Refuses a `chunk_bytes` that would make files unreadable.
inline void check_chunk_bytes(write_options const& options) {
    constexpr index_t least = 512, most = index_t{1} << 32;
    if (options.chunk_bytes < least || options.chunk_bytes > most)
        fail(errc::usage, "write_options.chunk_bytes is ", options.chunk_bytes, "; give from ",
             least, " to ", most, " bytes, or omit the digests");
}

/// Refuses a text that would make the record unreadable.
inline void check_program(std::string const& program) {
    if (std::size_t const index = find_invalid_utf8(program); index != program.size())
        fail(errc::usage, "the program's text: byte ", index,
             " is not UTF-8, which records require; omit the program, or convert its text");
}

RESHARD_DECL fused_tensors fused_of(mapping const& program, std::optional<layout> const& wanted) {
    fused_tensors written = program.fused();
    erase_if(written, [&](auto const& element) {
        return wanted ? !wanted->find(element.first) : !program.find(element.first);
    });
    return written;
}

/// Refuses options that another library's format cannot hold.
inline void check_other_format(write_options const& options) {
    auto const refuse = [&](std::string_view noun, std::string_view of_these) {
        fail(errc::unsupported, options.format, " has no place for ", noun, "; omit ", of_these,
             ", or write safetensors");
    };
    if (!options.numbers.empty())
        refuse("the number '" + options.numbers.begin()->first + "'", "the numbers");
    if (!options.texts.empty())
        refuse("the text '" + options.texts.begin()->first + "'", "write_options.texts");
    if (!options.base.empty())
        refuse("a delta", "the base");
    if (!options.program.empty())
        refuse("the program", "write_options.program");
    if (options.single_file)
        refuse("one file of safetensors", "write_options.single_file");
    if (writes_replicas(options))
        refuse("replicas of shards", "replicas, per_rank and this_layout_only");
    if (options.files_per_rank != 1)
        refuse("several files per rank", "write_options.files_per_rank");
}

/// The layout of whole tensors on one rank.
inline layout layout_of_whole(catalog const& tensors) {
    layout_builder builder(1);
    for (catalog_entry const& entry : tensors) {
        check_size(entry.key, entry.shape, entry.dtype);
        shard_table shards(entry.shape.size());
        shards.push_back(0, whole(entry.shape), {});
        builder.add(entry.key, entry.dtype, {entry.shape, std::move(shards)});
    }
    return std::move(builder).take();
}

RESHARD_DECL void check_fused_order(fused_tensors const& fused, std::string_view format) {
    for (auto const& [key, result] : fused)
        if (result.blocks > 1 && format == "megatron_torch_dist")
            fail(errc::unsupported, "'", key, "' is interleaved in ", result.blocks, " parts, but ",
                 format,
                 " needs contiguous tensors; write without a layout to store them contiguously");
}

/// Refuses keys, types and shapes that would make files unreadable, before anything is written.
inline void check_limits(std::string_view format, mapping const& program,
                         std::optional<layout> const& wanted, vector<saved_object> const& objects) {
    for (saved_object const& object : objects)
        check_name_limits(format, object.key);
    if (wanted)
        return check_limits(format, *wanted);
    for (mapping_output const& output : program.outputs())
        check_limits(format, output.key, output.value.dtype, output.value.shape);
}

/// Plans the files in the format of another library.
inline checkpoint_plan other_files_for(mapping const& program, std::optional<layout> const& wanted,
                                       write_options const& options, written_format const& format,
                                       file_choices const& choices) {
    check_other_format(options);
    if (format.is_file() && wanted)
        check_single_file(wanted, options);
    if (wanted && !options.partial)
        check_complete(*wanted);
    check_limits(format.name, program, wanted, choices.objects);
    return format.plan(wanted ? with_separate_blocks(*wanted, format.name)
                              : layout_of_whole(catalog_of(program)),
                       choices);
}

/// The aliases in files of this library. If each rank's file has all that the rank holds, a name on
/// other ranks than its key is a tensor, not an alias.
inline std::map<std::string, std::string> names_to_keep(std::map<std::string, std::string> aliases,
                                                        std::optional<layout> const& wanted,
                                                        write_options const& options) {
    if (writes_replicas(options))
        erase_if(aliases, [&](auto const& element) {
            return wanted->find(element.first) &&
                   !have_same_holders(*wanted, element.first, element.second);
        });
    return aliases;
}

/// Refuses a layout if the format stores whole tensors.
inline void check_layout_wanted(std::optional<layout> const& wanted, write_options const& options) {
    if (wanted && !options.format.empty() && written_format_of(options.format).is_whole)
        fail(errc::usage, options.format,
             " stores whole tensors, but a layout of shards was requested; omit the layout (a save "
             "then has the form huggingface), or write sharded_safetensors");
}

/// The outputs that are a whole tensor of quantised blocks with their scales, and their schemes.
inline std::map<std::string, std::string> blocks_of(mapping const& program) {
    std::map<std::string, std::string> blocks;
    for (mapping_output const& output : program.outputs())
        if (is_whole_source(output.value, program.sources()))
            if (auto const* const from = quantised_from(program, output.value.pieces.source(0));
                from && from->count == 1)
                blocks.emplace(output.key, from->scheme);
    return blocks;
}

RESHARD_DECL checkpoint_plan files_for(mapping const& program, std::optional<layout> const& wanted,
                                       write_options const& options,
                                       std::map<std::string, std::string> const& names,
                                       vector<saved_object> objects) {
    written_format const* const format =
        options.format.empty() ? nullptr : &written_format_of(options.format);
    check_numbers(options.numbers);
    check_program(options.program);
    check_chunk_bytes(options);
    check_replicas_wanted(wanted, options);
    auto const aliases =
        format && format->plan ? file_choices().aliases : names_to_keep(names, wanted, options);
    file_choices const choices{
        .chunk_bytes = options.digests ? static_cast<std::uint64_t>(options.chunk_bytes) : 0,
        .aliases = aliases,
        .texts = options.texts,
        .writer = options.writer,
        .files_per_rank = options.files_per_rank,
        .most_file_bytes = options.most_file_bytes,
        .replicas = options.replicas,
        .per_rank = options.per_rank || options.this_layout_only,
        .fused = fused_of(program, wanted),
        .objects = std::move(objects),
        .blocks = blocks_of(program)};
    check_layout_wanted(wanted, options);
    if (format && format->plan)
        return other_files_for(program, wanted, options, *format, choices);
    if (options.single_file || (format && format->is_file())) {
        check_single_file(wanted, options);
        check_limits("safetensors", program, wanted, {});
        return plan_file(without_keys(catalog_of(program), aliases), choices);
    }
    if (!wanted && options.format != "sharded_safetensors") {
        check_limits("huggingface", program, wanted, {});
        return plan_huggingface(without_keys(catalog_of(program), aliases),
                                options.most_file_bytes != 0 ? options.most_file_bytes
                                                             : huggingface_file_bytes,
                                choices);
    }
    layout const written =
        without_keys(wanted ? *wanted : layout_of_whole(catalog_of(program)), aliases);
    if (!options.partial)
        check_complete(written);
    check_limits("sharded_safetensors", program, written, {});
    return plan_sharded(written, choices);
}

} // namespace detail

} // namespace reshard

#endif
