// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/model/tied_weights.hpp>
#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

/// \file
/// Tied weights: a tensor of two names, written once and found by both.

BOOST_AUTO_TEST_SUITE(storage_tied)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

index_t const rows = 5, columns = 3;
std::map<std::string, std::string> const tied{{"lm_head", "embed"}};

/// The rows of a rank, or its columns; element (i, j) is 3 i + j.
struct part {
    std::vector<float> elements;
    shard_descriptor shard;

    part(std::string key, std::size_t axis) {
        index_t const extent = axis == 0 ? rows : columns, size = world().size();
        index_t const first = extent * world().rank() / size;
        index_t const count = extent * (world().rank() + 1) / size - first;
        box region{{0, 0}, {rows, columns}};
        region.offset[axis] = first;
        region.shape[axis] = count;
        shard = {std::move(key), data_type::f32, {rows, columns}, region};
        for (index_t i = 0; i < region.shape[0]; ++i)
            for (index_t j = 0; j < region.shape[1]; ++j)
                elements.push_back(
                    static_cast<float>((region.offset[0] + i) * columns + region.offset[1] + j));
    }

    tensor_view view() {
        index_vector const& shape = shard.region.shape;
        return {elements.data(), data_type::f32, shape, row_major_strides(shape)};
    }
};

/// The embedding in rows and the head in columns, each in separate memory.
struct tied_model {
    part embed{"embed", 0};
    part head{"lm_head", 1};

    state_dict tensors() {
        state_dict tensors;
        tensors.add(embed.shard, embed.view());
        tensors.add(head.shard, head.view());
        return tensors;
    }
};

/// Both names in the same memory.
state_dict in_one_memory(part& embed) {
    state_dict tensors;
    tensors.add(embed.shard, embed.view());
    shard_descriptor head = embed.shard;
    head.key = "lm_head";
    tensors.add(head, embed.view());
    return tensors;
}

/// The checkpoint has the tensor once, and both names load it.
void check_tied(std::filesystem::path const& path) {
    auto const saved = open_checkpoint(world(), path);
    BOOST_TEST((saved.metadata().aliases == tied));
    BOOST_TEST_REQUIRE(saved.metadata().tensors.size() == 2u);
    BOOST_TEST((saved.metadata().tensors[0].shards == saved.metadata().tensors[1].shards));
    BOOST_TEST(verify(world(), saved).bytes == rows * columns * 4);
    tied_model target;
    std::vector<float> const embed = target.embed.elements, head = target.head.elements;
    target.embed.elements.assign(embed.size(), -1);
    target.head.elements.assign(head.size(), -1);
    load(world(), saved, target.tensors(), {.strict = strictness::raise_all});
    BOOST_TEST(target.embed.elements == embed, boost::test_tools::per_element());
    BOOST_TEST(target.head.elements == head, boost::test_tools::per_element());
}

holder_t const target_ranks = 3;

/// A random program that makes several names of tensors, and a layout of its results.
struct fan_out {
    std::vector<shard_descriptor> sources;
    std::map<std::string, shard_descriptor> copies; ///< the tensor that each is a copy of, all of
                                                    ///< it
    std::string text;
    rank_shards held;

    explicit fan_out(unsigned seed) {
        dice some(seed);
        for (char const* const key : {"a", "b", "c"}) {
            index_vector const shape{1 + some.below(6), 1 + some.below(6)};
            sources.push_back(replicated(key, data_type::f32, shape));
        }
        std::vector<shard_descriptor> descriptors;
        for (index_t i = 0; i < 7; ++i) {
            shard_descriptor const& of = sources[static_cast<std::size_t>(some.below(3))];
            shard_descriptor copy = of;
            copy.key = "copy." + std::to_string(i);
            copies.emplace(copy.key, of);
            text += of.key + " -> " + copy.key + "\n";
            descriptors.push_back(copy);
        }
        for (auto const& shards : random_layout(descriptors, target_ranks, seed + 1000)) {
            held.emplace_back();
            for (shard_descriptor shard : shards) {
                shard.flat.reset(); // not all formats have such
                if (std::ranges::find(held.back(), shard) == held.back().end())
                    held.back().push_back(shard);
            }
        }
    }

