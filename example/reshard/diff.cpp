// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "job_options.hpp"
#include "json.hpp"

#include <reshard/format/other_names.hpp>
#include <reshard/storage/compare.hpp>

#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <memory>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct diff_options {
    std::string a;
    std::string b;
    detail::safetensors_options reading = {}; ///< for both; the source layout is for `a` alone
    compare_options options = {};
    progress_when progress = progress_when::on_terminal;
};

/// The text as a JSON number if it is one, else as a string.
json::value json_element(std::string const& text) {
    boost::system::error_code not_json;
    json::value const number = json::parse(json_text(text), not_json);
    return not_json || !number.is_number() ? json::value(json_text(text)) : number;
}

json::value json_of(std::optional<detail::tensor_difference> const& first) {
    if (!first)
        return nullptr;
    return {{"key", json_text(first->key)},
            {"index", first->index ? json::value(json_list(*first->index)) : nullptr},
            {"a", json_element(first->a)},
            {"b", json_element(first->b)}};
}

json::object json_of(detail::object_comparison const& comparison) {
    json::array different;
    for (detail::object_difference const& difference : comparison.different)
        different.push_back({{"key", json_text(difference.key)},
                             {"a", json_text(difference.a)},
                             {"b", json_text(difference.b)}});
    return {{"a", comparison.in_a},
            {"b", comparison.in_b},
            {"compared", comparison.are_identical},
            {"only_a", json_texts(comparison.only_a)},
            {"only_b", json_texts(comparison.only_b)},
            {"different", std::move(different)},
            {"unread", json_texts(comparison.unread)}};
}

std::string tensors(index_t count) { return counted(static_cast<std::size_t>(count), "tensor"); }

std::string objects(index_t count) {
    return count == 1 ? "1 value that is not a tensor"
                      : grouped(count) + " values that are not tensors";
}

/// The differences of values that are not tensors.
std::string text_of(detail::object_comparison const& comparison, diff_options const& options) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, comparison.different.size()); ++i) {
        detail::object_difference const& difference = comparison.different[i];
        text += detail::printable("'" + difference.key + "': " + difference.a + " in " + options.a +
                                  ", " + difference.b + " in " + options.b) +
                "\n";
    }
    if (comparison.different.size() > most) {
        std::size_t const more = comparison.different.size() - most;
        text += counted(more, "more value") +
                (more == 1 ? " that is not a tensor differs\n" : " that are not tensors differ\n");
    }
    for (auto const& [keys, path] :
         {std::pair{&comparison.only_a, &options.a}, std::pair{&comparison.only_b, &options.b}})
        if (!keys->empty())
            text += "values that are not tensors, only in " + *path + ": " + listed(*keys) + "\n";
    return text;
}

std::string text_of(comparison const& found_comparison, diff_options const& options) {
    std::string text;
    if (found_comparison.first)
        text += "'" + found_comparison.first->key + "'" +
                (found_comparison.first->index ? " at " + to_string(*found_comparison.first->index)
                                               : "") +
                ": " + found_comparison.first->a + " in " + options.a + ", " +
                found_comparison.first->b + " in " + options.b + "\n";
    for (auto const& [keys, path] : {std::pair{&found_comparison.only_a, &options.a},
                                     std::pair{&found_comparison.only_b, &options.b}})
        if (!keys->empty())
            text += "only in " + *path + ": " + listed(*keys) + "\n";
    text += text_of(found_comparison.objects, options);
    if (found_comparison.by_digests > 0)
        text += tensors(found_comparison.by_digests) + " equal by the digests saved with them\n";
    comparison compared = found_comparison;
    compared.not_compared.clear();
    if (!found_comparison.not_compared.empty())
        text +=
            "not compared, because they cannot be read: " + listed(found_comparison.not_compared) +
            "\n";
    return text +
           (found_comparison.equal() ? "equal"
            : compared.equal()       ? bold("not known to be equal")
                                     : bold("different")) +
           "\n";
}

/// Notes how many tensors have no comparable digests, and why.
void note_read(comparison const& comparison, diff_options const& options) {
    std::string why;
    if (comparison.other_shards > 0)
        why = "have different shards for " + tensors(comparison.other_shards);
    if (comparison.no_digests > 0)
        why += (why.empty() ? "" : ", and ") +
               ("have no digests to compare for " + tensors(comparison.no_digests));
    if (!why.empty())
        note(options.a + " and " + options.b + " " + why + ": their data was read");
}

