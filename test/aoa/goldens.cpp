// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/print.hpp>
#include <reshard/aoa/reverse.hpp>
#include <reshard/aoa/typed_program.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

// Goldens: NAME.aoa is a program, NAME.expect the output of the stage that gives the directory its
// name.
// Comments at the beginning of the program give the tensors that it is for:
//     #! source KEY DTYPE SHAPE [PARTS]      as in  #! source w float32 4,6 1,2
//     #! target KEY DTYPE SHAPE [PARTS]
//     #! source w float32 4,6 1,2u           u: the two parts are not equal
//     #! target                              known, and without tensors
//     #! reverse
// and options of the stages:
//     #! no_match ignore|error
//     #! max_names|max_characters|max_steps|max_pieces NUMBER
//     #! dtype_policy widen
//     #! allow rounding|removed
//     #! refuse copies
// and, of a check:
//     #! report                              the classes of the keys, and what is destroyed
// For `infer` the source is the known results of a reversed program, if any.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(aoa_goldens)

namespace {

constexpr char const* stages[] = {"parse", "expand", "lower", "check", "reverse", "infer"};

fs::path const here = fs::path(RESHARD_TEST_DATA).parent_path() / "aoa";

std::string content(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct tensors {
    catalog source;
    std::optional<catalog> target;
    expand_options options;
    lower_options lowering;
    bool has_report = false;
    reverse_options reversing;
};

index_vector numbers(std::string const& text) {
    index_vector result;
    std::istringstream list(text);
    for (std::string number; std::getline(list, number, ',');)
        result.push_back(std::stoll(number));
    return result;
}

catalog_entry entry_of(std::istringstream& words, std::string const& key) {
    std::string dtype, shape, parts;
    words >> dtype >> shape >> parts;
    catalog_entry entry = test::tensor(key, shape == "-" ? index_vector{} : numbers(shape),
                                       data_type_from_name(dtype).value(), numbers(parts));
    for (std::size_t index = 0, axis = 0; index < parts.size(); axis += parts[index++] == ',')
        if (parts[index] == 'u')
            entry.uneven |= static_cast<std::uint8_t>(1u << axis);
    return entry;
}

/// A line about the stages: an option, and its value.
void set_option(tensors& tensors, std::string const& option, std::string const& value) {
    tensors.options.reverse = tensors.options.reverse || option == "reverse";
    tensors.has_report = tensors.has_report || option == "report";
    if (option == "no_match")
        tensors.options.no_match = value == "error" ? on_no_match::error : on_no_match::ignore;
    std::map<std::string, std::size_t*> const limits{
        {"max_names", &tensors.options.max_names},
        {"max_characters", &tensors.options.max_characters},
        {"max_steps", &tensors.options.max_steps},
        {"max_pieces", &tensors.lowering.max_pieces}};
    if (limits.contains(option))
        *limits.at(option) = std::stoul(value);
    if (option == "dtype_policy")
        tensors.lowering.policy = dtype_policy::widen;
    if (option == "allow")
        (value == "rounding" ? tensors.reversing.allow_rounding : tensors.reversing.allow_removed) =
            true;
    tensors.reversing.allow_copies = tensors.reversing.allow_copies && option != "refuse";
}

tensors tensors_of(std::string const& text) {
    std::vector<catalog_entry> source, target;
    tensors result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) && line.starts_with("#!");) {
        std::istringstream words(line.substr(2));
        std::string side, key;
        words >> side >> key;
        if (side == "target")
            result.target.emplace();
        if (side != "source" && side != "target")
            set_option(result, side, key);
        else if (!key.empty())
            (side == "source" ? source : target).push_back(entry_of(words, key));
    }
    result.source = catalog(source);
    if (result.target)
        result.target = catalog(target);
    return result;
}

std::string said(program const& code, std::vector<finding> const& findings) {
    std::string text;
    for (finding const& finding : findings)
        text += describe(code, finding) + '\n';
    return text;
}

std::string piece_text(mapping const& map, piece const& part) {
    std::string text = "    " + to_string(part.target_box()) + " = ";
    text += part.source == zero_source
                ? "0"
                : std::string(map.sources().key(part.source)) + to_string(part.source_box());
    if (part.joins.any())
        text += " read as " + to_string(part.order.undo(part.extent));
    if (part.order != permutation::identity(part.extent.size()))
        text += " order " + to_string(axes_of(part.order, part.extent.size()));
    for (chain_step const& step : part.steps.steps())
        text += (step.computes == chain_step::operation::none ? ""
                 : step.computes == chain_step::operation::dequantize
                     ? " times its scale" + (step.operand == 0
                                                 ? std::string()
                                                 : " (value " + shortest_text(step.operand) + ")")
                 : step.computes == chain_step::operation::add
                     ? " plus " + shortest_text(step.operand)
                     : " times " + shortest_text(step.operand)) +
                " as " + std::string(reshard::name(step.dtype));
    return text + '\n';
}

