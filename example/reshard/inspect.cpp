// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "page/inspect_page.hpp"
#include "spec.hpp"
#include "summary.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/torch/torch_save.hpp>
#include <reshard/os/atomic_replace.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct inspect_options {
    std::string path;
    detail::safetensors_options reading = {};
    bool all = false;
    std::string report; ///< a file, or empty
};

/// The number of bytes of each data type.
std::map<data_type, index_t> bytes_by_dtype(checkpoint_metadata const& checkpoint) {
    std::map<data_type, index_t> bytes;
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        if (checkpoint.aliases.contains(tensor.key))
            continue;
        detail::at_path(checkpoint.path.string() + ": '" + std::string(tensor.key) + "'", [&] {
            bytes[tensor.dtype] = detail::checked_add(
                bytes[tensor.dtype], byte_count(element_count(tensor.shape), tensor.dtype),
                "the bytes of all tensors");
        });
    }
    return bytes;
}

index_t bytes_of(checkpoint_metadata const& checkpoint) {
    index_t bytes = 0;
    for (auto const& [dtype, of_type] : bytes_by_dtype(checkpoint))
        detail::at_path(checkpoint.path, [&, added = of_type] {
            bytes = detail::checked_add(bytes, added, "the bytes of all tensors");
        });
    return bytes;
}

/// The bytes of each data type as text, the largest number first; empty if there is only one type.
std::string dtype_text(checkpoint_metadata const& checkpoint) {
    auto const elements = bytes_by_dtype(checkpoint);
    reshard::vector<std::pair<index_t, data_type>> sorted;
    for (auto const& [dtype, bytes] : elements)
        sorted.emplace_back(bytes, dtype);
    std::ranges::sort(sorted, std::greater());
    std::string text;
    for (auto const& [bytes, dtype] : sorted)
        text += (text.empty() ? "of them " : ", ") + grouped(bytes) + " bytes " +
                std::string(code(dtype));
    return sorted.size() < 2 ? std::string() : text + "\n";
}

json::object json_of(detail::checkpoint_shard const& shard, checkpoint_metadata const& checkpoint) {
    json::object entry{{"file", checkpoint.files[shard.file].path.filename().string()},
                       {"offset", json_list(index_vector(shard.region.offset))},
                       {"shape", json_list(index_vector(shard.region.shape))},
                       {"byte_range", json::array{shard.begin, shard.end}}};
    if (shard.flat)
        entry["flat_range"] = json::array{shard.flat->begin, shard.flat->end};
    for (detail::axis_cycle const& cycle : shard.cycles) {
        if (!entry.contains("blocks"))
            entry["blocks"] = json::array();
        entry["blocks"].as_array().push_back(json::array{cycle.axis, cycle.block, cycle.period});
    }
    return entry;
}

/// The record of a delta; std::nullopt for any other checkpoint.
std::optional<detail::record_delta> delta_of(checkpoint_metadata const& checkpoint) {
    if (checkpoint.save.empty() || !std::filesystem::is_directory(checkpoint.path))
        return {};
    return detail::read_record_head(*detail::files_of_system(),
                                    checkpoint.path / detail::save_record_name)
        .delta;
}

/// The saves that a delta needs: directories relative to the delta's, and ids.
std::set<std::pair<std::string, std::string>> needs_of(detail::record_delta const& delta) {
    std::set<std::pair<std::string, std::string>> needs;
    for (detail::base_file const& base : delta.bases)
        needs.emplace(base.directory, base.save);
    return needs;
}

json::object json_of(detail::record_delta const& delta) {
    json::array needs;
    for (auto const& [directory, save] : needs_of(delta))
        needs.push_back(
            json::object{{"directory", json_text(directory)}, {"save", json_text(save)}});
    return {{"reused", detail::reused_bytes(delta)}, {"needs", std::move(needs)}};
}

/// The saves that a delta needs; empty for any other checkpoint.
std::string delta_text(checkpoint_metadata const& checkpoint) {
    auto const delta = delta_of(checkpoint);
    if (!delta)
        return {};
    reshard::vector<std::string> needs;
    for (auto const& [directory, save] : needs_of(*delta))
        needs.push_back(detail::printable(directory));
    if (needs.empty())
        return "delta that needs no other save\n";
    return "delta that needs " + listed(needs) + " for " +
           grouped(static_cast<index_t>(detail::reused_bytes(*delta))) + " of its bytes\n";
}

/// Removes the tensors that cannot be read, and lists them with the unread files and the reasons.
checkpoint_metadata without_unread(checkpoint_metadata opened) {
    for (detail::checkpoint_tensor const& tensor : opened.tensors)
        if (!tensor.is_read())
            opened.unread.push_back("tensor '" + tensor.key + "': " + tensor.unread);
    erase_if(opened.tensors, [](auto const& tensor) { return !tensor.is_read(); });
    return opened;
}

