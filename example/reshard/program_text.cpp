// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "program_text.hpp"
#include "processes.hpp"
#include "renames.hpp"
#include "report.hpp"
#include "stacked_tensors.hpp"
#include "stock_programs.hpp"

#include <reshard/aoa/parse.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace tool {

using namespace reshard;

namespace {

bool is_stock(std::string const& program) { return program.starts_with("@"); }

/// Reads all bytes of a pipe.
std::string read_pipe(std::string const& path) {
    constexpr std::size_t most = std::size_t{1} << 28, step = 1 << 16;
    if (is_launched())
        fail(errc::usage, path,
             ": this is a pipe, which only one process can read; with mpiexec, give a file");
    std::string text;
    std::ifstream pipe(path, std::ios::binary);
    if (!pipe)
        fail(errc::io, path, ": cannot be opened: ", std::strerror(errno));
    while (pipe) {
        std::size_t const before = text.size();
        text.resize(before + step);
        pipe.read(text.data() + before, step);
        text.resize(before + static_cast<std::size_t>(pipe.gcount()));
        if (text.size() > most)
            fail(errc::limit_exceeded, path, ": more than ", most,
                 " bytes come from this pipe; give a larger program as a file");
    }
    if (pipe.bad())
        fail(errc::io, path, ": cannot be read: ", std::strerror(errno));
    return text;
}

/// The text of a file, or of a pipe, which is read only once.
std::string read_program_file(std::string const& path) {
    static std::map<std::string, std::string> pipes;
    std::error_code ignored;
    if (!std::filesystem::is_fifo(path, ignored))
        return detail::read_text_file(path);
    auto match = pipes.find(path);
    if (match == pipes.end())
        match = pipes.emplace(path, read_pipe(path)).first;
    return match->second;
}

/// The integer at a path of names such as `text_config.hidden_size`.
std::optional<std::string> number_at(boost::json::value const& config, std::string_view path) {
    boost::json::object const* const object = config.if_object();
    std::size_t const dot = path.find('.');
    auto const* const match = object ? object->if_contains(path.substr(0, dot)) : nullptr;
    if (match && dot != path.npos)
        return number_at(*match, path.substr(dot + 1));
    return match && match->is_int64() ? std::optional(std::to_string(match->get_int64()))
                                      : std::nullopt;
}

/// The integer with a name in a configuration, or else in the configuration of its text model.
std::optional<std::string> number_in(boost::json::value const& config, std::string const& name) {
    auto const match = number_at(config, name);
    return match ? match : number_at(config, "text_config." + name);
}

/// Adds all integers of a configuration, by path.
void add_numbers(boost::json::value const& config, std::string const& prefix,
                 std::map<std::string, std::string>& numbers) {
    if (auto const* const if_object = config.if_object())
        for (auto const& [name, value] : *if_object) {
            std::string const path = prefix + std::string(name.data(), name.size());
            if (value.is_int64())
                numbers[path] = std::to_string(value.get_int64());
            add_numbers(value, path + ".", numbers);
        }
}

/// Proposes entries of a configuration for a missing one: those with the same last name, else the
/// nearest, else all.
std::string numbers_like(boost::json::value const& config, std::string const& name) {
    std::map<std::string, std::string> numbers;
    add_numbers(config, "", numbers);
    std::string const last = name.substr(name.rfind('.') + 1);
    reshard::vector<std::string> same, all;
    for (auto const& [path, value] : numbers) {
        all.push_back(path);
        if (path == last || path.ends_with("." + last))
            same.push_back(path);
    }
    std::string const nearest = detail::did_you_mean(name, all);
    if (all.empty())
        return ", and no other whole numbers";
    if (same.empty() && !nearest.empty())
        return nearest;
    return ", only " + listed(same.empty() ? all : same);
}

/// The path of the model's configuration beside a checkpoint.
std::filesystem::path config_beside(std::string const& source) {
    std::error_code ignored;
    std::filesystem::path const path = source;
    return (std::filesystem::is_directory(path, ignored) ? path : path.parent_path()) /
           "config.json";
}

/// The values of a job: those from `--set`, and those in the model's configuration.
class program_values {
public:
    explicit program_values(job_files const& files)
        : files_(files), path_(config_beside(files.source)) {
        for (std::string const& text : files.settings) {
            std::size_t const sign = text.find('=');
            given_[text.substr(0, sign)] = text.substr(sign + 1);
        }
        std::error_code ignored;
        boost::system::error_code unreadable; // an unreadable file has no values
        if (std::filesystem::is_regular_file(path_, ignored))
            config_ = boost::json::parse(detail::read_text_file(path_), unreadable);
        has_config_ = config_.is_object();
    }