    layout wanted() const { return reshard::layout_of(held); }

    /// The first copy that a checkpoint does not have whole and right; empty if there is none.
    std::string wrong(checkpoint const& saved) const {
        for (auto const& [key, of] : copies) {
            std::vector<std::byte> const expected = content_of(of);
            std::vector<std::byte> bytes(expected.size(), std::byte{0xEE});
            state_dict target;
            target.add(replicated(key, of.dtype, of.global_shape),
                       tensor_view{bytes.data(), of.dtype, of.global_shape,
                                   row_major_strides(of.global_shape)});
            if (saved.metadata().aliases.contains(key))
                return key + " is a name only";
            load(world(), saved, target);
            if (bytes != expected)
                return key;
        }
        return {};
    }

    /// The first shard that is in no file of its rank, as text; empty if there is none.
    std::string missing(checkpoint const& saved) const {
        for (std::size_t rank = 0; rank < held.size(); ++rank)
            for (shard_descriptor const& shard : held[rank])
                if (element_count(shard.region) > 0 && !is_in_file(saved, shard, rank))
                    return "rank " + std::to_string(rank) + ": " + to_string(shard);
        return {};
    }

private:
    static bool is_in_file(checkpoint const& saved, shard_descriptor const& shard,
                           std::size_t rank) {
        std::string const begin = "rank-0000" + std::to_string(rank); // of one file, or of several
        for (checkpoint_tensor const& tensor : saved.metadata().tensors)
            for (checkpoint_shard const& stored : tensor.shards)
                if (tensor.key == shard.key && stored.region == shard.region &&
                    saved.metadata().files[stored.file].path.filename().string().starts_with(begin))
                    return true;
        return false;
    }
};

/// Forms of a checkpoint, and whether each has a layout.
std::vector<std::pair<write_options, bool>> all_forms() {
    std::vector<std::pair<write_options, bool>> forms{{{}, true},
                                                      {{.replicas = true}, true},
                                                      {{.per_rank = true}, true},
                                                      {{}, false},
                                                      {{.single_file = true}, false}};
    for (char const* const format : {"torch_dcp", "megatron_torch_dist", "paddle_flex"})
        forms.push_back({{.format = format}, true});
    for (char const* const format :
         {"sharded_safetensors", "torch_save", "npz", "unified_checkpoint"})
        forms.push_back({{.format = format}, false});
    return forms;
}

/// The name of a target of that form.
std::string target_name(write_options const& writing, std::size_t number) {
    return std::to_string(number) + (writing.single_file              ? ".safetensors"
                                     : writing.format == "torch_save" ? ".pt"
                                     : writing.format == "npz"        ? ".npz"
                                                                      : "");
}

} // namespace

BOOST_AUTO_TEST_CASE(each_name_that_a_program_makes_is_a_tensor_in_every_form) {
    shared_directory const directory;
    auto const forms = all_forms();
    for (unsigned seed = 1; seed <= test::trials(12, 2); ++seed) {
        fan_out const program(seed);
        held source(program.sources);
        auto const from = directory / ("source" + std::to_string(seed));
        save(world(), source.tensors(), from);
        for (std::size_t i = 0; i < forms.size(); ++i)
            BOOST_TEST_CONTEXT("seed " << seed << ", form " << i) {
                auto const& [writing, has_layout] = forms[i];
                auto const path =
                    directory / (std::to_string(seed) + "." + target_name(writing, i));
                convert_options options{.program = aoa::parse(program.text), .writing = writing};
                if (has_layout)
                    options.wanted = program.wanted();
                BOOST_TEST(convert(world(), open_checkpoint(world(), from), path, options)
                               .aliases.empty());
                auto const saved = open_checkpoint(world(), path);
                BOOST_TEST(program.wrong(saved) == "");
                if (writing.per_rank)
                    BOOST_TEST(program.missing(saved) == "");
            }
    }
}

