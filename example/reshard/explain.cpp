// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <reshard/aoa/statement_trace.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/expr/explain.hpp>
#include <reshard/expr/slice.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <map>
#include <memory>
#include <optional>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct explain_options {
    job_files files;
    std::string key;
    std::string source_key;
    std::string region;
};

/// A piece with all that can be said of it.
struct explained {
    piece geometry;
    std::string target_key;
    std::string source_key; ///< empty: zeros
    std::string file;       ///< empty: the source is a layout
    index_t first_byte = 0;
    index_t last_byte = 0; ///< behind the last one
    std::vector<std::string> statements;
};

[[noreturn]] void fail_box(std::string const& text) {
    fail(
        errc::usage,
        "reshard explain: '" + text +
            "' is not a box; give an interval per axis, as in --box 0:2,3:4, or ':' for all of it");
}

index_t number_in(std::string const& whole, std::string_view digits) {
    index_t number = 0;
    auto const [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || end != digits.data() + digits.size() || number < 0)
        fail_box(whole);
    return number;
}

/// `0:2,3:4` or, as a slice has it, `[0:2, :]`; the empty text is the box of a scalar.
std::vector<detail::axis_range> parse_box(std::string const& text) {
    std::string plain = text;
    std::erase(plain, ' ');
    if (plain.size() > 1 && plain.front() == '[' && plain.back() == ']')
        plain = plain.substr(1, plain.size() - 2);
    std::vector<detail::axis_range> ranges;
    for (std::size_t begin = 0; begin < plain.size();) {
        std::size_t const end = std::min(plain.find(',', begin), plain.size());
        std::string_view const interval = std::string_view(plain).substr(begin, end - begin);
        std::size_t const colon = interval.find(':');
        if (colon == interval.npos)
            fail_box(text);
        detail::axis_range range;
        if (colon > 0)
            range.first = number_in(text, interval.substr(0, colon));
        if (colon + 1 < interval.size())
            range.last = number_in(text, interval.substr(colon + 1));
        if (range.last && *range.last < range.first)
            fail_box(text);
        ranges.push_back(range);
        begin = end + 1;
    }
    return ranges;
}

/// The box of those ranges in a tensor of that shape, or of one that has not been found.
box box_in(std::vector<detail::axis_range> const& ranges,
           std::optional<index_vector> const& shape) {
    box region;
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        index_t const first = ranges[axis].first;
        bool const is_known = shape && axis < shape->size() && (*shape)[axis] >= first;
        region.offset.push_back(first);
        region.shape.push_back(ranges[axis].last.value_or(is_known ? (*shape)[axis] : first) -
                               first);
    }
    return region;
}

/// Says where in its file a piece lies: from its first element to its last.
void find_bytes(explained& one, checkpoint_metadata const& checkpoint, std::size_t tensor,
                std::size_t number) {
    detail::checkpoint_shard const& shard = checkpoint.tensors[tensor].shards[number];
    box const source = detail::relative_to(one.geometry.source_box(), shard.region.offset);
    index_vector last = source.offset;
    for (std::size_t axis = 0; axis < last.size(); ++axis)
        last[axis] += source.shape[axis] - 1;
    index_t const skipped = shard.flat ? shard.flat->begin : 0;
    index_t const element_bits = bits(one.geometry.stored);
    index_t const begin = detail::ravel_index(source.offset, shard.region.shape) - skipped;
    index_t const end = detail::ravel_index(last, shard.region.shape) - skipped + 1;
    one.file = checkpoint.files[shard.file].path.filename().string();
    one.first_byte = static_cast<index_t>(shard.begin) + begin * element_bits / 8;
    one.last_byte = static_cast<index_t>(shard.begin) + (end * element_bits + 7) / 8;
}

/// Pieces with all that can be said of them, cut at the borders of shards where the source is a
/// checkpoint.
class explainer {
public:
    explainer(source_spec const& source, job const& all)
        : source_(source),
          all_(all),
          trace_(all.code()),
          lines_(statement_lines(all.code(), source.held)) {}