    /// The value of a name, or of sums, products and quotients of names and numbers; of the last
    /// two, from left to right.
    std::string operator()(std::string const& text) {
        std::size_t const plus = text.rfind('+');
        std::size_t const sign = plus == text.npos ? text.find_last_of("*/") : plus;
        if (sign == text.npos)
            return value(text);
        index_t const left = number((*this)(text.substr(0, sign)));
        index_t const right = number((*this)(text.substr(sign + 1)));
        if (text[sign] == '+')
            return std::to_string(detail::checked_add(left, right, "the numbers of a program"));
        if (text[sign] == '*')
            return std::to_string(
                detail::checked_multiply(left, right, "the numbers of a program"));
        if (right <= 0 || left % right != 0)
            fail(errc::usage, files_.program, ": {", text, "} is not a whole number: ", left, " / ",
                 right);
        return std::to_string(left / right);
    }

    /// Whether a switch was turned on or off; std::nullopt if it was not set.
    std::optional<bool> is_on(std::string const& name) {
        used_.insert(name);
        auto const match = given_.find(name);
        return match == given_.end() ? std::nullopt : std::optional(match->second != "0");
    }

    /// Refuses values of `--set` that the program does not use.
    void check_used() const {
        for (auto const& [name, value] : given_)
            if (!used_.contains(name))
                fail(errc::usage, files_.program, ": --set ", name, "=", value,
                     " sets a number that the program does not use",
                     detail::did_you_mean(name, used_));
    }

    /// For example `a=1, b=2 taken from model/config.json`; empty without values from there.
    std::string note() const {
        std::string text;
        for (auto const& [name, value] : read_)
            text += (text.empty() ? "" : ", ") + name + "=" + value;
        return text.empty() ? text : text + " taken from " + path_.string();
    }

private:
    index_t number(std::string const& digits) const {
        index_t result = 0;
        char const* const end = digits.data() + digits.size();
        if (auto const read = std::from_chars(digits.data(), end, result);
            read.ec != std::errc() || read.ptr != end)
            fail(errc::usage, files_.program, ": ", digits, " is not a number of 64 bits");
        return result;
    }

    std::string value(std::string const& name) {
        if (!name.empty() && name.find_first_not_of("0123456789") == name.npos)
            return name;
        used_.insert(name);
        if (auto const match = given_.find(name); match != given_.end())
            return match->second;
        auto const match = number_in(config_, name);
        if (!match)
            fail(errc::usage, files_.program, ": the value of {", name,
                 "} is not known: ", path_.string(),
                 has_config_ ? " has no such number" : " is missing or is not JSON",
                 has_config_ ? numbers_like(config_, name) : "", "; give it with --set ", name,
                 "=NUMBER");
        read_[name] = *match;
        return *match;
    }

