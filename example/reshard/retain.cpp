// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "command.hpp"
#include "json.hpp"

#include "picture/byte_text.hpp"

#include <reshard/storage/retention.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace tool {

namespace {

using namespace reshard;
namespace json = boost::json;

struct retain_command {
    std::string directory;
    retention rules;
    bool lowest = false; ///< the default, stated explicitly
    bool apply = false;
};

json::object json_of(detail::retained_save const& save) {
    return {{"name", json_text(save.name)},
            {"goes", save.goes},
            {"why", json_text(save.why)},
            {"state", json_text(save.state)},
            {"save", save.save.empty() ? json::value(nullptr) : json::value(json_text(save.save))},
            {"bytes", save.bytes},
            {"completed", save.completed == 0 ? json::value(nullptr) : save.completed},
            {"pinned", save.pinned}};
}

std::string complaint_about_count(std::string const& text) {
    return text.starts_with('-') ? "'" + text + "' is negative; give 0 or more" : "";
}

/// The number and the bytes of the checkpoints that are deleted or kept.
std::string sum_of(retention_report const& report, bool goes) {
    std::size_t count = 0;
    index_t bytes = 0;
    for (detail::retained_save const& save : report)
        if (save.goes == goes) {
            ++count;
            bytes += static_cast<index_t>(save.bytes);
        }
    return grouped(static_cast<index_t>(count)) + " of " + byte_text(bytes);
}

std::string text_of(retention_report const& report, retain_command const& options) {
    std::string text;
    std::size_t width = 0;
    for (detail::retained_save const& save : report)
        width = std::max(width, save.name.size());
    for (bool const goes : {false, true})
        for (detail::retained_save const& save : report)
            if (save.goes == goes)
                text +=
                    std::string(goes ? (options.apply ? "deleted  " : "goes     ") : "stays    ") +
                    save.name + std::string(width - save.name.size() + 2, ' ') +
                    byte_text(static_cast<index_t>(save.bytes)) + ", " + save.why + "\n";
    bool const is_dry = !options.apply && std::any_of(report.begin(), report.end(),
                                                      [](auto const& save) { return save.goes; });
    return text + options.directory + ": " + sum_of(report, true) +
           (options.apply ? " deleted, " : " would go, ") + sum_of(report, false) +
           (options.apply ? " stay" : " would stay") +
           (is_dry ? "; nothing is deleted without --apply" : "") + "\n";
}

outcome run_retain(processes const& world, retain_command const& options, bool as_json) {
    retention_report const report = retain(world, options.directory, options.rules, options.apply);
    if (!as_json)
        return {text_of(report, options)};
    json::array saves;
    for (detail::retained_save const& save : report)
        saves.push_back(json_of(save));
    return json_outcome({{"applied", options.apply}, {"checkpoints", std::move(saves)}});
}

} // namespace

void add_retain(CLI::App& app, invocation& chosen) {
    auto const options = std::make_shared<retain_command>();
    CLI::App* const command = add_command(
        app, chosen, "retain",
        "Show which checkpoints of a directory may be deleted, and why the others stay; "
        "--apply deletes those that may be deleted",
        "  reshard retain run --last 3\n"
        "  reshard retain run --last 3 --best 1 --by loss --apply");
    command
        ->add_option("DIR", options->directory, "A directory that has one directory per checkpoint")
        ->required();
    command->add_option("--last", options->rules.last, "The number of newest checkpoints to keep")
        ->check(complaint_about_count, "");
    CLI::Option* const best = command
                                  ->add_option("--best", options->rules.best,
                                               "The number of best checkpoints to keep, "
                                               "compared by --by")
                                  ->check(complaint_about_count, "");
    CLI::Option* const by =
        command->add_option("--by", options->rules.by,
                            "The name of the recorded number that --best compares, such "
                            "as loss");
    best->needs(by);
    by->needs(best);
    CLI::Option* const lowest = command->add_flag(
        "--lowest", options->lowest, "The lowest numbers are the best; this is the default");
    command->add_flag("--highest", options->rules.highest, "The highest numbers are the best")
        ->needs(best)
        ->excludes(lowest);
    lowest->needs(best);
    command->add_flag("--apply", options->apply,
                      "Delete the checkpoints that may be deleted; without it, nothing is changed");
    command->callback([options, &chosen] {
        chosen.run = [options, &chosen](processes const& world) {
            return run_retain(world, *options, chosen.json);
        };
    });
}

} // namespace tool