    /// What makes up a box of a target tensor, by target offset.
    std::vector<explained> target(std::string const& key, std::optional<box> const& region) {
        std::vector<explained> found;
        for (piece const& piece : reshard::explain(all_.map(), key, region))
            add(piece, key, found);
        std::stable_sort(found.begin(), found.end(), [](explained const& a, explained const& b) {
            return a.geometry.target_offset < b.geometry.target_offset;
        });
        return found;
    }

    /// What becomes of a box of a source tensor, by source offset.
    std::vector<explained> source(std::string const& key, std::optional<box> const& region) {
        std::vector<explained> found;
        for (detail::destination const& one :
             reshard::detail::explain_source(all_.map(), key, region))
            add(one.part, one.key, found);
        std::stable_sort(found.begin(), found.end(), [](explained const& a, explained const& b) {
            return a.geometry.source_offset < b.geometry.source_offset;
        });
        return found;
    }

private:
    void add(piece const& piece, std::string const& target, std::vector<explained>& found) {
        if (piece.source == detail::zero_source)
            return found.push_back({piece, target, {}, {}, 0, 0, statements({}, target)});
        std::string const key(all_.map().sources().key(piece.source));
        tensor_layout const* const held = source_.held.find(key);
        if (!source_.checkpoint)
            return found.push_back({piece, target, key, {}, 0, 0, statements(key, target)});
        for (detail::located_piece const& located :
             detail::locate(piece, detail::listed(source_.held.spread_of(*held)))) {
            found.push_back({located.part, target, key, {}, 0, 0, statements(key, target)});
            find_bytes(found.back(), *source_.checkpoint,
                       static_cast<std::size_t>(held - source_.held.tensors.data()), located.shard);
        }
    }

    std::vector<std::string> statements(std::string const& source, std::string const& target) {
        auto const [known, is_new] = statements_.try_emplace({source, target});
        if (is_new)
            for (std::size_t const i :
                 source.empty() ? trace_.leading_to(target) : trace_.between(source, target))
                known->second.push_back(lines_[i]);
        return known->second;
    }

    source_spec const& source_;
    job const& all_;
    aoa::statement_trace trace_;
    std::vector<std::string> lines_;
    /// By source key and target key.
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> statements_;
};

/// The extents of the factors that each axis is made of.
json::array json_factors(index_vector const& extents, std::uint8_t joins) {
    json::array axes;
    for (std::size_t k = 0; k < extents.size(); ++k) {
        if (axes.empty() || !reshard::detail::is_joined(joins, k))
            axes.emplace_back(json::array());
        axes.back().as_array().emplace_back(extents[k]);
    }
    return axes;
}

json::object json_of(explained const& one) {
    piece const& piece = one.geometry;
    bool const is_zero = piece.source == detail::zero_source;
    json::array casts;
    for (data_type const dtype : piece.casts.steps())
        casts.emplace_back(json_text(code(dtype)));
    auto const unless_zero = [&](json::value value) { return is_zero ? nullptr : value; };
    json::object entry{
        {"source_key", unless_zero(json_text(one.source_key))},
        {"source_offset", unless_zero(json_list(piece.source_offset))},
        {"source_shape", unless_zero(json_list(piece.source_box().shape))},
        {"target_offset", json_list(piece.target_offset)},
        {"target_shape", json_list(piece.target_box().shape)},
        {"permutation", unless_zero(json_list(detail::axes_of(piece.order, piece.extent.size())))},
        {"source_dtype", unless_zero(json_text(code(piece.stored)))},
        {"casts", std::move(casts)},
        {"dtype", json_text(code(detail::result(piece.stored, piece.casts)))},
        {"statements", json_texts(one.statements)}};
    if (piece.joins.any()) {
        entry["source_factors"] = json_factors(piece.order.undo(piece.extent), piece.joins.source);
        entry["target_factors"] = json_factors(piece.extent, piece.joins.target);
    }
    if (!one.file.empty()) {
        entry["file"] = one.file;
        entry["byte_range"] = json::array{one.first_byte, one.last_byte};
    }
    return entry;
}

