// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "conversion.hpp"
#include "json.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/format/torch/torch_save.hpp>
#include <reshard/format/written_formats.hpp>
#include <reshard/os/file_bytes.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/storage/aliases.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/file_pieces.hpp>

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

namespace tool {

using namespace reshard;
namespace json = boost::json;

namespace {

checkpoint open_again(source_spec const& source) {
    return open_checkpoint(solo(), source.path, {.format = source.reading});
}

/// The aliases that the target's files keep. A checkpoint without aliases is not opened for that.
detail::alias_map aliases_of(source_spec const& source, job const& full_job, bool share_copies) {
    if (source.checkpoint->aliases.empty() && !share_copies)
        return {};
    return detail::aliases_kept(open_again(source), full_job.map(),
                                {full_job.target, share_copies});
}

/// The layout of the writing ranks. The holders before them are the source's files, so that bytes
/// from a file differ from zeros that a rank makes itself.
layout writers_of(detail::checkpoint_plan const& files, holder_t file_count, holder_t ranks) {
    detail::file_pieces pieces = detail::pieces_by_rank(files, static_cast<int>(ranks));
    for (detail::file_piece& piece : pieces)
        piece.process += file_count;
    return detail::layout_of(files.metadata, pieces, static_cast<int>(file_count + ranks));
}

/// Drops all casts: elements are read in the data types of the files.
void widen_targets(detail::plan_problem& problem) {
    for (auto& target : problem.targets)
        target.dtype = data_type::f64;
}

void add_reads(conversion& planned, plan_flows const& flows) {
    auto const file_count = static_cast<holder_t>(planned.read.size());
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow const& flow) {
            if (flow.source >= file_count)
                return;
            planned.bins.add_between(
                {flow.source, flow.target - file_count, flow.bytes, flows.count(kind)});
            index_t const bytes =
                detail::checked_multiply(flow.bytes, flows.count(kind), "the bytes that are read");
            for (index_t* const sum : {&planned.read[flow.source].bytes, &planned.all.bytes_read,
                                       &planned.by_rank[flow.target - file_count].bytes_read})
                *sum = detail::checked_add(*sum, bytes, "the bytes that are read");
        });
}

void add_writes(conversion& planned, detail::checkpoint_plan const& files) {
    for (std::size_t i = 0; i < files.ranks.size(); ++i)
        planned.written.push_back({files.metadata.files[i].path.string(), files.ranks[i], 0, 0});
    for (detail::checkpoint_tensor const& tensor : files.metadata.tensors)
        for (detail::checkpoint_shard const& shard : tensor.shards) {
            file_written& file = planned.written[shard.file];
            auto const bytes = static_cast<index_t>(shard.end - shard.begin);
            ++file.shards;
            file.bytes += bytes;
            planned.by_rank[file.rank].bytes_written += bytes;
            planned.all.bytes_written += bytes;
        }
}

} // namespace

conversion conversion_of(source_spec const& source, job const& full_job,
                         detail::write_options const& writing, bool share_copies) {
    detail::checkpoint_plan const files = detail::files_for(
        full_job.map(), full_job.target, writing, aliases_of(source, full_job, share_copies));
    holder_t const ranks = std::max<holder_t>(1, full_job.target->holders);
    conversion planned{{}, {}, {}, {}, {std::max<holder_t>(1, source.held.holders), ranks, "file"}};
    for (detail::checkpoint_file const& file : source.checkpoint->files)
        planned.read.push_back({file.path.filename().string(), 0});
    planned.by_rank.resize(ranks);
    planned.aliases = files.metadata.aliases;
    add_writes(planned, files);
    layout const layout = writers_of(files, source.held.holders, ranks);
    detail::plan_problem problem = problem_of(full_job.map(), source.held, layout);
    widen_targets(problem);
    add_reads(planned, plan_flows(problem, {.between_nodes = balanced_senders()}));
    return planned;
}

void check_replicas(bool are_wanted, std::string const& format) {
    if (are_wanted && detail::is_other_format(format))
        fail(errc::usage, "--replicas and --per-rank: ", format,
             " stores each different shard once; omit these options, or write sharded_safetensors");
}