BOOST_AUTO_TEST_CASE(copies_are_written_once_if_they_may_be_shared) {
    // `a` has twelve elements of four bytes, and is wanted under three names.
    shared_directory const directory;
    held source({replicated("a", data_type::f32, {4, 3})});
    save(world(), source.tensors(), directory / "saved");
    auto const saved = open_checkpoint(world(), directory / "saved");
    auto const program = aoa::parse("a -> x\na -> y\na -> z");
    convert_report const shared =
        convert(world(), saved, directory / "shared", {.program = program, .share_copies = true});
    BOOST_TEST(shared.bytes == 48);
    BOOST_TEST((shared.aliases == std::map<std::string, std::string>{{"y", "x"}, {"z", "x"}}));
    BOOST_TEST(convert(world(), saved, directory / "apart", {.program = program}).bytes == 144);

    // A file of one rank has all that the rank holds: `y` is on another one than `x`.
    auto const whole_on = [](char const* key) { return replicated(key, data_type::f32, {4, 3}); };
    layout const two = reshard::layout_of({{whole_on("x"), whole_on("z")}, {whole_on("y")}});
    convert_report const by_rank = convert(
        world(), saved, directory / "by_rank",
        {.program = program, .wanted = two, .writing = {.per_rank = true}, .share_copies = true});
    BOOST_TEST((by_rank.aliases == std::map<std::string, std::string>{{"z", "x"}}));
    BOOST_TEST(by_rank.bytes == 96);
}

BOOST_AUTO_TEST_CASE(an_alias_of_the_source_stays_one_only_where_its_key_is_held) {
    shared_directory const directory;
    tied_model source;
    save(world(), source.tensors(), directory / "saved", {.aliases = tied});
    auto const saved = open_checkpoint(world(), directory / "saved");
    auto const whole_on = [](char const* key) {
        return replicated(key, data_type::f32, {rows, columns});
    };
    layout const apart = reshard::layout_of({{whole_on("embed")}, {whole_on("lm_head")}});
    layout const together = reshard::layout_of({{}, {whole_on("embed"), whole_on("lm_head")}});
    convert_report const two = convert(world(), saved, directory / "apart", {.wanted = apart});
    BOOST_TEST(two.aliases.empty());
    BOOST_TEST(two.bytes == 2 * rows * columns * 4);
    convert_report const report = convert(world(), saved, directory / "once", {.wanted = together});
    BOOST_TEST((report.aliases == tied));
    BOOST_TEST(report.bytes == rows * columns * 4);
    check_tied(directory / "once");
}

BOOST_AUTO_TEST_CASE(a_tensor_of_two_names_is_written_once_and_found_by_both) {
    shared_directory const directory;
    tied_model source;
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        auto const path = directory / std::to_string(static_cast<int>(form));
        save_report const report =
            save(world(), source.tensors(), path, {.form = form, .aliases = tied});
        BOOST_TEST(report.bytes == rows * columns * 4);
        check_tied(path);
        BOOST_TEST(read_file(path / "reshard.json").find("\"lm_head\": \"embed\"") !=
                   std::string::npos);
    }
    async_saver saver;
    save_async(world(), source.tensors(), directory / "async", saver, {.aliases = tied}).get();
    check_tied(directory / "async");
}

BOOST_AUTO_TEST_CASE(an_alias_that_no_rank_has_as_a_tensor_is_a_name_all_the_same) {
    shared_directory const directory;
    part embed("embed", 0);
    state_dict only;
    only.add(embed.shard, embed.view());
    save(world(), only, directory / "saved", {.aliases = tied});
    check_tied(directory / "saved");
}

BOOST_AUTO_TEST_CASE(names_that_share_memory_are_saved_and_loaded) {
    shared_directory const directory;
    part embed("embed", 0);
    std::vector<float> const expected = embed.elements;
    save(world(), in_one_memory(embed), directory / "saved", {.aliases = tied});
    check_tied(directory / "saved");
    embed.elements.assign(expected.size(), -1);
    load(world(), open_checkpoint(world(), directory / "saved"), in_one_memory(embed));
    BOOST_TEST(embed.elements == expected, boost::test_tools::per_element());

    // Without the alias they are two tensors, which may differ.
    save(world(), in_one_memory(embed), directory / "untied");
    BOOST_CHECK_EXCEPTION(
        load(world(), open_checkpoint(world(), directory / "untied"), in_one_memory(embed)), error,
        [](error const& problem) { return problem.code() == errc::memory_overlap; });
}

