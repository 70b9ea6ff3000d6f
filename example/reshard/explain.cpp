// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job.hpp"
#include "job_options.hpp"
#include "json.hpp"
#include "spec.hpp"

#include <reshard/aoa/place.hpp>
#include <reshard/aoa/statement_trace.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/expr/explain.hpp>
#include <reshard/expr/slice.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
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
    bool all = false; ///< also what does not fit on a screen
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
    std::vector<aoa::text_span> written = {}; ///< the statements as the user wrote them, in order
    std::vector<holder_t> source_ranks = {};  ///< empty: the source is a checkpoint
    std::vector<holder_t> target_ranks = {};  ///< empty: no target is known
};

/// The ranks of a layout that hold some of a box, ascending.
std::vector<holder_t> ranks_of(layout const& held, std::string const& key, box const& region) {
    tensor_layout const* const tensor = held.find(key);
    std::set<holder_t> ranks;
    detail::tensor_shards const shards = tensor ? held.shards_of(*tensor) : detail::tensor_shards();
    for (std::size_t i = 0; tensor && i < shards.size(); ++i)
        for (box const& one : shards.boxes(i))
            if (auto const common = intersect(one, region);
                common && !reshard::detail::is_empty(*common))
                ranks.insert(shards.holder(i));
    return {ranks.begin(), ranks.end()};
}

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
    explainer(source_spec const& source, job const& all, bool cuts_at_ranks)
        : source_(source),
          all_(all),
          cuts_at_ranks_(cuts_at_ranks),
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
        std::size_t const first = found.size();
        add_pieces(piece, target, found);
        for (std::size_t i = first; i < found.size(); ++i)
            complete(found[i]);
    }

    /// Adds who holds a piece, and the statements as they stand in the program.
    void complete(explained& one) {
        box const source = one.geometry.source_box(), target = one.geometry.target_box();
        if (!source_.checkpoint && !one.source_key.empty())
            one.source_ranks = ranks_of(source_.held, one.source_key, source);
        if (all_.target)
            one.target_ranks = ranks_of(*all_.target, one.target_key, target);
        for (std::size_t const i : numbers(one.source_key, one.target_key)) {
            aoa::text_span const where = all_.code().statements()[i].where;
            if (std::ranges::find(one.written, where) == one.written.end())
                one.written.push_back(where);
        }
    }

    void add_pieces(piece const& piece, std::string const& target, std::vector<explained>& found) {
        if (piece.source == detail::zero_source)
            return found.push_back({piece, target, {}, {}, 0, 0, statements({}, target)});
        std::string const key(all_.map().sources().key(piece.source));
        tensor_layout const* const held = source_.held.find(key);
        if (!source_.checkpoint && !cuts_at_ranks_)
            return found.push_back({piece, target, key, {}, 0, 0, statements(key, target)});
        for (detail::located_piece const& located :
             detail::locate(piece, detail::listed(source_.held.spread_of(*held)))) {
            found.push_back({located.part, target, key, {}, 0, 0, statements(key, target)});
            if (source_.checkpoint)
                find_bytes(found.back(), *source_.checkpoint,
                           static_cast<std::size_t>(held - source_.held.tensors.data()),
                           located.shard);
        }
    }

    std::vector<std::size_t> const& numbers(std::string const& source, std::string const& target) {
        auto const [known, is_new] = numbers_.try_emplace({source, target});
        if (is_new)
            known->second =
                source.empty() ? trace_.leading_to(target) : trace_.between(source, target);
        return known->second;
    }

    std::vector<std::string> statements(std::string const& source, std::string const& target) {
        std::vector<std::string> texts;
        for (std::size_t const i : numbers(source, target))
            texts.push_back(lines_[i]);
        return texts;
    }

    source_spec const& source_;
    job const& all_;
    bool cuts_at_ranks_; ///< also where the source is a layout, whose ranks hold shards
    aoa::statement_trace trace_;
    std::vector<std::string> lines_;
    /// By source key and target key.
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> numbers_;
};

/// Where two offsets differ if they differ along one axis only; else as many as there are axes.
std::size_t only_difference(index_vector const& a, index_vector const& b) {
    std::size_t found = a.size();
    for (std::size_t axis = 0; axis < a.size(); ++axis)
        if (a[axis] != b[axis]) {
            if (found < a.size())
                return a.size();
            found = axis;
        }
    return found;
}

/// Whether nothing but the place of two pieces differs.
bool are_alike(explained const& a, explained const& b) {
    piece const &p = a.geometry, &q = b.geometry;
    return !p.joins.any() && !q.joins.any() && p.source == q.source && p.stored == q.stored &&
           p.order == q.order && p.casts == q.casts && a.target_key == b.target_key &&
           a.file == b.file && a.source_ranks == b.source_ranks && a.target_ranks == b.target_ranks;
}

/// Makes one piece of two where the second goes on behind the first, on both sides.
bool joins_to(explained& a, explained const& b) {
    piece &p = a.geometry, q = b.geometry;
    std::size_t const axis = only_difference(p.target_offset, q.target_offset);
    if (!are_alike(a, b) || axis >= p.extent.size())
        return false;
    index_t const extent = q.extent[axis];
    q.extent[axis] = p.extent[axis];
    q.target_offset[axis] -= p.extent[axis];
    if (p.source != detail::zero_source)
        q.source_offset[static_cast<std::size_t>(
            detail::axes_of(p.order, p.extent.size())[axis])] -= p.extent[axis];
    if (p != q)
        return false;
    p.extent[axis] += extent;
    a.first_byte = std::min(a.first_byte, b.first_byte);
    a.last_byte = std::max(a.last_byte, b.last_byte);
    return true;
}

