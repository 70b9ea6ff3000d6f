// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any bytes as a part of a checkpoint: what they say is written and read again as the same, or
/// there is a message. The first byte chooses which part they are.

#include "memory_files.hpp"

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace reshard;
using namespace reshard::detail;
using fuzz::memory_files;

void require(bool holds) {
    if (!holds)
        std::abort();
}

/// Accepted bytes stay acceptable: an error here ends the process.
void check_written(std::vector<file_shard> const& shards, safetensors_header header) noexcept {
    header.metadata = sharding_metadata(shards);
    require(sharded_contents(header, "again") == shards);
}

void check_shards(safetensors_header const& header) {
    auto const shards = sharded_contents(header, "file");
    if (std::ranges::all_of(shards,
                            [](auto const& shard) { return shard.global_shape.has_value(); }))
        check_written(shards, header);
}

void check_metadata(safetensors_header const& header) {
    file_counter().add(header.metadata, "file");
    std::vector<std::uint64_t> bytes;
    for (safetensors_entry const& tensor : header.tensors)
        bytes.push_back(tensor.end - tensor.begin);
    auto const digests = header.metadata.find(std::string(chunk_digests_name));
    if (digests != header.metadata.end())
        parse_digests(digests->second, bytes, "file");
    if (is_sharded(header))
        check_shards(header);
}

/// A file that was accepted lists the tensors of its header. An error here ends the process.
void check_listed(std::span<std::byte const> bytes, safetensors_header const& header,
                  bool compatible) noexcept {
    auto const file = safetensors::parse(bytes, "file", {.compatible = compatible});
    require(file.tensors.size() == header.tensors.size() && file.metadata == header.metadata);
    for (safetensors_entry const& entry : header.tensors) {
        safetensors::tensor const& tensor = file.at(entry.name);
        require(tensor.bytes.data() == bytes.data() + header.data_offset + entry.begin);
        require(tensor.bytes.size() == entry.end - entry.begin);
        require(std::ranges::equal(tensor.shape, entry.shape) && tensor.dtype == entry.dtype);
    }
}

/// The bytes of a whole file.
void read_file(std::string_view text) {
    auto const bytes = std::as_bytes(std::span(text));
    for (auto const mode : {safetensors_mode::compatible, safetensors_mode::strict}) {
        auto const header = parse_safetensors_header(bytes, text.size(), "file", {.mode = mode});
        check_listed(bytes, header, mode == safetensors_mode::compatible);
        check_metadata(header);
    }
}

/// A byte that counts the data, in eights, and the JSON of a header, as long as it may be.
void read_header(std::string_view text) {
    if (text.empty())
        return;
    std::uint64_t const data = 8u * static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    for (auto const mode : {safetensors_mode::compatible, safetensors_mode::strict})
        check_metadata(
            parse_safetensors_json(text, 8 + text.size() + data, "file", {.mode = mode}));
}

/// Two lines, which say of three tensors which shards they are.
void read_sharding(std::string_view text) {
    std::size_t const end = std::min(text.size(), text.find('\n'));
    safetensors_header header;
    header.tensors = {{"w", data_type::f32, {2, 3}, 0, 24},
                      {"flat", data_type::u8, {4}, 24, 28},
                      {"s", data_type::bf16, {}, 28, 30}};
    header.data_offset = 64;
    header.metadata.emplace(sharding_info_name, text.substr(0, end));
    if (end < text.size())
        header.metadata.emplace(reshard_info_name, text.substr(end + 1));
    check_shards(header);
}

void check_again(hf_index const& index) noexcept {
    require(parse_hf_index(to_json(index), "again") == index);
}

void read_index(std::string_view text) { check_again(parse_hf_index(text, "file")); }

void read_record(std::string_view text) {
    save_record const record = parse_save_record(text, "file");
    check_numbers(record.facts.numbers);
    std::vector<std::string> const ids(record.files.size(), record.save);
    check_save(record, record.files, ids, "checkpoint");
}

/// A record without its last line, which is made for it: mutations do not find digests.
std::string digested(std::string_view text) {
    return std::string(text) + ",\n  \"digest\": \"" +
           hex_text(digest_of_bytes(std::as_bytes(std::span(text)))) + "\"\n}\n";
}

void read_digested_record(std::string_view text) { read_record(digested(text)); }

constexpr std::string_view delta_save = "00112233445566778899aabbccddeeff";
constexpr std::string_view base_save = "ffeeddccbbaa99887766554433221100";

/// The header of a file of two tensors of eight bytes each.
std::string header_of(std::string_view save) {
    safetensors_tensor const tensors[] = {{"a", data_type::u8, {8}}, {"b", data_type::u8, {8}}};
    std::map<std::string, std::string> const metadata{
        {std::string(save_id_name), std::string(save)},
        {std::string(header_digest_name), hex_text(0)}};
    std::string header = plan_safetensors(tensors, metadata, "file").header;
    set_metadata(header, header_digest_name,
                 own_digest_of(std::string_view(header).substr(8)).value());
    return header;
}