/// A statement as it stands in an explanation: whole, but on a terminal.
std::string line_of(std::string const& statement) {
    constexpr std::size_t most = 160;
    std::string const line =
        is_terminal() && statement.size() > most ? statement.substr(0, most) + "..." : statement;
    bool const reverses = statement.find("permute=\"[]\"") != statement.npos;
    return "\n  " + line + (reverses ? "  # the axes in reverse order" : "");
}

/// What is done to the elements on their way, where they are in a file, and by which statements.
std::string way_of(explained const& one) {
    piece const& piece = one.geometry;
    std::string text;
    if (piece.joins.any())
        text += ", read row by row as " + to_string(piece.order.undo(piece.extent));
    if (piece.order != permutation::identity(piece.extent.size()))
        text += ", its axes in the order " +
                to_string(detail::axes_of(piece.order, piece.extent.size()));
    for (data_type const dtype : piece.casts.steps())
        text += ", cast to " + std::string(name(dtype));
    if (!one.file.empty())
        text += "\n  in " + one.file + ", bytes " + grouped(one.first_byte) + " to " +
                grouped(one.last_byte);
    for (std::string const& statement : one.statements)
        text += line_of(statement);
    return text + "\n";
}

std::string target_text(explained const& one) {
    return bold(to_string(one.geometry.target_box())) + " is " +
           (one.geometry.source == detail::zero_source
                ? "zeros"
                : "'" + one.source_key + "' " + to_string(one.geometry.source_box())) +
           way_of(one);
}

std::string source_text(explained const& one) {
    return bold(to_string(one.geometry.source_box())) + " becomes '" + one.target_key + "' " +
           to_string(one.geometry.target_box()) + way_of(one);
}

/// The shape of the tensor that is asked for, or nothing where there is none.
std::optional<index_vector> shape_of(source_spec const& source, job const& all,
                                     explain_options const& options) {
    if (options.source_key.empty()) {
        mapping_output const* const made = all.map().find(options.key);
        return made ? std::optional<index_vector>(made->value.shape) : std::nullopt;
    }
    tensor_layout const* const held = source.held.find(options.source_key);
    return held ? std::optional(source.held.shape_of(*held)) : std::nullopt;
}

outcome explain(explain_options const& options, bool as_json) {
    auto const ranges = parse_box(options.region);
    source_spec const source = read_source(options.files.source);
    job const all = make_sound_job(source.held, options.files);
    bool const forward = !options.source_key.empty();
    std::string const& key = forward ? options.source_key : options.key;
    auto const pieces = with_files(options.files, [&] {
        explainer way(source, all);
        std::optional<box> const region =
            options.region.empty() ? std::nullopt
                                   : std::optional(box_in(ranges, shape_of(source, all, options)));
        return forward ? way.source(key, region) : way.target(key, region);
    });
    json::array list;
    std::string text;
    for (explained const& one : pieces) {
        list.push_back(json_of(one));
        if (forward)
            list.back().as_object()["target_key"] = json_text(one.target_key);
        text += forward ? source_text(one) : target_text(one);
    }
    if (as_json)
        return json_outcome({{forward ? "source_key" : "key", key}, {"pieces", std::move(list)}});
    return {text.empty() && forward ? "no target uses '" + key + "'\n" : text};
}

} // namespace

void add_explain(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<explain_options>();
    CLI::App* const command = add_command(
        app, chosen, "explain",
        "Show where each element of a target tensor comes from, or of a source tensor goes",
        "  reshard explain --key qkv --box 0:2,3:4 --source model --target layout.json "
        "--program fuse.aoa\n"
        "  reshard explain --source-key w --source model --program fuse.aoa");
    CLI::Option_group& keys = *command->add_option_group("key", "Exactly one of them");
    keys.add_option("--key", options->key, "A tensor of the target: where it comes from");
    keys.add_option("--source-key", options->source_key, "A tensor of the source: where it goes");
    keys.require_option(1);
    command->add_option("--box", options->region, "A box of it, such as 0:2,3:4 or 0:2,:");
    add_source(*command, chosen, options->files);
    add_target(*command, chosen, options->files);
    add_reverse(*command, options->files, add_program(*command, options->files));
    options->files.partial = true; // what else the target holds does not matter here
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return on_first(world, [&] { return explain(*options, chosen.json); });
        };
    });
}

} // namespace tool
