// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "explained.hpp"
#include "given_box.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <reshard/aoa/place.hpp>
#include <reshard/core/index_vector.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct explain_options {
    job_files files;
    std::string key;
    std::string source_key;
    std::string region;
    bool all = false; ///< shows all lines, not only a screen of them
};

/// Sorts pieces by their offsets in the target, or in the source.
reshard::vector<explained> in_order(reshard::vector<explained> pieces, bool of_source) {
    std::ranges::stable_sort(pieces, {}, [of_source](explained const& explained) {
        return of_source ? explained.geometry.source_offset : explained.geometry.target_offset;
    });
    return pieces;
}

/// The extents of the factors of each axis.
json::array json_factors(index_vector const& extents, std::uint8_t joins) {
    json::array axes;
    for (std::size_t k = 0; k < extents.size(); ++k) {
        if (axes.empty() || !reshard::detail::is_joined(joins, k))
            axes.emplace_back(json::array());
        axes.back().as_array().emplace_back(extents[k]);
    }
    return axes;
}

json::array json_ranks(reshard::vector<holder_t> const& ranks) {
    json::array list;
    for (holder_t const rank : ranks)
        list.emplace_back(rank);
    return list;
}

/// The word for a step's arithmetic in a program; null without arithmetic.
char const* word_of(detail::chain_step const& step) {
    return step.computes == detail::chain_step::operation::add          ? "add"
           : step.computes == detail::chain_step::operation::multiply   ? "scale"
           : step.computes == detail::chain_step::operation::dequantize ? "dequantize"
                                                                        : nullptr;
}

json::object json_of(explained const& explained) {
    piece const& piece = explained.geometry;
    bool const is_zero = piece.source == detail::zero_source;
    json::array casts;
    json::array arithmetic;
    data_type before = piece.stored;
    for (detail::chain_step const& step : piece.steps.steps()) {
        if (step.dtype != std::exchange(before, step.dtype))
            casts.emplace_back(json_text(code(step.dtype)));
        bool const has_number = step.computes != detail::chain_step::operation::dequantize;
        if (char const* const word = word_of(step))
            arithmetic.emplace_back(
                json::object{{word, has_number ? json::value(step.operand) : json::value(true)},
                             {"dtype", json_text(code(step.dtype))}});
    }
    auto const unless_zero = [&](json::value value) { return is_zero ? nullptr : value; };
    json::object entry{
        {"source_key", unless_zero(json_text(explained.source_key))},
        {"source_offset", unless_zero(json_list(piece.source_offset))},
        {"source_shape", unless_zero(json_list(piece.source_box().shape))},
        {"target_offset", json_list(piece.target_offset)},
        {"target_shape", json_list(piece.target_box().shape)},
        {"permutation", unless_zero(json_list(detail::axes_of(piece.order, piece.extent.size())))},
        {"source_dtype", unless_zero(json_text(code(piece.stored)))},
        {"casts", std::move(casts)},
        {"arithmetic", std::move(arithmetic)},
        {"dtype", json_text(code(detail::result(piece.stored, piece.steps)))},
        {"statements", json_texts(explained.statements)},
        {"source_ranks", json_ranks(explained.source_ranks)},
        {"target_ranks", json_ranks(explained.target_ranks)}};
    if (piece.joins.any()) {
        entry["source_factors"] = json_factors(piece.order.undo(piece.extent), piece.joins.source);
        entry["target_factors"] = json_factors(piece.extent, piece.joins.target);
    }
    if (!explained.file.empty()) {
        entry["file"] = explained.file;
        entry["byte_range"] = json::array{explained.first_byte, explained.last_byte};
    }
    return entry;
}