/// \pre `checkpoint` has no unreadable tensors, here and below
json::object json_of(checkpoint_metadata const& checkpoint) {
    json::object tensors;
    auto const& decoded = checkpoint.quantised.decoded;
    for (detail::checkpoint_tensor const& tensor : checkpoint.tensors) {
        json::array shards;
        for (detail::checkpoint_shard const& shard : tensor.shards)
            shards.push_back(json_of(shard, checkpoint));
        json::object entry{{"dtype", json_text(code(tensor.dtype))},
                           {"shape", json_list(index_vector(tensor.shape))},
                           {"shards", std::move(shards)}};
        if (auto const alias = checkpoint.aliases.find(tensor.key);
            alias != checkpoint.aliases.end())
            entry["alias_of"] = json_text(alias->second);
        if (auto const match = detail::find_tensor(decoded, tensor.key); match != decoded.end())
            entry["stored_as"] = json_text(match->scheme);
        tensors[json_text(tensor.key)] = std::move(entry);
    }
    json::object metadata;
    for (auto const& [key, value] : checkpoint.metadata)
        metadata[json_text(key)] = json_text(value);
    json::object full_object{{"format", json_text(checkpoint.format)},
                             {"files", json_texts(file_names(checkpoint))},
                             {"bytes", bytes_of(checkpoint)},
                             {"tensors", std::move(tensors)},
                             {"metadata", std::move(metadata)}};
    if (!checkpoint.metadata_differs.empty())
        full_object["metadata_differs"] = json_texts(reshard::vector<std::string>(
            checkpoint.metadata_differs.begin(), checkpoint.metadata_differs.end()));
    json::object dtypes;
    for (auto const& [dtype, bytes] : bytes_by_dtype(checkpoint))
        dtypes[code(dtype)] = bytes;
    full_object["dtypes"] = std::move(dtypes);
    if (!checkpoint.version.empty())
        full_object["version"] = json_text(checkpoint.version);
    if (checkpoint.writers != 0)
        full_object["ranks"] = checkpoint.writers;
    if (!checkpoint.save.empty())
        full_object["save"] = checkpoint.save;
    if (!checkpoint.this_layout_only.empty())
        full_object["this_layout_only"] = true;
    if (!checkpoint.objects.empty())
        full_object["objects"] = json_texts(object_keys(checkpoint));
    if (!checkpoint.unread.empty())
        full_object["unread"] = json_texts(checkpoint.unread);
    json::object opaque;
    for (detail::checkpoint_object const& object : checkpoint.objects)
        if (!object.opaque.empty())
            opaque[json_text(object.key)] = json_text(object.opaque);
    if (!opaque.empty())
        full_object["opaque"] = std::move(opaque);
    if (auto const delta = delta_of(checkpoint))
        full_object["delta"] = json_of(*delta);
    return full_object;
}

/// The contents of the save's record; empty without a record.
std::string record_text(checkpoint_metadata const& checkpoint) {
    if (checkpoint.save.empty())
        return {};
    std::size_t const verifiable =
        static_cast<std::size_t>(std::count_if(checkpoint.files.begin(), checkpoint.files.end(),
                                               [](auto const& file) { return file.chunk_bytes; }));
    return "complete save " + checkpoint.save + ", " +
           (verifiable == 0 ? "without digests" : counted(verifiable, "file") + " with digests") +
           "\n" +
           (checkpoint.this_layout_only.empty()
                ? ""
                : "saved for its own layout only: a job with other shards cannot load it; "
                  "convert makes it a checkpoint for any layout\n");
}

/// The first `most` bytes of a text, or fewer, so that no character is cut.
std::string shortened(std::string const& text, std::size_t most) {
    if (text.size() <= most)
        return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0u) == 0x80u)
        --most;
    return text.substr(0, most) + "...";
}

/// A value as text; std::nullopt if its form is unknown.
std::optional<std::string> text_of(detail::saved_object const& value,
                                   checkpoint_metadata const& opened) {
    try {
        return detail::text_of(value, opened.path.string());
    } catch (error const&) {
        return std::nullopt;
    }
}

/// The first characters of each value that is not a tensor, by key. Unreadable values have no
/// entry. If there are too many values, the result is empty.
std::map<std::string, std::string> object_texts(checkpoint_metadata const& opened,
                                                inspect_options const& options) {
    constexpr std::size_t most_values = 10'000, most_bytes = 60;
    std::map<std::string, std::string> texts;
    if (opened.objects.empty() || opened.objects.size() > most_values)
        return texts;
    try {
        checkpoint const source =
            open_checkpoint(solo(), options.path, {.format = options.reading});
        if (!source.can_read_objects())
            return texts;
        for (detail::saved_object const& object : source.read_objects())
            if (!object.is_whole)
                if (auto const text = text_of(object, opened))
                    texts[object.key] = shortened(*text, most_bytes);
    } catch (error const&) {
        // The values are listed without their contents.
    }
    return texts;
}