std::string lost_objects_of(source_spec const& source, std::string const& format) {
    if (!source.checkpoint || source.checkpoint->objects.empty())
        return {};
    std::string const lost = detail::lost_objects(open_again(source), format);
    return lost.empty() ? lost : source.path + ": " + lost;
}

std::size_t say_lost_tensors(checkpoint const& source, bool says) {
    std::string const lost = detail::tensors_lost_with_objects(source);
    if (!lost.empty() && says)
        say_warnings({lost});
    return lost.empty() ? 0 : 1;
}

std::size_t say_lost_texts(checkpoint_metadata const& source, mapping const& program,
                           std::string const& format, bool says) {
    auto const match = detail::texts_of(source, program, format);
    reshard::vector<std::string> lost;
    for (auto const& [names, why] :
         {std::pair{&match.no_place, format + " has no place for them"},
          std::pair{&match.differing, std::string("files have different values")},
          std::pair{&match.misread, std::string("readers would take them for names of tensors")}})
        if (!names->empty())
            lost.push_back(source.path.string() +
                           ": texts in the metadata are not copied, because " + why + ": " +
                           listed(*names));
    if (says)
        say_warnings(lost);
    return lost.size();
}

std::size_t say_taken_apart(checkpoint_metadata const& source, std::string const& format,
                            bool says) {
    if (source.format != "torch_save" || format.empty() ||
        !detail::written_format_of(format).has_objects)
        return 0;
    reshard::vector<std::string> tuples;
    for (detail::checkpoint_file const& file : source.files)
        for (std::string& key : detail::tuples_with_tensors(*detail::files_of_system(), file.path))
            tuples.push_back(key.empty() ? file.path.stem().string() : std::move(key));
    erase_if(tuples, [&](std::string const& tuple) { // none of these is selected
        std::string const within = tuple + ".";
        auto const first =
            std::ranges::lower_bound(source.tensors, within, {}, &detail::checkpoint_tensor::key);
        return first == source.tensors.end() || !first->key.starts_with(within);
    });
    if (tuples.empty())
        return 0;
    bool const is_one = tuples.size() == 1;
    if (says)
        say_warnings({source.path.string() + ": " +
                      detail::first_and_more("'" + tuples.front() + "'", tuples.size()) +
                      (is_one ? " is a tuple" : " are tuples") +
                      " with tensors, which torch keeps whole: here the values in '" +
                      tuples.front() + "' get separate names, such as '" + tuples.front() +
                      ".0', but torch.distributed.checkpoint.load into a state dict like the "
                      "saved one looks for a single value"});
    return 1;
}

void check_shared(bool are_shared, std::string const& format) {
    if (are_shared && detail::is_other_format(format))
        fail(errc::usage, "--share-copies: ", format,
             " stores a tensor for each name; omit this option, or write safetensors");
}

void check_fused_order(job const& full_job, job_files const& files, std::string const& format) {
    if (!files.cut_fused && !full_job.first_error())
        detail::check_fused_order(detail::fused_of(full_job.map(), full_job.target), format);
}

void note_fused_lost(job const& full_job, std::string const& format) {
    auto const fused = detail::fused_of(full_job.map(), full_job.target);
    if (fused.empty() || !detail::is_other_format(format))
        return;
    if (!detail::written_format_of(format).has_shards())
        return note(format + " does not store how tensors were fused, so later layouts of them "
                             "are not checked; sharded_safetensors stores it");
    auto const several = [](auto const& element) { return element.second.blocks > 1; };
    auto const first = std::ranges::find_if(fused, several);
    if (first != fused.end() && detail::written_format_of(format).has_global_order)
        note("'" + first->first + "' is interleaved in " + std::to_string(first->second.blocks) +
             " parts; readers of " + format +
             " cut tensors themselves, and get the right rows only with this number of "
             "tensor-parallel ranks");
}

namespace {

/// Whether a rank has blocks of a tensor at regular distances.
bool has_blocks(detail::tensor_spread const& spread) {
    detail::tensor_shards const shards = spread.view();
    for (std::size_t i = 0; i < shards.size(); ++i)
        if (!shards.cycles(i).empty())
            return true;
    return false;
}

} // namespace