BOOST_AUTO_TEST_CASE(tied_tensors_that_differ_are_not_saved) {
    // Element (3, 2) differs, which one rank has of each; its value is 11.
    shared_directory const directory;
    tied_model source;
    std::ranges::replace(source.head.elements, 11.f, -2.f);
    std::ranges::replace(source.head.elements, 14.f, -3.f);
    BOOST_CHECK_EXCEPTION(
        save(world(), source.tensors(), directory / "saved", {.aliases = tied}), error,
        says(errc::overlap, "'lm_head' is declared as another name of 'embed', but differs from "
                            "it: element [3, 2] is -2 and 11; tie them again, omit the alias, or "
                            "set save_options::compare_aliases = false to save the key's tensor"));
    async_saver saver;
    BOOST_CHECK_THROW(
        save_async(world(), source.tensors(), directory / "saved", saver, {.aliases = tied}),
        error);
    BOOST_TEST(directory.names().empty());

    save(world(), source.tensors(), directory / "saved",
         {.aliases = tied, .compare_aliases = false});
    check_tied(directory / "saved");
}

BOOST_AUTO_TEST_CASE(bits_are_compared_not_values) {
    shared_directory const directory;
    tied_model source;
    std::ranges::replace(source.head.elements, 0.f, -0.f);
    BOOST_CHECK_EXCEPTION(save(world(), source.tensors(), directory / "saved", {.aliases = tied}),
                          error, mentions(errc::overlap, "element [0, 0] is -0 and 0"));
}

BOOST_AUTO_TEST_CASE(a_flat_slice_is_compared_with_rows) {
    // Rank r has 15 / size elements of the head in row-major order, the last one the rest.
    shared_directory const directory;
    part embed("embed", 0);
    index_t const share = rows * columns / world().size(), first = world().rank() * share;
    bool const is_last = world().rank() + 1 == world().size();
    flat_range const flat_range{first, is_last ? rows * columns : first + share};
    std::vector<float> head(static_cast<std::size_t>(flat_range.size()));
    std::iota(head.begin(), head.end(), static_cast<float>(first));
    state_dict tensors;
    tensors.add(embed.shard, embed.view());
    tensors.add(
        shard_descriptor{
            "lm_head", data_type::f32, {rows, columns}, {{0, 0}, {rows, columns}}, flat_range},
        tensor_view{head.data(), data_type::f32, {flat_range.size()}, {1}});
    save(world(), tensors, directory / "saved", {.aliases = tied});
    check_tied(directory / "saved");
    if (is_last)
        head.back() = 99;
    BOOST_CHECK_EXCEPTION(save(world(), tensors, directory / "other", {.aliases = tied}), error,
                          mentions(errc::overlap, "element [4, 2] is 99 and 14"));
}

BOOST_AUTO_TEST_CASE(a_scalar_and_a_tensor_without_elements_are_tied) {
    shared_directory const directory;
    std::vector<float> scalar{7}, other{7};
    state_dict tensors;
    tensors.add(replicated("s", data_type::f32, {}),
                tensor_view{scalar.data(), data_type::f32, {}, {}});
    tensors.add(replicated("t", data_type::f32, {}),
                tensor_view{other.data(), data_type::f32, {}, {}});
    tensors.add(replicated("e", data_type::f32, {0, 2}),
                tensor_view{nullptr, data_type::f32, {0, 2}, {2, 1}});
    std::map<std::string, std::string> const names{{"t", "s"}, {"f", "e"}};
    save(world(), tensors, directory / "saved", {.aliases = names});
    auto const saved = open_checkpoint(world(), directory / "saved");
    BOOST_TEST((saved.metadata().aliases == names));
    other[0] = 8;
    BOOST_CHECK_EXCEPTION(save(world(), tensors, directory / "other", {.aliases = names}), error,
                          mentions(errc::overlap, "element [] is 8 and 7"));
}

