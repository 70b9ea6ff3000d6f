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
    detail::safetensors_options reading = {}; ///< of both; the source layout is for `a` alone
    compare_options how = {};
    progress_when progress = progress_when::on_terminal;
};

/// A number where the text is one that JSON has, else the text.
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

json::object json_of(detail::object_comparison const& found) {
    json::array different;
    for (detail::object_difference const& one : found.different)
        different.push_back(
            {{"key", json_text(one.key)}, {"a", json_text(one.a)}, {"b", json_text(one.b)}});
    return {{"a", found.in_a},
            {"b", found.in_b},
            {"compared", found.are_alike},
            {"only_a", json_texts(found.only_a)},
            {"only_b", json_texts(found.only_b)},
            {"different", std::move(different)},
            {"unread", json_texts(found.unread)}};
}

std::string tensors(index_t count) { return counted(static_cast<std::size_t>(count), "tensor"); }

std::string objects(index_t count) {
    return count == 1 ? "1 value that is no tensor"
                      : grouped(count) + " values that are no tensors";
}

/// How values that are no tensors differ.
std::string text_of(detail::object_comparison const& found, diff_options const& options) {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, found.different.size()); ++i) {
        detail::object_difference const& one = found.different[i];
        text += detail::printable("'" + one.key + "': " + one.a + " in " + options.a + ", " +
                                  one.b + " in " + options.b) +
                "\n";
    }
    if (found.different.size() > most) {
        std::size_t const more = found.different.size() - most;
        text += counted(more, "more value") +
                (more == 1 ? " that is no tensor differs\n" : " that are no tensors differ\n");
    }
    for (auto const& [keys, path] :
         {std::pair{&found.only_a, &options.a}, std::pair{&found.only_b, &options.b}})
        if (!keys->empty())
            text += "no tensors, and only in " + *path + ": " + listed(*keys) + "\n";
    return text;
}

std::string text_of(comparison const& found, diff_options const& options) {
    std::string text;
    if (found.first)
        text += "'" + found.first->key + "'" +
                (found.first->index ? " at " + to_string(*found.first->index) : "") + ": " +
                found.first->a + " in " + options.a + ", " + found.first->b + " in " + options.b +
                "\n";
    for (auto const& [keys, path] :
         {std::pair{&found.only_a, &options.a}, std::pair{&found.only_b, &options.b}})
        if (!keys->empty())
            text += "only in " + *path + ": " + listed(*keys) + "\n";
    text += text_of(found.objects, options);
    if (found.by_digests > 0)
        text += tensors(found.by_digests) + " equal by the digests saved with them\n";
    comparison compared = found;
    compared.not_compared.clear();
    if (!found.not_compared.empty())
        text += "not compared, since they cannot be read: " + listed(found.not_compared) + "\n";
    return text +
           (found.equal()      ? "equal"
            : compared.equal() ? bold("not known to be equal")
                               : bold("different")) +
           "\n";
}

/// Says of how many tensors digests could not be compared, and why.
void note_read(comparison const& found, diff_options const& options) {
    std::string why;
    if (found.other_shards > 0)
        why = "have other shards for " + tensors(found.other_shards);
    if (found.no_digests > 0)
        why += (why.empty() ? "" : ", and ") +
               ("have no digests to compare for " + tensors(found.no_digests));
    if (!why.empty())
        note(options.a + " and " + options.b + " " + why + ": the data of these was read");
}

/// Says which values that are no tensors were not compared, and why.
void note_objects(detail::object_comparison const& found, diff_options const& options) {
    if (!found.are_alike && found.in_a + found.in_b > 0)
        note(options.a + " has " + objects(found.in_a) + ", and " + options.b + " has " +
             objects(found.in_b) +
             ", which were not compared: the two formats have no place for "
             "the same values");
    if (!found.unread.empty())
        note("not compared, since these are no tensors and were not read: " + listed(found.unread) +
             (found.why_unread.empty() ? "" : " (" + found.why_unread + ")"));
}

/// Names texts in the metadata that differ, or that one has alone: they are no part of the verdict.
void note_metadata(checkpoint const& a, checkpoint const& b) {
    std::vector<std::string> names;
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
        note("texts in the metadata differ, and are not compared: " + listed(names));
}

comparison compared(processes const& world, checkpoint const& a, checkpoint const& b,
                    diff_options const& options) {
    progress_bar bar(world.rank() == 0, options.progress);
    compare_options how = options.how;
    how.progress = std::ref(bar);
    return compare(world, a, b, how);
}

outcome diff(processes const& world, diff_options const& options, bool as_json) {
    stopwatch const watch;
    checkpoint const a = open_checkpoint(world, options.a, {.format = options.reading});
    detail::safetensors_options reading_b = options.reading;
    reading_b.source_layout.clear();
    checkpoint const b = open_checkpoint(world, options.b, {.format = reading_b});
    say_warnings(world, a);
    say_warnings(world, b);
    comparison const found = compared(world, a, b, options);
    if (world.rank() == 0) {
        note_read(found, options);
        note_objects(found.objects, options);
        note_metadata(a, b);
    }
    int const status = found.equal() ? done : no;
    if (as_json)
        return json_outcome({{"equal", found.equal()},
                             {"first", json_of(found.first)},
                             {"only_a", json_texts(found.only_a)},
                             {"only_b", json_texts(found.only_b)},
                             {"not_compared", json_texts(found.not_compared)},
                             {"by_digests", found.by_digests},
                             {"other_shards", found.other_shards},
                             {"no_digests", found.no_digests},
                             {"objects", json_of(found.objects)}},
                            status);
    index_t bytes = 0;
    layout const& held = a.files_layout();
    for (tensor_layout const& tensor : held.tensors)
        bytes = detail::checked_add(bytes,
                                    byte_count(element_count(held.shape_of(tensor)), tensor.dtype),
                                    "the bytes of all tensors");
    std::string text = text_of(found, options);
    if (found.equal() && found.by_digests == 0)
        text += closing_line(bytes, watch.seconds()) + "\n";
    return {text, status};
}

} // namespace

void add_diff(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<diff_options>();
    CLI::App* const command = add_command(
        app, chosen, "diff",
        "Compare two checkpoints by their tensors and other values, whatever their layouts",
        "  reshard diff model copy\n"
        "  mpiexec -n 4 reshard diff model sharded --json");
    add_path(*command, chosen, "A", options->a, "A checkpoint")->required();
    add_path(*command, chosen, "B", options->b, "Another one")->required();
    add_compatible(*command, options->reading);
    add_source_layout(*command, options->reading, "A");
    command->add_flag("--data", options->how.data,
                      "Read all data; without it, tensors of equal shards are compared by the "
                      "digests saved with them, and read where these differ");
    add_progress(*command, options->progress);
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return diff(world, *options, chosen.json);
        };
    });
}

} // namespace tool