    job_files const& files_;
    std::filesystem::path path_;
    boost::json::value config_;
    bool has_config_ = false;
    std::map<std::string, std::string> given_, read_;
    std::set<std::string> used_;
};

/// Replaces `{NAME}` by the result of `value_of`, unless the name is `left_alone`.
template <class ValueOf>
std::string filled(std::string_view line, std::string_view left_alone, ValueOf&& value_of) {
    std::string text;
    for (;;) {
        std::size_t const begin = line.find('{'), end = line.find('}', begin);
        if (end == line.npos)
            return text.append(line);
        std::string const name(line.substr(begin + 1, end - begin - 1));
        text.append(line.substr(0, begin));
        text += name == left_alone ? "{" + name + "}" : value_of(name);
        line.remove_prefix(end + 1);
    }
}

/// The numbers at the position of `gap` in the keys that match one of `patterns`.
std::set<index_t> numbers_in(catalog const& source, std::string_view patterns,
                             std::string const& gap) {
    std::set<index_t> numbers;
    for (std::string_view const pattern : parts_of(patterns, ", ")) {
        std::size_t const at = std::min(pattern.find(gap), pattern.size());
        std::string_view const head = pattern.substr(0, at);
        std::string_view const tail = pattern.substr(std::min(at + gap.size(), pattern.size()));
        for (catalog_entry const& entry : source) {
            std::string_view const key = entry.key;
            if (key.size() <= head.size() + tail.size() || !key.starts_with(head) ||
                !key.ends_with(tail))
                continue;
            char const* const last = key.data() + key.size() - tail.size();
            index_t number = 0;
            if (auto const read = std::from_chars(key.data() + head.size(), last, number);
                read.ec == std::errc() && read.ptr == last)
                numbers.insert(number);
        }
    }
    return numbers;
}

/// Fills the gaps of one text, line by line.
class gap_filler {
public:
    gap_filler(job_files const& files, catalog const& source, program_values& values)
        : program_(files.program),
          casts_(files.casts),
          is_backwards_(runs_backwards(files)),
          most_names_(files.expanding.max_names),
          source_(source),
          values_(values) {}

    /// The patterns of `{keeps ...}`; std::nullopt if the text has no `{needs ...}`.
    std::optional<reshard::vector<std::string>> keeps() && {
        return needs_ ? std::optional(std::move(keeps_)) : std::nullopt;
    }

    /// On weights that `{quantize SCHEME}` does not change; may be empty.
    std::string const& note() const { return note_; }

    std::string fill(std::string_view text) {
        for (std::string_view const part : parts_of(text, "\n")) {
            std::string const line = switched(part);
            if (line.starts_with("{"))
                take_mark(line);
            else
                block_.append(line).append("\n");
        }
        flush();
        result_.pop_back(); // no line follows the last line break
        check_refused();
        return std::move(result_);
    }

private:
    void take_mark(std::string_view line) {
        flush();
        constexpr std::string_view if_mark = "{if ", each_mark = "{each ", needs_mark = "{needs ",
                                   keeps_mark = "{keeps ", switch_mark = "{switch ",
                                   refuses_mark = "{refuses ", quantize_mark = "{quantize ";
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        repeats_ = {std::string()};
        name_.clear();
        if (line == "{stack}")
            return add_made(stacked(source_), "layers or experts that can be put together");
        if (line == "{unstack}")
            return add_made(unstacked(source_, most_names_),
                            "tensors that hold all layers or experts");
        if (line == "{dequantize}")
            return add_made(dequantized(source_, casts_), "quantised tensors");
        if (line.starts_with(quantize_mark) && line.ends_with('}'))
            return add_quantized(std::string(
                line.substr(quantize_mark.size(), line.size() - quantize_mark.size() - 1)));
        bool const has_arrow = line.find(" -> ") != line.npos;
        bool const is_known =
            line == "{end}" || line.starts_with(if_mark) || line.starts_with(keeps_mark) ||
            line.starts_with(refuses_mark) ||
            (line.starts_with(switch_mark) && has_arrow && line.find(": ") != line.npos) ||
            (line.starts_with(needs_mark) && has_arrow) ||
            (line.starts_with(each_mark) && line.find(" of ") != line.npos);
        if (!is_known || !line.ends_with('}'))
            fail(errc::syntax, "'", line,
                 "' is not a mark; the marks are {needs KEY -> KEY}, {keeps PATTERN, PATTERN}, "
                 "{refuses TEXT, TEXT}, {if KEY, KEY}, {each NAME of KEY without KEY}, {end}, "
                 "{switch NAME: OLD -> NEW}, "
                 "{stack}, {unstack}, {dequantize} and {quantize SCHEME}, each on a separate line");
        line.remove_suffix(1);
        if (line.starts_with(if_mark))
            begin_if(filled(line.substr(if_mark.size()), {}, values_));
        else if (line.starts_with(needs_mark))
            check_needed(line.substr(needs_mark.size()));
        else if (line.starts_with(keeps_mark))
            add_kept(line.substr(keeps_mark.size()));
        else if (line.starts_with(refuses_mark))
            for (std::string_view const text : parts_of(line.substr(refuses_mark.size()), ", "))
                refused_.emplace_back(text);
        else if (line.starts_with(switch_mark))
            add_switch(line.substr(switch_mark.size()));
        else if (line.starts_with(each_mark))
            begin_each(line.substr(each_mark.size()));
    }