std::string mapping_text(mapping const& map) {
    std::string text;
    for (mapping_output const& output : map.outputs()) {
        text += output.key + ' ' + std::string(reshard::name(output.value.dtype)) + ' ' +
                to_string(output.value.shape) + (output.added ? " added" : "") + '\n';
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            text += piece_text(map, output.value.pieces[i]);
    }
    for (quantised_value const& quantised : map.quantised()) {
        text += quantised.name + " quantised as " + quantised.scheme + " from " +
                std::string(reshard::name(quantised.value.dtype)) + ' ' +
                to_string(quantised.value.shape) + '\n';
        for (std::size_t i = 0; i < quantised.value.pieces.size(); ++i)
            text += piece_text(map, quantised.value.pieces[i]);
        for (expression const& scales : quantised.kept) {
            text += "  with scales " + std::string(reshard::name(scales.dtype)) + ' ' +
                    to_string(scales.shape) + '\n';
            for (std::size_t i = 0; i < scales.pieces.size(); ++i)
                text += piece_text(map, scales.pieces[i]);
        }
    }
    for (std::string const& key : map.removed())
        text += "removed " + key + '\n';
    return text;
}

std::string class_text(char const* noun, std::vector<std::string> const& keys) {
    std::string text;
    for (std::string const& key : keys)
        text += (text.empty() ? "" : ", ") + key;
    return keys.empty() ? "" : std::string(noun) + ": " + text + '\n';
}

std::string report_text(program_report const& report) {
    std::string const reason = why_not_invertible(report);
    return class_text("identity", report.keys.identity) +
           class_text("renamed", report.keys.renamed) +
           class_text("transformed", report.keys.transformed) +
           class_text("added", report.keys.added) + class_text("removed", report.keys.removed) +
           (reason.empty() ? "invertible\n" : "not invertible: " + reason + '\n');
}

/// The facts that can be given about the tensors that a program reads.
std::string inferred(program const& written, tensors tensors) {
    tensors.options.reverse = true;
    std::vector<known_tensor> known_tensors;
    for (catalog_entry const& entry : tensors.source)
        known_tensors.push_back({entry});
    expansion const expanded =
        expand(written, tensors.target.value(), known_tensors.empty() ? nullptr : &tensors.source,
               tensors.options);
    inference const inference = infer_source(expanded.code, known_tensors, *tensors.target);
    std::string text;
    for (catalog_entry const& entry : inference.tensors)
        text += entry.key + ' ' + std::string(reshard::name(entry.dtype)) + ' ' +
                to_string(entry.shape) + '\n';
    return text + said(expanded.code, inference.findings);
}

std::string run(std::string const& stage, std::string const& text, std::string const& file) {
    try {
        program const written = test::parsed(text, file);
        if (stage == "parse")
            return print(written);
        tensors const tensors = tensors_of(text);
        catalog const* const target = tensors.target ? &*tensors.target : nullptr;
        if (stage == "infer")
            return inferred(written, tensors);
        if (stage == "check") {
            program_report const report =
                check(written, tensors.source, target, {tensors.options, tensors.lowering});
            return said(report.code, report.findings) +
                   (tensors.has_report ? report_text(report) : "");
        }
        expansion const expanded = expand(written, tensors.source, target, tensors.options);
        if (stage == "reverse") {
            reversal const back =
                reverse_all(expanded.code, tensors.source, target, tensors.reversing);
            return (back.first_error ? "" : print(back.code)) +
                   said(expanded.code, expanded.findings) + said(back.code, back.findings);
        }
        if (stage == "expand")
            return print(expanded.code) + said(expanded.code, expanded.findings);
        lowering const lowered = lower_all(expanded.code, tensors.source, target, tensors.lowering);
        return (lowered.first_error ? "" : mapping_text(lowered.map)) +
               said(expanded.code, lowered.findings);
    } catch (error const& problem) {
        return std::string(problem.what()) + '\n';
    }
}