/// The values that are not tensors, and the data that is not read.
std::string object_text(checkpoint_metadata const& checkpoint, inspect_options const& options) {
    constexpr std::size_t most = 20;
    auto const names = object_keys(checkpoint);
    auto const texts = object_texts(checkpoint, options);
    std::size_t const shown = options.all ? names.size() : std::min(most, names.size());
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        auto const says = texts.find(names[i]);
        std::string const& opaque = checkpoint.objects[i].opaque;
        text += detail::printable("not a tensor: " + names[i] +
                                  (!opaque.empty()       ? ": " + opaque
                                   : says == texts.end() ? ""
                                                         : " = " + says->second)) +
                "\n";
    }
    if (shown < names.size())
        text += "and " + counted(names.size() - shown, "more value") + " that " +
                (names.size() - shown == 1 ? "is not a tensor" : "are not tensors") +
                "; --all shows them\n";
    for (std::string const& name : checkpoint.unread)
        text += detail::printable("not read: " + name) + "\n";
    return text;
}

/// The schemes of quantised tensors that are listed with their values; empty if there are none.
std::string scheme_text(checkpoint_metadata const& checkpoint) {
    std::string const text = schemes_of(checkpoint);
    return text.empty() ? text : text + "\n";
}

/// The other names of tensors.
std::string alias_text(checkpoint_metadata const& checkpoint) {
    std::string text;
    for (auto const& [alias, key] : checkpoint.aliases)
        text += detail::printable(alias + " is another name of " + key) + "\n";
    return text;
}

/// The texts that other programs wrote into the metadata of the files.
std::string metadata_text(checkpoint_metadata const& checkpoint, inspect_options const& options) {
    std::string text;
    for (auto const& [name, value] : checkpoint.metadata)
        if (detail::is_text_name(name))
            text +=
                detail::printable(
                    "metadata: " + name + " = " + (options.all ? value : shortened(value, 60)) +
                    (checkpoint.metadata_differs.contains(name) ? " (other files have other values)"
                                                                : "")) +
                "\n";
    return text;
}

/// \pre `checkpoint` does not list aliases as tensors
std::string text_of(checkpoint_metadata const& checkpoint, inspect_options const& options) {
    layout layout = layout_of(checkpoint);
    layout.has_global_order = false; // shows the order in the files
    std::string text =
        checkpoint.path.string() + ": " + bold(checkpoint.format) +
        (checkpoint.version.empty() ? "" : " " + detail::printable(checkpoint.version)) + ", " +
        counted(checkpoint.tensors.size(), "tensor") + ", " + grouped(bytes_of(checkpoint)) +
        " bytes in " + counted(checkpoint.files.size(), "file") +
        (checkpoint.writers == 0 ? "" : ", written by " + counted(checkpoint.writers, "rank")) +
        "\n";
    return text + dtype_text(checkpoint) + scheme_text(checkpoint) + record_text(checkpoint) +
           delta_text(checkpoint) + holder_table(layout, file_names(checkpoint)) +
           tensor_table(layout, options.all) + alias_text(checkpoint) +
           metadata_text(checkpoint, options) + object_text(checkpoint, options);
}

outcome inspect(inspect_options const& options, bool as_json) {
    checkpoint_metadata const checkpoint =
        without_unread(open_checkpoint(options.path, options.reading));
    say_warnings(checkpoint.warnings);
    if (!options.report.empty())
        detail::write_whole_file(options.report, inspect_page(checkpoint, json_of(checkpoint)));
    return as_json ? json_outcome(json_of(checkpoint))
                   : outcome{text_of(detail::without_aliases(checkpoint), options)};
}

} // namespace

void add_inspect(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<inspect_options>();
    CLI::App* const command = add_command(
        app, chosen, "inspect", "Show the contents of a checkpoint: files, tensors, shards",
        "  reshard inspect model\n"
        "  reshard inspect model/model.safetensors --json");
    add_path(*command, chosen, "PATH", options->path, "A checkpoint")->required();
    command->add_flag(
        "--all", options->all,
        "Show every tensor and other value, and metadata in full; by default, tensors whose keys "
        "differ only in numbers share a line");
    add_reading(*command, options->reading);
    add_report(*command, options->report, "that shows its contents");
    options->reading.takes_values_alone = true;
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return inspect(*options, chosen.json); });
        };
    });
}

} // namespace tool