/// \par Source safetensors 0.8 (`safetensors.torch._TYPES`), with which torch 2.15 reads the
///             headers
void note_torch_lacks(job const& full_job, std::string const& format) {
    constexpr data_type lacking[] = {data_type::f4, data_type::f6_e2m3, data_type::f6_e3m2,
                                     data_type::f8_e8m0};
    if (format != "sharded_safetensors" && (!format.empty() || !full_job.target))
        return;
    std::string_view const reader = "HuggingFaceStorageReader of torch";
    std::string_view const rest = "it cannot read this directory; Reshard can";
    for (mapping_output const& output : full_job.map().outputs())
        if (std::ranges::find(lacking, output.value.dtype) != std::end(lacking))
            return note(detail::words("'", output.key, "' is ", code(output.value.dtype),
                                      ", which ", reader, " does not support: ", rest));
    for (tensor_layout const& tensor :
         full_job.target ? full_job.target->tensors : reshard::vector<tensor_layout>())
        if (full_job.map().find(tensor.key) && has_blocks(full_job.target->spread_of(tensor)))
            return note(detail::words("the files store the blocks of '", tensor.key,
                                      "' side by side, which ", reader,
                                      " does not support: ", rest));
}

void note_aliases(std::map<std::string, std::string> const& aliases) {
    if (aliases.empty())
        return;
    std::map<std::string, reshard::vector<std::string>> names_of;
    for (auto const& [alias, key] : aliases)
        names_of[key].push_back("'" + alias + "'");
    std::string text;
    for (auto const& [key, names] : names_of)
        text += (text.empty() ? "" : "; ") + boost::algorithm::join(names, ", ") +
                (names.size() == 1 ? " is not written again, because it is another name of '"
                                   : " are not written again, because they are other names of '") +
                key + "'";
    note(text + ": other programs have to tie them (tie_word_embeddings in config.json)");
}

json::object json_of(std::map<std::string, std::string> const& aliases) {
    json::object object;
    for (auto const& [alias, key] : aliases)
        object[json_text(alias)] = json_text(key);
    return object;
}

json::object json_of(conversion const& planned) {
    json::array read, written, by_rank;
    for (file_read const& file_read : planned.read)
        read.push_back({{"file", json_text(file_read.file)}, {"bytes", file_read.bytes}});
    for (file_written const& file_written : planned.written)
        written.push_back({{"file", json_text(file_written.file)},
                           {"rank", file_written.rank},
                           {"shards", file_written.shards},
                           {"bytes", file_written.bytes}});
    for (std::size_t rank = 0; rank < planned.by_rank.size(); ++rank)
        by_rank.push_back({{"rank", rank},
                           {"bytes_read", planned.by_rank[rank].bytes_read},
                           {"bytes_written", planned.by_rank[rank].bytes_written}});
    return {{"bytes_read", planned.all.bytes_read},
            {"bytes_written", planned.all.bytes_written},
            {"files_read", std::move(read)},
            {"files_written", std::move(written)},
            {"by_rank", std::move(by_rank)}};
}

std::string text_of(conversion const& planned) {
    constexpr std::size_t most = 64;
    reshard::vector<reshard::vector<std::string>> read{{"file", "bytes read"}};
    for (file_read const& file_read : planned.read)
        read.push_back({detail::printable(file_read.file), grouped(file_read.bytes)});
    reshard::vector<reshard::vector<std::string>> written{
        {"rank", "bytes read", "bytes written", "file", "shards in it"}};
    for (file_written const& file_written : planned.written)
        written.push_back({std::to_string(file_written.rank),
                           grouped(planned.by_rank[file_written.rank].bytes_read),
                           grouped(file_written.bytes), file_written.file,
                           grouped(file_written.shards)});
    std::string text = "convert reads " + grouped(planned.all.bytes_read) + " bytes of " +
                       counted(planned.read.size(), "file") + ", and writes " +
                       grouped(planned.all.bytes_written) + " bytes to " +
                       counted(planned.written.size(), "file") + "\n";
    for (auto* const rows : {&read, &written}) {
        std::size_t const left_out = rows->size() > most + 1 ? rows->size() - most - 1 : 0;
        rows->resize(rows->size() - left_out);
        text += table(*rows);
        if (left_out > 0)
            text += "  and " + counted(left_out, "more file") + "; --json lists all\n";
    }
    return text;
}

} // namespace tool