/// For example `rank 2` or `ranks 0-3, 6`; empty without ranks.
std::string ranks_text(reshard::vector<holder_t> const& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
            ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]) +
                (last > i ? "-" + std::to_string(ranks[last]) : "");
        i = last + 1;
    }
    return text.empty() ? text : (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

/// A statement of a program on one line.
std::string in_one_line(std::string_view text) {
    std::string line;
    for (char const c : text) {
        bool const is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (!is_blank)
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    return line;
}

/// A statement on one line, with a comment on details that are hard to guess.
std::string explained_line(std::string_view text) {
    bool const reverses = text.find("permute=\"[]\"") != text.npos;
    return in_one_line(text) + (reverses ? "  # the axes in reverse order" : "");
}

/// The statements that make the pieces, each once, as the user wrote them.
reshard::vector<std::string> written_lines(reshard::vector<explained> const& pieces,
                                           job const& full_job) {
    aoa::program const& code = full_job.code();
    reshard::vector<std::string> lines;
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (explained const& explained : pieces)
        for (aoa::text_span const where : explained.written)
            if (where.last <= code.source_text().size() && where.last > where.first &&
                pairs.emplace(where.first, where.last).second)
                lines.push_back("  " + aoa::detail::place_text(code, where) + ": " +
                                explained_line(std::string_view(code.source_text())
                                                   .substr(where.first, where.last - where.first)));
    return lines;
}

/// The operations on a piece's elements, and the bytes of its file.
std::string way_of(explained const& explained) {
    piece const& piece = explained.geometry;
    std::string text;
    if (piece.joins.any())
        text += ", read row by row as " + to_string(piece.order.undo(piece.extent));
    if (piece.order != permutation::identity(piece.extent.size()))
        text += ", its axes in the order " +
                to_string(detail::axes_of(piece.order, piece.extent.size()));
    data_type dtype = piece.stored;
    for (detail::chain_step const& step : piece.steps.steps()) {
        if (step.computes == detail::chain_step::operation::dequantize)
            text += step.operand == 0   ? ", times its scale"
                    : step.operand == 1 ? ", the lower 4 bits of each byte times its scale"
                                        : ", the upper 4 bits of each byte times its scale";
        else if (word_of(step))
            text += (step.computes == detail::chain_step::operation::add ? ", plus " : ", times ") +
                    detail::shortest_text(step.operand);
        if (step.dtype != std::exchange(dtype, step.dtype))
            text += ", cast to " + std::string(name(step.dtype));
    }
    if (!explained.file.empty())
        text += ", in " + explained.file + ", bytes " + grouped(explained.first_byte) + " to " +
                grouped(explained.last_byte);
    return text;
}

/// For example ` on rank 1`; empty without ranks.
std::string place_of(reshard::vector<holder_t> const& ranks) {
    return ranks.empty() ? "" : " on " + ranks_text(ranks);
}

std::string target_text(explained const& explained) {
    return bold(to_string(explained.geometry.target_box())) + place_of(explained.target_ranks) +
           " is " +
           (explained.geometry.source == detail::zero_source
                ? "zeros"
                : "'" + explained.source_key + "' " + to_string(explained.geometry.source_box()) +
                      place_of(explained.source_ranks)) +
           way_of(explained);
}

std::string source_text(explained const& explained) {
    return bold(to_string(explained.geometry.source_box())) + place_of(explained.source_ranks) +
           " becomes '" + explained.target_key + "' " + to_string(explained.geometry.target_box()) +
           place_of(explained.target_ranks) + way_of(explained);
}

/// The lines that fit on a screen, or all lines. A last line gives the number of omitted lines.
std::string on_a_screen(reshard::vector<std::string> const& lines, std::size_t most, bool show_all,
                        std::string const& noun) {
    std::string text;
    std::size_t const shown = show_all || lines.size() <= most ? lines.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i)
        text += lines[i] + "\n";
    if (shown < lines.size())
        text += "  and " + counted(lines.size() - shown, "more " + noun) + " (--all)\n";
    return text;
}

/// Describes pieces and the statements that make them, in 24 lines unless all are requested.
std::string text_of(reshard::vector<explained> const& pieces, job const& full_job, bool forward,
                    bool shows_all) {
    constexpr std::size_t screen = 24, most_statements = 8;
    constexpr std::size_t longest = 160;
    reshard::vector<std::string> rows, statements = written_lines(pieces, full_job);
    for (explained const& explained : in_order(joined(pieces), forward))
        rows.push_back(forward ? source_text(explained) : target_text(explained));
    for (std::string& line : statements)
        if (is_terminal() && !shows_all && line.size() > longest)
            line = std::string(aoa::detail::beginning(line, longest)) + "...";
    std::size_t const below = std::min(statements.size(), most_statements);
    return on_a_screen(rows, screen - below, shows_all, "piece") +
           on_a_screen(statements, most_statements, shows_all, "statement");
}

/// The shape of the requested tensor, if it exists.
std::optional<index_vector> shape_of(source_spec const& source, job const& full_job,
                                     explain_options const& options) {
    if (options.source_key.empty()) {
        mapping_output const* const output = full_job.map().find(options.key);
        return output ? std::optional<index_vector>(output->value.shape) : std::nullopt;
    }
    tensor_layout const* const layout = source.held.find(options.source_key);
    return layout ? std::optional(source.held.shape_of(*layout)) : std::nullopt;
}

/// All pieces of the requested box.
reshard::vector<explained> pieces_of(source_spec const& source, job const& full_job,
                                     explain_options const& options, bool cuts_at_ranks) {
    auto const ranges = parse_box(options.region);
    std::optional<box> region;
    if (!options.region.empty())
        region = box_in(ranges, shape_of(source, full_job, options));
    return options.source_key.empty()
               ? explain_target(source, full_job, options.key, region, cuts_at_ranks)
               : explain_source(source, full_job, options.source_key, region, cuts_at_ranks);
}

outcome json_of(reshard::vector<explained> const& pieces, explain_options const& options) {
    bool const forward = !options.source_key.empty();
    json::array list;
    for (explained const& explained : pieces) {
        list.push_back(json_of(explained));
        if (forward)
            list.back().as_object()["target_key"] = json_text(explained.target_key);
    }
    return json_outcome(
        {{forward ? "source_key" : "key", forward ? options.source_key : options.key},
         {"pieces", std::move(list)}});
}

outcome text_of(reshard::vector<explained> const& pieces, job const& full_job,
                explain_options const& options) {
    bool const forward = !options.source_key.empty();
    std::string const text = text_of(pieces, full_job, forward, options.all);
    if (!text.empty() || (options.region.empty() && !forward))
        return {text};
    for (detail::quantised_value const& value : full_job.map().quantised()) {
        bool is_used = false;
        value.for_each_source([&](detail::key_id id) {
            is_used |= full_job.map().sources().key(id) == options.source_key;
        });
        if (forward && is_used)
            return {"'" + options.source_key + "' is quantised as " + value.scheme + ", to make '" +
                    value.name + "'\n"};
    }
    if (options.region.empty())
        return {"no target uses '" + options.source_key + "'\n"};
    return {(forward ? "no target uses any element of the box " : "no element is in the box ") +
            options.region + " of '" + (forward ? options.source_key : options.key) + "'\n"};
}

outcome explain(explain_options const& options, bool as_json) {
    parse_box(options.region); // refuses a wrong box before any file is read
    source_spec const source = read_source(options.files.source, options.files.reading);
    job_files files = options.files;
    if (source.checkpoint)
        files.objects = object_keys(*source.checkpoint);
    job const full_job = make_sound_job(source, files);
    auto const pieces =
        with_files(options.files, [&] { return pieces_of(source, full_job, options, !as_json); });
    return as_json ? json_of(pieces, options) : text_of(pieces, full_job, options);
}

} // namespace

void add_explain(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<explain_options>();
    CLI::App* const command = add_command(
        app, chosen, "explain",
        "Show where each element of a target tensor comes from, or where each element of a "
        "source tensor goes",
        "  reshard explain --key qkv --box 0:2,3:4 --source model --target layout.json "
        "--program fuse.aoa\n"
        "  reshard explain --source-key w --source model --program fuse.aoa");
    CLI::Option_group& keys = *command->add_option_group("key", "Exactly one of these");
    keys.add_option("--key", options->key, "A tensor of the target: show where it comes from");
    keys.add_option("--source-key", options->source_key,
                    "A tensor of the source: show where "
                    "it goes");
    keys.require_option(1);
    command->add_option("--box", options->region,
                        "Only this box of the tensor, such as "
                        "0:2,3:4 or 0:2,:");
    command->add_flag("--all", options->all, "Print all lines, even if there are more than 24");
    add_source(*command, chosen, options->files);
    add_target(*command, chosen, options->files);
    add_reverse(*command, chosen, options->files, add_program_or_renames(*command, options->files));
    options->files.partial = true; // the target's other tensors do not matter here
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return explain(*options, chosen.json); });
        };
    });
}

} // namespace tool
