// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_JOB_OPTIONS_HPP
#define RESHARD_TOOL_JOB_OPTIONS_HPP

#include "command.hpp"
#include "job.hpp"
#include "page/html.hpp"
#include "program_text.hpp"
#include "renames.hpp"

#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <tuple>

/// \file
/// The options that several commands share, each defined once, and errors that name them.

namespace tool {

/// Adds an option that takes one of a few words. Each word selects a value.
template <class Value>
CLI::Option* add_choice(CLI::App& command, std::string const& name, Value& value,
                        std::map<std::string, Value> const& words) {
    auto const complaint = [words](std::string const& text) -> std::string {
        std::string known_names;
        for (auto const& [word, meaning] : words)
            known_names += (known_names.empty() ? "" : ", ") + word;
        return words.contains(text) ? "" : "'" + text + "' is not one of " + known_names;
    };
    return command
        .add_option_function<std::string>(
            name, [&value, words](std::string const& text) { value = words.at(text); })
        ->check(complaint, "");
}

/// Adds options for checks on programs, and for their size limits.
inline void add_program_options(CLI::App& command, job_files& files) {
    using reshard::aoa::dtype_policy;
    using reshard::aoa::on_no_match;
    add_choice<on_no_match>(command, "--no-match", files.expanding.no_match,
                            {{"ignore", on_no_match::ignore},
                             {"warn", on_no_match::warn},
                             {"error", on_no_match::error}})
        ->description("What to do about a statement whose placeholders match no key: ignore, "
                      "warn (the default) or error");
    add_choice<dtype_policy>(command, "--dtype-policy", files.lowering.policy,
                             {{"equal", dtype_policy::equal}, {"widen", dtype_policy::widen}})
        ->description("The data types that a target may have: equal (only the program's; the "
                      "default) or widen (also those that hold every value of it)");
    for (auto const& [name, most, noun] :
         {std::tuple("--max-names", &files.expanding.max_names, "names after expansion"),
          std::tuple("--max-characters", &files.expanding.max_characters,
                     "characters after expansion"),
          std::tuple("--max-steps", &files.expanding.max_steps, "steps of expansion"),
          std::tuple("--max-pieces", &files.lowering.max_pieces, "pieces in all tensors")})
        command
            .add_option(name, *most,
                        std::string("Refuse a program with more than this many ") + noun)
            ->capture_default_str();
}

/// Adds `--set`, which may be given several times.
inline CLI::Option* add_settings(CLI::App& command, job_files& files) {
    return command
        .add_option("--set", files.settings,
                    "A number that the program leaves open, such as num_attention_heads=32; by "
                    "default, it is taken from the config.json beside the source")
        ->expected(1)
        ->take_all()
        ->check(complaint_about_setting, "");
}

/// Adds `--rename`, beside a program or, if the command needs none, in place of a program.
inline CLI::Option* add_renames(CLI::App& command, job_files& files) {
    auto const take = [&files](reshard::vector<std::string> const& texts) {
        files.renames = texts;
        if (files.program.empty())
            files.program = renames_program;
    };
    return command
        .add_option_function<reshard::vector<std::string>>(
            "--rename", take,
            "FROM=TO, with $LAYER_ID for a number, or ** for any text, equally often on both sides "
            "('module.**=**'), or a .json file with an object of such pairs; the first that "
            "matches a key counts. Renames the keys of the source before --program sees them; "
            "with --reverse, the program's results")
        ->expected(1)
        ->take_all()
        ->check(complaint_about_rename, "");
}

/// Adds `--names`, in place of a program.
inline void add_names(CLI::App& command, job_files& files, CLI::Option* program) {
    auto const take = [&files](reshard::vector<std::string> const& texts) {
        files.names = texts;
        files.program = renames_program;
    };
    command
        .add_option_function<reshard::vector<std::string>>(
            "--names", take,
            "Instead of a program: look for tensors that the target has and the source lacks "
            "under the other names that frameworks give them: master-weights, slices, "
            "separators or wrappers")
        ->expected(1)
        ->take_all()
        ->excludes(program)
        ->check(complaint_about_names, "");
}

/// Adds `--cast`, after a program or without one.
inline void add_casts(CLI::App& command, job_files& files) {
    command
        .add_option_function<reshard::vector<std::string>>(
            "--cast",
            [&files](reshard::vector<std::string> const& texts) {
                files.casts = texts;
                if (files.program.empty())
                    files.program = renames_program;
            },
            "PATTERN=DTYPE: write floating-point tensors whose keys match PATTERN as bfloat16, "
            "float16, float32 or float64, and complex tensors as complex64 or complex128; if "
            "several patterns match, the last one counts (--cast '**=bfloat16' --cast "
            "'**norm**=float32')")
        ->expected(1)
        ->take_all()
        ->check(complaint_about_cast, "");
}

/// Lets `@dequantize` read packed tensors as their values.
inline void choose_reading(job_files& files, std::string_view program) {
    files.reading.dequantized = program == "@dequantize";
}

inline CLI::Option* add_program(CLI::App& command, job_files& files) {
    add_program_options(command, files);
    CLI::Option* const program =
        command
            .add_option(
                "--program", files.program,
                "A file with AOA statements, or @NAME for a program that reshard programs lists")
            ->each([&files](std::string const& name) { choose_reading(files, name); });
    add_settings(command, files)->needs(program);
    return program;
}

/// Adds a required program, and renames beside it.
inline CLI::Option* add_required_program(CLI::App& command, job_files& files) {
    CLI::Option* const program = add_program(command, files)->required();
    add_renames(command, files);
    return program;
}

inline CLI::Option* add_program_or_renames(CLI::App& command, job_files& files) {
    CLI::Option* const program = add_program(command, files);
    add_names(command, files, program);
    add_renames(command, files);
    add_casts(command, files);
    return program;
}

inline CLI::Option* add_source(CLI::App& command, invocation& chosen, job_files& files) {
    add_reading(command, files.reading);
    return add_path(command, chosen, "--source", files.source, "A checkpoint or a layout file")
        ->required();
}

inline CLI::Option* add_target(CLI::App& command, invocation& chosen, job_files& files) {
    return add_path(command, chosen, "--target", files.target, "A layout file or a checkpoint");
}

/// Adds the options for losses that a reversal accepts.
inline reshard::vector<CLI::Option*> add_reversing(CLI::App& command, job_files& files) {
    return {command.add_flag("--allow-rounding", files.reversing.allow_rounding,
                             "Reverse a cast that rounds by casting back"),
            command.add_flag("--allow-removed", files.reversing.allow_removed,
                             "Bring back tensors that the program removes or replaces as zeros"),
            command.add_flag("--take-first", files.reversing.take_first,
                             "If the program makes a tensor under several names, take the "
                             "first without comparing the others with it")};
}

/// Adds `--reverse` and `--like`, for commands that run a program.
///
/// \param writes_gguf true if `--like` without `--reverse` may name the header of a GGUF file
inline void add_reverse(CLI::App& command, invocation& chosen, job_files& files,
                        CLI::Option* program, bool writes_gguf = false) {
    command
        .add_flag("--reverse", files.reverse, "Run the program backwards: the source is its result")
        ->needs(program);
    auto options = add_reversing(command, files);
    CLI::Option* const like =
        add_path(command, chosen, "--like", files.like,
                 std::string("With --reverse: a checkpoint, its headers or a layout file "
                             "with the tensors that the program reads; it gives the shapes "
                             "and data types before *, a reshape or a cast") +
                     (writes_gguf ? ". For a TARGET in GGUF: a GGUF file; the new header gets all "
                                    "values of its header"
                                  : ""));
    if (!writes_gguf)
        options.push_back(like);
    command.parse_complete_callback([&files, options] {
        for (CLI::Option const* const value : options)
            if (value->count() > 0 && !runs_backwards(files))
                throw CLI::RequiresError(value->get_name(), "--reverse");
    });
}

inline CLI::Option* add_partial(CLI::App& command, job_files& files, std::string const& noun) {
    return command.add_flag("--partial", files.partial,
                            "The " + noun + " may omit elements, and its shards may overlap");
}

inline CLI::Option* add_cut_fused(CLI::App& command, job_files& files) {
    return command.add_flag("--cut-fused", files.cut_fused,
                            "Allow fused tensors to be cut at other places than those they "
                            "were fused for, as FSDP does, which gathers them before use");
}

inline CLI::Option* add_share_copies(CLI::App& command, bool& shares) {
    return command.add_flag(
        "--share-copies", shares,
        "If the program makes copies of a tensor, write it once; our formats store the other "
        "names with it. Without this option, each copy is written as a tensor");
}

/// Adds `--replicas` and `--per-rank`.
inline reshard::vector<CLI::Option*> add_replicas(CLI::App& command, bool& replicas,
                                                  bool& per_rank) {
    return {command.add_flag("--replicas", replicas,
                             "Write equal shards into the file of each rank that holds them, "
                             "instead of into the file of only one of these ranks"),
            command.add_flag("--per-rank", per_rank,
                             "As --replicas, with files named after ranks: rank 0 writes "
                             "rank-00000.safetensors instead of shard-00001-model-...")};
}

/// The error in the name of a file; only an empty name is wrong.
inline std::string complaint_about_file(std::string const& path) {
    return path.empty() ? "'' is not the name of a file" : "";
}

/// Adds `--report`, which names a page.
inline CLI::Option* add_report(CLI::App& command, std::string& path, std::string const& noun) {
    return command
        .add_option("--report", path,
                    "Write a page " + noun +
                        " to a file whose name ends in .html, to be opened in a browser; an "
                        "existing file is replaced")
        ->check(complaint_about_report, "");
}

/// Adds `--strict`, which names a mode.
inline CLI::Option* add_strict(CLI::App& command, job_files& files) {
    auto const complaint = [](std::string const& text) -> std::string {
        try {
            reshard::detail::strictness_from_name(text);
            return {};
        } catch (reshard::error const& problem) {
            return problem.what();
        }
    };
    return command
        .add_option(
            "--strict", files.strict,
            "What to do about keys that are wanted but not available (unexpected) or "
            "available but not wanted (missing): assume_ok_unexpected, log_unexpected, log_all, "
            "raise_unexpected, raise_all, return_unexpected, return_all, ignore_all")
        ->check(complaint, "");
}

inline CLI::Option* add_strict_warnings(CLI::App& command, job_files& files) {
    return command.add_flag("--strict-warnings", files.strict_warnings,
                            "Fail with exit status 3 if there is a warning");
}

inline CLI::Option* add_force(CLI::App& command, bool& force) {
    return command.add_flag("--force", force,
                            "Replace an existing checkpoint once the new one is complete");
}

/// Adds `--progress` and `--no-progress`.
inline void add_progress(CLI::App& command, progress_when& when) {
    CLI::Option* const always = command.add_flag_callback(
        "--progress", [&when] { when = progress_when::always; },
        "Show the progress of the first process on standard error, even if that is not a terminal");
    command
        .add_flag_callback(
            "--no-progress", [&when] { when = progress_when::never; },
            "Do not show progress, even on a terminal")
        ->excludes(always);
}

/// The number of bytes in a unit such as `GB`; 1 for no unit, 0 for an unknown unit.
inline reshard::index_t bytes_in(std::string const& unit) {
    std::string text = "1" + unit;
    try {
        return CLI::AsSizeValue(true)(text).empty() ? std::stoll(text) : 0;
    } catch (CLI::ValidationError const&) {
        return 0;
    }
}

/// Replaces a number of bytes as people write it (`80GB`, `1.5GiB`, `296,292,992`) by digits.
///
/// \return the error; empty if there is none
inline std::string complaint_about_bytes(std::string& text) {
    constexpr reshard::index_t most = std::numeric_limits<reshard::index_t>::max();
    std::string const complaint = "'" + text + "' is not a whole number of bytes up to " +
                                  std::to_string(most) +
                                  "; write 300000000, 300MB, 0.3GB or 300MiB";
    std::erase(text, ',');
    std::size_t const end = std::min(text.find_first_not_of("0123456789."), text.size());
    reshard::index_t const factor = bytes_in(text.substr(end));
    std::string digits = text.substr(0, end);
    reshard::index_t number = 0, divisor = 1; // bytes are number * unit / divisor
    if (std::size_t const point = digits.find('.'); point != digits.npos) {
        for (std::size_t i = point + 1; i < digits.size(); ++i)
            divisor = divisor < 1'000'000'000 ? 10 * divisor : 0;
        digits.erase(point, 1);
    }
    auto const [behind, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem != std::errc() || behind != digits.data() + digits.size() || divisor == 0 ||
        factor == 0)
        return complaint;
    if (number > most / factor || number * factor % divisor != 0)
        return complaint;
    text = std::to_string(number * factor / divisor);
    return {};
}

/// Adds `loss=1.5` to a map of numbers by name; returns the error, or an empty text.
inline std::string complaint_about_number(std::string const& text,
                                          std::map<std::string, double>& numbers) {
    std::size_t const sign = text.rfind('=');
    char const* const last = text.data() + text.size();
    double value = 0;
    if (sign == 0 || sign == text.npos ||
        std::from_chars(text.data() + sign + 1, last, value).ptr != last || sign + 1 == text.size())
        return "'" + text + "' is not a name and a number; write loss=1.5";
    numbers[text.substr(0, sign)] = value;
    return {};
}

/// Adds `--number`, which may be given several times.
inline CLI::Option* add_numbers(CLI::App& command, std::map<std::string, double>& numbers) {
    auto const complaint = [](std::string const& text) {
        std::map<std::string, double> ignored;
        return complaint_about_number(text, ignored);
    };
    auto const add = [&numbers](reshard::vector<std::string> const& texts) {
        for (std::string const& text : texts)
            complaint_about_number(text, numbers);
    };
    return command
        .add_option_function<reshard::vector<std::string>>(
            "--number", add,
            "A number to store in the record of the save, such as loss=1.5, "
            "which retain can compare")
        ->expected(1)
        ->take_all()
        ->check(complaint, "");
}

/// Adds `--shard-size`, a number with or without a unit.
CLI::Option* add_shard_size(CLI::App& command, auto& bytes, std::string const& noun) {
    return command.add_option("--shard-size", bytes, noun)
        ->transform(CLI::Validator(complaint_about_bytes, "SIZE"));
}

/// Runs work that writes a checkpoint at `target`. If it is refused because the target exists, the
/// error names the option that replaces it.
template <class Work>
auto with_force_hint(std::filesystem::path const& target, bool force, Work&& work) {
    try {
        return work();
    } catch (reshard::error const& problem) {
        std::error_code ignored;
        if (force || problem.code() != reshard::errc::already_exists ||
            !std::filesystem::exists(target, ignored))
            throw;
        reshard::fail(problem.code(), problem.what() + std::string(" (--force)"));
    }
}

} // namespace tool

#endif