    /// A switch is on if `--set NAME=1` says so. If it is not set, it is on if the source has a key
    /// with the new text.
    void add_switch(std::string_view line) {
        std::size_t const colon = line.find(": "), arrow = line.find(" -> ");
        std::string const old(line.substr(colon + 2, arrow - colon - 2));
        std::string const renamed(line.substr(arrow + 4));
        bool const is_in_source = std::ranges::any_of(source_, [&](catalog_entry const& entry) {
            return entry.key.find(renamed) != entry.key.npos;
        });
        if (values_.is_on(std::string(line.substr(0, colon))).value_or(is_in_source))
            switches_.emplace_back(old, renamed);
    }

    /// Replaces the texts of all switches that are on.
    std::string switched(std::string_view line) const {
        std::string text(line);
        for (auto const& [old, renamed] : switches_)
            for (std::size_t at = 0; (at = text.find(old, at)) != text.npos; at += renamed.size())
                text.replace(at, old.size(), renamed);
        return text;
    }

    bool has_one(reshard::vector<std::string_view> const& keys) const {
        return std::ranges::any_of(keys, [&](auto key) { return source_.find(key) != nullptr; });
    }

    void add_kept(std::string_view line) {
        for (std::string_view const pattern : parts_of(line, ", "))
            keeps_.emplace_back(pattern);
    }

    /// Refuses statements with names that no model has: they are for another model of the text.
    void check_refused() const {
        for (std::string_view const line : parts_of(result_, "\n"))
            for (std::string const& text : refused_)
                if (!line.starts_with('#') && line.find(text) != line.npos)
                    fail(errc::unknown_key, program_,
                         ": the program is for another model: it does not have both names of '",
                         line, "'");
    }

    /// Adds statements that are made from the source's tensors.
    void add_made(std::string const& statements, std::string const& of_what) {
        if (is_backwards_)
            fail(errc::usage, program_,
                 ": cannot run in reverse; use the program for the other direction");
        if (statements.find("->") == statements.npos)
            fail(errc::unknown_key, program_, ": the source has no ", of_what);
        result_ += statements;
    }

    void add_quantized(std::string const& scheme) {
        quantised_weights weights;
        detail::at_path(program_, [&] { weights = quantized(source_, scheme); });
        std::string const misfits =
            weights.misfits.empty() ? ""
                                    : "these weights stay as they are: " + listed(weights.misfits) +
                                          "; " + weights.problem;
        add_made(weights.text,
                 misfits.empty()
                     ? "weights to quantise, which are floating matrices in layers, such as "
                       "'model.layers.0.mlp.up_proj.weight'; a quantised model is dequantized "
                       "first (--program @dequantize)"
                     : "weights whose shapes fit the scheme; " + misfits);
        note_ += misfits;
    }

    void begin_if(std::string const& keys) {
        if (!has_one(parts_of(keys, ", ")))
            repeats_.clear();
    }

    /// Whether the source has a tensor, and the extents are equal if required. The forms are `KEY`
    /// and `KEY[AXIS] = KEY[AXIS]`.
    bool has(std::string_view needed) const {
        auto const sides = parts_of(needed, " = ");
        auto const extent = extent_of(sides[0]);
        return extent && (sides.size() == 1 || extent == extent_of(sides[1]));
    }

    /// The extent of `KEY[AXIS]`, or 0 for `KEY`; std::nullopt if the tensor is missing.
    std::optional<index_t> extent_of(std::string_view side) const {
        std::size_t const bracket = side.find('[');
        catalog_entry const* const entry = source_.find(side.substr(0, bracket));
        if (!entry)
            return std::nullopt;
        if (bracket == side.npos)
            return 0;
        auto const axis = static_cast<std::size_t>(side[bracket + 1] - '0');
        return axis < entry->shape.size() ? std::optional(entry->shape[axis]) : std::nullopt;
    }