std::vector<fs::path> goldens(std::string const& stage) {
    std::vector<fs::path> paths;
    for (fs::directory_entry const& each_file : fs::directory_iterator(here / stage))
        if (each_file.path().extension() == ".aoa")
            paths.push_back(each_file.path());
    std::ranges::sort(paths);
    return paths;
}

bool is_error(std::string const& expected) {
    bool error = false;
    std::istringstream lines(expected);
    for (std::string line; std::getline(lines, line);)
        for (errc code = errc::syntax; code <= errc::io; code = errc(int(code) + 1)) {
            std::string words(reshard::name(code));
            std::ranges::replace(words, '_', ' ');
            error = error || line.find(": " + words + ": ") != std::string::npos;
        }
    return error;
}

void check_goldens(std::string const& stage) {
    std::size_t errors = 0;
    auto const elements = goldens(stage);
    for (fs::path const& program_file : elements) {
        fs::path expect = program_file;
        expect.replace_extension(".expect");
        std::string const expected = content(expect);
        std::string const match =
            run(stage, content(program_file), program_file.filename().string());
        BOOST_TEST(match == expected, stage << '/' << program_file.filename() << ": expected\n"
                                            << expected << "found\n"
                                            << match);
        errors += is_error(expected);
    }
    BOOST_TEST(elements.size() > 0u);
    BOOST_TEST(2 * errors >= elements.size(),
               stage << ": " << errors << " errors in " << elements.size());
}

} // namespace

BOOST_AUTO_TEST_CASE(parse_says_what_is_expected) { check_goldens("parse"); }
BOOST_AUTO_TEST_CASE(expand_says_what_is_expected) { check_goldens("expand"); }
BOOST_AUTO_TEST_CASE(lower_says_what_is_expected) { check_goldens("lower"); }
BOOST_AUTO_TEST_CASE(all_that_there_is_to_say_of_a_program_is_said) { check_goldens("check"); }
BOOST_AUTO_TEST_CASE(reverse_says_what_is_expected) { check_goldens("reverse"); }

BOOST_AUTO_TEST_CASE(infer_says_what_is_expected) { check_goldens("infer"); }

BOOST_AUTO_TEST_CASE(no_message_shows_a_type_of_the_parser) {
    for (char const* stage : stages)
        for (fs::path const& program_file : goldens(stage)) {
            fs::path expect = program_file;
            expect.replace_extension(".expect");
            BOOST_TEST(content(expect).find("N5boost") == std::string::npos, expect);
        }
}

BOOST_AUTO_TEST_CASE(a_printed_program_parses_to_itself) {
    for (char const* stage : stages)
        for (fs::path const& program_file : goldens(stage)) {
            try {
                std::string const text = content(program_file);
                program const written = test::parsed(text);
                BOOST_TEST((test::parsed(print(written)) == written), program_file);
                tensors const tensors = tensors_of(text);
                catalog const* const target = tensors.target ? &*tensors.target : nullptr;
                program const code = expand(written, tensors.source, target, tensors.options).code;
                BOOST_TEST(test::same_up_to_temporaries(code, test::parsed(print(code))),
                           program_file);
                program const back = reverse(code, tensors.source, target, tensors.reversing);
                BOOST_TEST(test::same_up_to_temporaries(back, test::parsed(print(back))),
                           program_file);
            } catch (error const&) {
                continue; // what it says is another golden's matter
            }
        }
}

namespace {

/// The tensors of a catalog, as a typed layout has them.
struct typed_side {
    struct key_list {
        std::vector<std::string> texts;

        std::size_t size() const { return texts.size(); }
        hashed_key operator[](std::size_t i) const { return hashed_key(texts[i]); }
        std::size_t find(hashed_key const& key) const {
            return static_cast<std::size_t>(std::ranges::find(texts, key.text) - texts.begin());
        }
    };

    key_list keys;
    std::vector<catalog_entry const*> kinds;