/// Notes which values that are not tensors were not compared, and why.
void note_objects(detail::object_comparison const& comparison, diff_options const& options) {
    if (!comparison.are_identical && comparison.in_a + comparison.in_b > 0)
        note(options.a + " has " + objects(comparison.in_a) + ", and " + options.b + " has " +
             objects(comparison.in_b) +
             ", which were not compared: the two formats do not store the same values");
    if (!comparison.unread.empty())
        note("not compared, because these values are not tensors and were not read: " +
             listed(comparison.unread) +
             (comparison.why_unread.empty() ? "" : " (" + comparison.why_unread + ")"));
}

/// Notes metadata texts that differ, or that only one checkpoint has. They do not affect the
/// verdict.
void note_metadata(checkpoint const& a, checkpoint const& b) {
    reshard::vector<std::string> names;
    auto const& of_a = a.metadata().metadata;
    auto const& of_b = b.metadata().metadata;
    auto const add = [&](std::string const& name, bool differs) {
        if (differs && detail::is_text_name(name))
            names.push_back(name);
    };
    for (auto const& [name, value] : of_a)
        add(name, !of_b.contains(name) || of_b.at(name) != value);
    for (auto const& [name, value] : of_b)
        add(name, !of_a.contains(name));
    if (!names.empty())
        note("texts in the metadata differ, which does not affect the result: " + listed(names));
}

comparison compared(processes const& world, checkpoint const& a, checkpoint const& b,
                    diff_options const& options) {
    progress_bar bar(world.rank() == 0, options.progress);
    compare_options compare_options = options.options;
    compare_options.progress = std::ref(bar);
    return compare(world, a, b, compare_options);
}

outcome diff(processes const& world, diff_options const& options, bool as_json) {
    stopwatch const watch;
    checkpoint const a = open_checkpoint(world, options.a, {.format = options.reading});
    detail::safetensors_options reading_b = options.reading;
    reading_b.source_layout.clear();
    checkpoint const b = open_checkpoint(world, options.b, {.format = reading_b});
    say_warnings(world, a);
    say_warnings(world, b);
    comparison const comparison = compared(world, a, b, options);
    if (world.rank() == 0) {
        note_read(comparison, options);
        note_objects(comparison.objects, options);
        note_metadata(a, b);
    }
    int const status = comparison.equal() ? done : no;
    if (as_json)
        return json_outcome({{"equal", comparison.equal()},
                             {"first", json_of(comparison.first)},
                             {"only_a", json_texts(comparison.only_a)},
                             {"only_b", json_texts(comparison.only_b)},
                             {"not_compared", json_texts(comparison.not_compared)},
                             {"by_digests", comparison.by_digests},
                             {"other_shards", comparison.other_shards},
                             {"no_digests", comparison.no_digests},
                             {"objects", json_of(comparison.objects)}},
                            status);
    index_t bytes = 0;
    layout const& layout = a.files_layout();
    for (tensor_layout const& tensor : layout.tensors)
        bytes = detail::checked_add(
            bytes, byte_count(element_count(layout.shape_of(tensor)), tensor.dtype),
            "the bytes of all tensors");
    std::string text = text_of(comparison, options);
    if (comparison.equal() && comparison.by_digests == 0)
        text += closing_line(bytes, watch.seconds()) + "\n";
    return {text, status};
}

} // namespace

void add_diff(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<diff_options>();
    CLI::App* const command =
        add_command(app, chosen, "diff",
                    "Compare the tensors and other values of two checkpoints, in any layouts",
                    "  reshard diff model copy\n"
                    "  mpiexec -n 4 reshard diff model sharded --json");
    add_path(*command, chosen, "A", options->a, "A checkpoint")->required();
    add_path(*command, chosen, "B", options->b, "Another checkpoint")->required();
    add_compatible(*command, options->reading);
    add_source_layout(*command, options->reading, "A");
    command->add_flag("--data", options->options.data,
                      "Read all data; by default, tensors with equal shards are compared by "
                      "the digests saved with them, and read only if these differ");
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return diff(world, *options, chosen.json);
        };
    });
}

} // namespace tool