    void check_needed(std::string_view line) {
        needs_ = true;
        auto const sides = parts_of(line, " -> ");
        std::string_view const needed = sides[is_backwards_], other = sides[!is_backwards_];
        if (has(needed))
            return;
        bool const is_other = has(other);
        bool const is_stacked = std::ranges::any_of(
            source_, [](catalog_entry const& entry) { return is_stacked_tensor(entry.key); });
        fail(errc::unknown_key, program_, ": the source has no ", needed,
             is_other     ? "; it looks like the program's result: run the program for the "
                            "other direction"
             : is_stacked ? "; it has tensors that hold all layers: convert it with --program "
                            "@megatron-unstack first"
                          : "; the program is for another model, or the names differ");
    }

    void begin_each(std::string_view line) {
        auto const sides = parts_of(line, " of ");
        name_ = sides[0];
        std::string const keys = filled(sides[1], name_, values_), gap = "{" + name_ + "}";
        auto const lists = parts_of(keys, " without ");
        auto numbers = numbers_in(source_, lists[0], gap);
        if (lists.size() > 1)
            for (index_t const number : numbers_in(source_, lists[1], gap))
                numbers.erase(number);
        repeats_.clear();
        for (index_t const number : numbers)
            repeats_.push_back(std::to_string(number));
    }

    /// Writes the lines since the last mark, once for each repeat.
    void flush() {
        for (std::string const& number : repeats_)
            result_ += filled(block_, {}, [&](std::string const& name) {
                return name == name_ ? number : values_(name);
            });
        block_.clear();
    }

    std::string const& program_; ///< the name of the program
    reshard::vector<std::string> const& casts_;
    bool is_backwards_;
    std::size_t most_names_;
    catalog const& source_;
    program_values& values_;
    std::string result_, block_, name_, note_;
    reshard::vector<std::string> keeps_, refused_;
    bool needs_ = false;                                            ///< the text has `{needs ...}`
    reshard::vector<std::pair<std::string, std::string>> switches_; ///< old and new texts
    reshard::vector<std::string> repeats_ = {std::string()};
};

} // namespace

std::string stored_program(std::string const& program) {
    if (program.empty() || program == renames_program)
        return {}; // such a program has no text
    return is_stock(program) ? std::string(find_stock_program(program.substr(1)).text)
                             : read_program_file(program);
}

program_source read_program_text(job_files const& files, catalog const& source) {
    if (files.program.empty())
        return {};
    std::string const text = stored_program(files.program);
    bool const has_gaps = text.starts_with(program_line) || text.starts_with(backwards_line);
    if (!has_gaps && !files.settings.empty())
        fail(errc::usage, files.program, ": --set ", files.settings.front(),
             " is for programs with gaps, such as those that reshard programs lists; they "
             "begin with '",
             program_line, "'");
    if (!has_gaps && aoa::detail::is_config(text))
        return {.text = aoa::parse(text, files.program).source_text(), .note = {}};
    if (!has_gaps)
        return {.text = text, .note = {}};
    program_values values(files);
    gap_filler filler(files, source, values);
    std::string filled_text = filler.fill(text);
    values.check_used();
    std::string note = values.note();
    if (!filler.note().empty())
        note += (note.empty() ? "" : "; ") + filler.note();
    return {.text = std::move(filled_text),
            .note = std::move(note),
            .keeps = std::move(filler).keeps()};
}

bool runs_backwards(job_files const& files) {
    bool const is_backwards =
        is_stock(files.program) && find_stock_program(files.program.substr(1)).is_backwards;
    return files.reverse != is_backwards;
}

std::string complaint_about_setting(std::string const& text) {
    std::size_t const sign = text.find('=');
    bool const is_number = sign != text.npos && sign + 1 < text.size() && sign > 0 &&
                           text.find_first_not_of("0123456789", sign + 1) == text.npos;
    return is_number ? "" : "'" + text + "' is not a name and a number; write num_hidden_layers=61";
}

} // namespace tool