/// A base, and beside it the files of a delta without its record.
std::map<std::filesystem::path, std::string> files_beside_a_record() {
    std::map<std::filesystem::path, std::string> all;
    std::string const header = header_of(delta_save);
    std::string const own = "ABCDEFGH";
    all["run/base/model.safetensors"] = header_of(base_save) + "abcdefghijklmnop";
    all["run/base/empty"] = "";
    all["run/delta/delta-00001.safetensors"] =
        delta_header(delta_save, header.size() + own.size()) + header + own;
    all["run/delta/note.txt"] = "a note";
    return all;
}

constexpr std::size_t most_read_bytes = std::size_t{1} << 20;

std::string bytes_of(file_store::file const& file, std::uint64_t position, std::uint64_t count) {
    std::string bytes(static_cast<std::size_t>(count), '-');
    file.read(position, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

/// The kind of a file, by the runs.
///
/// \pre the file could be opened, so that its sources exist
std::string bytes_by_runs(file_store const& below, record_delta const& delta,
                          std::vector<delta_run> const& runs) {
    std::string bytes;
    for (delta_run const& run : runs) {
        std::size_t const own = delta.files.size();
        std::filesystem::path const directory = "run/delta";
        std::filesystem::path const path =
            run.source < own ? directory / delta.files[run.source].name
                             : (directory / delta.bases[run.source - own].directory /
                                delta.bases[run.source - own].file.name);
        bytes +=
            bytes_of(*below.open(path.lexically_normal()), run.position, run.end - bytes.size());
    }
    return bytes;
}

/// A file that was opened is read as its runs say, and an error here ends the process.
void check_pieced(file_store const& below, save_record const& record, std::size_t number,
                  file_store::file const& file) noexcept {
    std::uint64_t const bytes = record.files[number].bytes;
    require(file.facts().bytes == bytes);
    if (bytes > most_read_bytes)
        return;
    std::string const text = bytes_of(file, 0, bytes);
    require(text == bytes_by_runs(below, *record.delta, record.delta->runs[number]));
    std::uint64_t const step = 7 + bytes / 16;
    for (std::uint64_t begin = 0; begin < bytes; begin += step) {
        std::uint64_t const count = std::min(step, bytes - begin);
        require(bytes_of(file, begin, count) == text.substr(begin, count));
    }
}

void check_delta(file_store const& below, file_store const& store, save_record const& record) {
    for (std::size_t i = 0; i < record.files.size(); ++i) {
        std::filesystem::path const path =
            std::filesystem::path("run/delta") / record.files[i].name;
        require(store.find(path) == file_store::kind::file);
        try {
            check_pieced(below, record, i, *store.open(path));
        } catch (error const& problem) {
            require(*problem.what() != '\0');
        }
    }
}

/// A record without its last line, of a save that may be a delta, beside files that are always the
/// same.
void read_delta(std::string_view text) {
    static auto const beside = files_beside_a_record();
    auto const files = std::make_shared<memory_files>();
    files->files = beside;
    files->files["run/delta/reshard.json"] = digested(text);
    auto const store = store_of_checkpoint(files, "run/delta");
    if (store != files)
        check_delta(*files, *store,
                    parse_save_record(files->files["run/delta/reshard.json"], "file"));
    checkpoint_metadata const opened = open_in(*store, "run/delta", {});
    require(!opened.save.empty());
}

void check_again(layout_table const& table) noexcept {
    auto again = std::get<layout_table>(parse_layout_file(to_json(table), "again"));
    again.file = table.file;
    again.notes = table.notes;
    require(again == table);
}

/// So many ranks do not take longer than a fuzzer waits.
constexpr holder_t most_fuzzed_ranks = 4096;

void read_layout(std::string_view text) {
    static catalog const tensors({{"layers.0.w", data_type::f32, {8, 6}, {1, 1}},
                                  {"layers.1.w", data_type::bf16, {7, 4}, {1, 1}},
                                  {"s", data_type::u8, {}, {}}});
    layout_file const file = parse_layout_file(text, "file");
    if (auto const* const rules = std::get_if<layout_rules>(&file);
        rules && rules->ranks.rank_count() > most_fuzzed_ranks)
        return;
    check_again(table_of(file, tensors));
}

using reader = void (*)(std::string_view);

constexpr reader readers[] = {read_file,   read_header,          read_sharding, read_index,
                              read_record, read_digested_record, read_layout,   read_delta};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0)
        return 0;
    std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
    try {
        readers[data[0] % std::size(readers)](text);
    } catch (error const& problem) {
        require(*problem.what() != '\0');
    }
    return 0;
}