    explicit typed_side(catalog const& tensors) {
        for (catalog_entry const& entry : tensors) {
            keys.texts.push_back(entry.key);
            kinds.push_back(&entry);
        }
    }
};

/// What a node is in the algebra, given what the nodes before it are.
expression value_of(aoa::detail::node_maker const& nodes, std::size_t number,
                    std::vector<expression> const& values) {
    using enum aoa::detail::typed_node::operation;
    aoa::detail::typed_node const& node = nodes.nodes()[number];
    std::vector<expression> operands;
    for (std::size_t k = 0; node.type != source && k < node.count; ++k)
        operands.push_back(values[nodes.operands()[node.first + k]]);
    std::vector<axis_range> ranges;
    for (std::size_t axis = 0; node.type == slice && axis < node.shape.size(); ++axis)
        ranges.push_back({node.numbers[axis], node.numbers[axis] + node.shape[axis]});
    switch (node.type) {
    case source: return source_tensor(node.first, node.shape, node.dtype);
    case concat: return reshard::concat(operands, node.axis);
    case slice: return reshard::slice(operands[0], ranges);
    case permute: return reshard::permute(operands[0], node.numbers);
    case reshape: return reshard::reshape(operands[0], node.shape);
    default: return reshard::cast(operands[0], node.dtype);
    }
}

/// Where and of what code the first error of a program is at run time; without one its mapping.
struct outcome {
    std::string error;
    std::optional<mapping> map;
};

outcome outcome_at_run_time(std::string const& text, tensors const& tensors) {
    auto const first_line = [](std::string const& said) { return said.substr(0, said.find('\n')); };
    try {
        expansion const expanded =
            expand(test::parsed(text), tensors.source, &*tensors.target, tensors.options);
        lowering lowered = lower_all(expanded.code, tensors.source, &*tensors.target);
        if (finding const* const error = first_error_of(lowered.findings))
            return {first_line(describe(expanded.code, *error)), {}};
        return {{}, std::move(lowered.map)};
    } catch (error const& problem) {
        return {first_line(problem.what()), {}};
    }
}

/// Programs whose errors the compiler does not have, or says elsewhere: of state; of the algebra
/// itself; of a program with several errors, whose attributes are checked before it runs.
bool is_beyond_the_compiler(std::string const& name, std::string const& text) {
    std::set<std::string> const others = {"only_state", "reshape_into_too_many_factors",
                                          "too_many_casts", "statements_of_no_form", "state"};
    bool const is_json_or_marked = text[0] == '{' || text[0] == '[' || text[0] == '\xef';
    return is_json_or_marked || name.starts_with("state_") || others.contains(name);
}

/// The programs of a stage that the compiler takes, or refuses as the run time does.
std::size_t compare_with_compiler(std::string const& stage) {
    std::size_t compared = 0;
    for (fs::path const& program_file : goldens(stage)) {
        std::string const text = content(program_file);
        tensors tensors = tensors_of(text);
        if (is_beyond_the_compiler(program_file.stem().string(), text))
            continue;
        if (!tensors.target)
            tensors.target.emplace(std::vector<catalog_entry>{});
        aoa::detail::text_reader const reader(text);
        aoa::detail::program_runner<typed_side, typed_side> const runner(
            reader.content(), typed_side(tensors.source), typed_side(*tensors.target));
        aoa::detail::program_fault const fault = runner.nodes().fault();
        if (fault.reason == aoa::detail::refusal::run_time)
            continue;
        outcome const wanted = outcome_at_run_time(text, tensors);
        place const at = place_of(text, fault.offset);
        std::string words(reshard::name(code_of(fault.reason)));
        std::ranges::replace(words, '_', ' ');
        std::string const begin = "program:" + std::to_string(at.line) + ':' +
                                  std::to_string(at.column) + ": " + words + ": ";
        if (fault.reason != aoa::detail::refusal::none) {
            BOOST_TEST(wanted.error.starts_with(begin), stage << '/' << program_file.filename()
                                                              << ": " << begin << " for "
                                                              << wanted.error);
            ++compared;
            continue;
        }
        std::vector<expression> values;
        while (values.size() < runner.nodes().nodes().size())
            values.push_back(value_of(runner.nodes(), values.size(), values));
        for (catalog_entry const& entry : *tensors.target) {
            auto const bound = runner.binding(hashed_key(entry.key));
            mapping_output const* const output = wanted.map ? wanted.map->find(entry.key) : nullptr;
            if (bound.is_made() || bound.node == aoa::detail::typed_binding::added)
                BOOST_TEST((output && (bound.is_made() ? output->value == values[bound.node]
                                                       : output->added)),
                           stage << '/' << program_file.filename() << ": " << entry.key << ' '
                                 << wanted.error);
        }
        compared += tensors.target->size() > 0;
    }
    return compared;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_compiler_reads_programs_as_the_run_time_does) {
    BOOST_TEST(compare_with_compiler("parse") > 30u);
    BOOST_TEST(compare_with_compiler("lower") > 50u);
    BOOST_TEST(compare_with_compiler("check") > 10u);
    BOOST_TEST(compare_with_compiler("reverse") > 10u);
}

BOOST_AUTO_TEST_SUITE_END()