BOOST_AUTO_TEST_CASE(what_can_be_no_alias_is_refused) {
    shared_directory const directory;
    tied_model source;
    auto const refuses = [&](std::map<std::string, std::string> const& aliases, errc code,
                             std::string const& text) {
        BOOST_CHECK_EXCEPTION(
            save(world(), source.tensors(), directory / "saved", {.aliases = aliases}), error,
            mentions(code, text));
    };
    refuses({{"lm_head", "embd"}}, errc::unknown_key,
            "'lm_head' is declared as another name of 'embd', which no rank has (did you mean "
            "'embed'?)");
    refuses({{"a", "lm_head"}, {"lm_head", "embed"}}, errc::bad_layout,
            "'a' cannot be another name of 'lm_head': the key is an alias itself");
    refuses({{"embed", "embed"}}, errc::bad_layout, "'embed' cannot be another name of 'embed'");
    refuses({{"format", "embed"}}, errc::bad_layout,
            "this name is empty, or reserved by the metadata of files");
    std::vector<float> one(1);
    state_dict tensors = source.tensors();
    tensors.add(replicated("bias", data_type::f32, {1}),
                tensor_view{one.data(), data_type::f32, {1}, {1}});
    BOOST_CHECK_EXCEPTION(
        save(world(), tensors, directory / "saved", {.aliases = {{"bias", "embed"}}}), error,
        says(errc::shape_mismatch,
             "'bias' is declared as another name of 'embed', but has the shape [1], not [5, 3]"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_wants_is_not_missed) {
    shared_directory const directory;
    tied_model source;
    save(world(), source.tensors(), directory / "saved", {.aliases = tied});
    auto const saved = open_checkpoint(world(), directory / "saved");
    for (part* const element : {&source.embed, &source.head}) {
        std::vector<float> const expected = element->elements;
        element->elements.assign(expected.size(), -1);
        state_dict wanted;
        wanted.add(element->shard, element->view());
        load(world(), saved, wanted, {.strict = strictness::raise_all});
        BOOST_TEST(element->elements == expected, boost::test_tools::per_element());
    }
    // The tensor itself is missed, once, by its key.
    strict_verdict const verdict =
        load(world(), saved, state_dict(), {.strict = strictness::return_all});
    BOOST_TEST(verdict.give_back.missing == std::vector<std::string>{"embed"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_conversion_keeps_the_alias_and_writes_the_bytes_once) {
    shared_directory const directory;
    tied_model source;
    save(world(), source.tensors(), directory / "saved", {.aliases = tied});
    auto const saved = open_checkpoint(world(), directory / "saved");
    convert_report const report =
        convert(world(), saved, directory / "whole", {.share_copies = true});
    BOOST_TEST(report.bytes == rows * columns * 4);
    BOOST_TEST(report.keys == 1);
    check_tied(directory / "whole");
    // Readers of a Hugging Face directory know nothing of names without tensors.
    BOOST_TEST(convert(world(), saved, directory / "apart").keys == 2);
    convert(world(), saved, directory / "sharded", {.wanted = saved.files_layout()});
    check_tied(directory / "sharded");
    meet();
    BOOST_TEST(
        compare(world(), saved, open_checkpoint(world(), directory / "whole"), {.data = true})
            .equal());

    // A layout of the alias alone makes a tensor of it, under that name.
    layout head = saved.files_layout();
    erase_if(head.tensors, [](auto const& tensor) { return tensor.key == "embed"; });
    convert(world(), saved, directory / "head", {.wanted = head});
    auto const alone = open_checkpoint(world(), directory / "head");
    BOOST_TEST(alone.metadata().aliases.empty());
    BOOST_TEST(alone.metadata().tensors.size() == 1u);

    // A program that ties, and one that makes something else of the alias.
    mapping program = identity_mapping(catalog_of(open_checkpoint(world(), directory / "head")));
    reshard::model::tie(program, {{"lm_head", "embed"}});
    convert(world(), alone, directory / "tied", {.program = program});
    auto const again = open_checkpoint(world(), directory / "tied");
    BOOST_TEST(
        (again.metadata().aliases == std::map<std::string, std::string>{{"embed", "lm_head"}}));
    mapping mapping = identity_mapping(catalog_of(saved));
    mapping.define("lm_head", cast(mapping.source("lm_head", {rows, columns}, data_type::f32),
                                   data_type::bf16));
    convert(world(), saved, directory / "other", {.program = mapping});
    auto const two = open_checkpoint(world(), directory / "other");
    BOOST_TEST(two.metadata().aliases.empty());
    BOOST_TEST(two.metadata().tensors.size() == 2u);
}

BOOST_AUTO_TEST_CASE(aliases_of_files_by_others_are_offered_where_they_can_be_nothing_else) {
    // As `save_model` of the safetensors package writes them, with entries that only look similar.
    shared_directory const directory;
    on_first_rank([&] {
        std::string const json =
            R"({"__metadata__":{"format":"pt","lm_head":"embed","author":"nobody","embed":"bias",)"
            R"("loop":"loop","to_alias":"lm_head"},"bias":{"dtype":"U8","shape":[1],)"
            R"("data_offsets":[2,3]},"embed":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
        std::string length;
        for (std::size_t i = 0; i < 8; ++i)
            length += static_cast<char>(json.size() >> 8 * i & 0xFF);
        write_file(directory / "model.safetensors", length + json + "abc");
    });
    auto const saved = open_checkpoint(world(), directory.path());
    BOOST_TEST((saved.metadata().aliases == tied));
    BOOST_TEST((saved.metadata().metadata.contains("author")));
    std::string bytes(2, '-');
    state_dict wanted;
    wanted.add(replicated("lm_head", data_type::u8, {2}), view_of_bytes(bytes));
    load(world(), saved, wanted);
    BOOST_TEST(bytes == "ab");
}

BOOST_AUTO_TEST_CASE(what_a_program_calls_a_copy_is_compared_where_it_is_stored) {
    shared_directory const directory;
    tied_model source;
    save(world(), source.tensors(), directory / "equal", {});
    for (float& element : source.head.elements)
        element += element == 7 ? 0.5F : 0; // of [2, 1]
    save(world(), source.tensors(), directory / "unequal", {});
    mapping program;
    expression const embed = program.source("embed", {rows, columns}, data_type::f32);
    program.source("lm_head", {rows, columns}, data_type::f32);
    program.define("embed", embed);
    program.remove("lm_head");
    program.relate({relation::kind::copy, "embed", "lm_head"});
    part target("embed", 1);
    std::vector<float> const expected = target.elements;
    target.elements.assign(expected.size(), -1);
    state_dict want;
    want.add(target.shard, target.view());
    load(world(), open_checkpoint(world(), directory / "equal"), want, {.program = program});
    BOOST_TEST(target.elements == expected, boost::test_tools::per_element());
    convert(world(), open_checkpoint(world(), directory / "equal"), directory / "converted",
            {.program = program});
    target.elements.assign(expected.size(), -1);
    auto const unequal = open_checkpoint(world(), directory / "unequal");
    std::string const reason =
        "'lm_head' is declared as a copy of 'embed', but differs from it: element [2, 1] is 7.5 "
        "and "
        "7; make them equal, or take 'embed' without comparing (option take_first)";
    BOOST_CHECK_EXCEPTION(load(world(), unequal, want, {.program = program}), error,
                          says(errc::overlap, reason));
    BOOST_TEST(target.elements == std::vector<float>(expected.size(), -1),
               boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(convert(world(), unequal, directory / "refused", {.program = program}),
                          error, says(errc::overlap, reason));
    BOOST_TEST(!std::filesystem::exists(directory / "refused"));
    BOOST_CHECK_EXCEPTION(redistribute(world(), source.tensors(), want, {.program = program}),
                          error, says(errc::overlap, reason));
}

BOOST_AUTO_TEST_SUITE_END()