/// Pieces that lie side by side on both sides as one.
std::vector<explained> joined(std::vector<explained> pieces) {
    std::size_t const ndim = pieces.empty() ? 0 : pieces[0].geometry.ndim();
    for (std::size_t axis = ndim; axis-- > 0;) {
        std::ranges::stable_sort(pieces, {}, [axis](explained const& one) {
            index_vector offset = one.geometry.target_offset;
            index_t const along = std::exchange(offset[axis], 0);
            return std::tuple(one.target_key, offset, along);
        });
        std::vector<explained> rows;
        for (explained& one : pieces)
            if (rows.empty() || !joins_to(rows.back(), one))
                rows.push_back(std::move(one));
        pieces = std::move(rows);
    }
    return pieces;
}

/// In the order of their places in the target, or in the source.
std::vector<explained> in_order(std::vector<explained> pieces, bool of_source) {
    std::ranges::stable_sort(pieces, {}, [of_source](explained const& one) {
        return of_source ? one.geometry.source_offset : one.geometry.target_offset;
    });
    return pieces;
}

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

json::array json_ranks(std::vector<holder_t> const& ranks) {
    json::array list;
    for (holder_t const rank : ranks)
        list.emplace_back(rank);
    return list;
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
        {"statements", json_texts(one.statements)},
        {"source_ranks", json_ranks(one.source_ranks)},
        {"target_ranks", json_ranks(one.target_ranks)}};
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

/// `rank 2`, `ranks 0-3, 6`; nothing of none.
std::string ranks_text(std::vector<holder_t> const& ranks) {
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

/// What stands in a program, in one line.
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

/// The same, with what is hard to guess.
std::string explained_line(std::string_view text) {
    bool const reverses = text.find("permute=\"[]\"") != text.npos;
    return in_one_line(text) + (reverses ? "  # the axes in reverse order" : "");
}

/// The statements that pieces come by, each once, as the user wrote them.
std::vector<std::string> written_lines(std::vector<explained> const& pieces, job const& all) {
    aoa::program const& code = all.code();
    std::vector<std::string> lines;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (explained const& one : pieces)
        for (aoa::text_span const where : one.written)
            if (where.last <= code.source_text().size() && where.last > where.first &&
                seen.emplace(where.first, where.last).second)
                lines.push_back("  " + aoa::detail::place_text(code, where) + ": " +
                                explained_line(std::string_view(code.source_text())
                                                   .substr(where.first, where.last - where.first)));
    return lines;
}

/// What is done to the elements on their way, and who has them.
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
        text += ", in " + one.file + ", bytes " + grouped(one.first_byte) + " to " +
                grouped(one.last_byte);
    return text;
}

/// ` on rank 1`, or nothing.
std::string place_of(std::vector<holder_t> const& ranks) {
    return ranks.empty() ? "" : " on " + ranks_text(ranks);
}

std::string target_text(explained const& one) {
    return bold(to_string(one.geometry.target_box())) + place_of(one.target_ranks) + " is " +
           (one.geometry.source == detail::zero_source
                ? "zeros"
                : "'" + one.source_key + "' " + to_string(one.geometry.source_box()) +
                      place_of(one.source_ranks)) +
           way_of(one);
}

std::string source_text(explained const& one) {
    return bold(to_string(one.geometry.source_box())) + place_of(one.source_ranks) + " becomes '" +
           one.target_key + "' " + to_string(one.geometry.target_box()) +
           place_of(one.target_ranks) + way_of(one);
}

/// Lines that fit on a screen, or all; a line says how many are left out.
std::string on_a_screen(std::vector<std::string> const& lines, std::size_t most, bool all,
                        std::string const& noun) {
    std::string text;
    std::size_t const shown = all || lines.size() <= most ? lines.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i)
        text += lines[i] + "\n";
    if (shown < lines.size())
        text += "  and " + counted(lines.size() - shown, "more " + noun) + " (--all)\n";
    return text;
}

/// What pieces are and come by, in 24 lines unless all is asked for.
std::string text_of(std::vector<explained> const& pieces, job const& all, bool forward,
                    bool shows_all) {
    constexpr std::size_t screen = 24, most_statements = 8;
    constexpr std::size_t longest = 160;
    std::vector<std::string> rows, statements = written_lines(pieces, all);
    for (explained const& one : in_order(joined(pieces), forward))
        rows.push_back(forward ? source_text(one) : target_text(one));
    for (std::string& line : statements)
        if (is_terminal() && !shows_all && line.size() > longest)
            line = std::string(aoa::detail::beginning(line, longest)) + "...";
    std::size_t const below = std::min(statements.size(), most_statements);
    return on_a_screen(rows, screen - below, shows_all, "piece") +
           on_a_screen(statements, most_statements, shows_all, "statement");
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
        explainer way(source, all, !as_json);
        std::optional<box> const region =
            options.region.empty() ? std::nullopt
                                   : std::optional(box_in(ranges, shape_of(source, all, options)));
        return forward ? way.source(key, region) : way.target(key, region);
    });
    json::array list;
    for (explained const& one : pieces) {
        list.push_back(json_of(one));
        if (forward)
            list.back().as_object()["target_key"] = json_text(one.target_key);
    }
    std::string const text = text_of(pieces, all, forward, options.all);
    if (as_json)
        return json_outcome({{forward ? "source_key" : "key", key}, {"pieces", std::move(list)}});
    if (text.empty() && !options.region.empty())
        return {(forward ? "no target uses any element of the box " : "no element is in the box ") +
                options.region + " of '" + key + "'\n"};
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
    command->add_flag("--all", options->all, "Also what is more than 24 lines");
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
