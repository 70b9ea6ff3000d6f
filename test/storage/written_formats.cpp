// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>

#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

/// \file
/// Checkpoints in the formats of others are read again, for any cuts of both sides.
/// test/format/others_read.py checks that others read them too.

BOOST_AUTO_TEST_SUITE(storage_written_formats)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// The data types that torch, Paddle, NumPy and GGUF have, as their documentation lists them.
bool has_dtype(std::string const& format, data_type dtype) {
    using enum data_type;
    std::vector<data_type> const none_has{f4, f6_e2m3, f6_e3m2};
    std::vector<data_type> const paddle_lacks{u16, u32, u64, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz};
    std::vector<data_type> const numpy_lacks{bf16,    f8_e5m2,     f8_e4m3,
                                             f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz};
    std::vector<data_type> const gguf_has{f32, f16, bf16, f64, i8, i16, i32, i64};
    auto const is_in = [&](auto const& list) { return std::ranges::count(list, dtype) > 0; };
    return !is_in(none_has) && !(format == "paddle_flex" && is_in(paddle_lacks)) &&
           !(format.starts_with("np") && is_in(numpy_lacks)) &&
           (format != "gguf" || is_in(gguf_has));
}

/// Random tensors that the format has; those that it lacks are float32.
std::vector<shard_descriptor> tensors_for(std::string const& format, unsigned seed) {
    auto tensors = random_tensors(seed);
    for (shard_descriptor& shard : tensors)
        if (!has_dtype(format, shard.dtype))
            shard.dtype = data_type::f32;
    if (format == "paddle_flex")
        erase_if(tensors, [](auto const& element) { return element_count(element.region) == 0; });
    if (format == "gguf")
        erase_if(tensors, [](auto const& element) { return element.region.ndim() > 4; });
    return tensors;
}

/// What this rank holds of tensors in a random layout, in which flat ranges are whole boxes.
std::vector<shard_descriptor> my_boxes(std::vector<shard_descriptor> const& tensors,
                                       unsigned seed) {
    auto const elements = random_layout(tensors, world().size(), seed);
    std::vector<shard_descriptor> boxes;
    for (shard_descriptor shard : elements[static_cast<std::size_t>(world().rank())]) {
        shard.flat.reset();
        if (std::ranges::find(boxes, shard) == boxes.end())
            boxes.push_back(shard);
    }
    return boxes;
}

std::vector<shard_descriptor> mine(std::vector<shard_descriptor> const& tensors, unsigned seed) {
    return random_layout(tensors, world().size(), seed)[static_cast<std::size_t>(world().rank())];
}

save_options in_format(std::string const& format) { return {.writing = {.format = format}}; }

save_options as_file(std::string const& format) {
    return {.form = save_form::huggingface, .writing = {.format = format}};
}

} // namespace

BOOST_AUTO_TEST_CASE(random_layouts_are_loaded_into_other_random_layouts) {
    shared_directory const directory;
    for (std::string const format : {"torch_dcp", "megatron_torch_dist", "paddle_flex"})
        for (unsigned seed = 1; seed <= test::trials(25, 4); ++seed)
            BOOST_TEST_CONTEXT(format << ", seed " << seed) {
                auto const tensors = tensors_for(format, seed);
                auto const path = directory / (format + std::to_string(seed));
                bool const has_flat = format == "paddle_flex";
                held source(has_flat ? mine(tensors, seed + 1000) : my_boxes(tensors, seed + 1000));
                held target(mine(tensors, seed + 2000));
                save(world(), source.tensors(), path, in_format(format));
                auto const saved = open_checkpoint(world(), path);
                BOOST_TEST(saved.metadata().format == format);
                BOOST_TEST(saved.metadata().tensors.size() == tensors.size());
                load(world(), saved, target.cleared().tensors());
                BOOST_TEST(target.wrong() == "");
            }
}

BOOST_AUTO_TEST_CASE(random_layouts_become_one_file) {
    shared_directory const directory;
    std::map<std::string, std::string> const endings{
        {"gguf", ".gguf"}, {"npz", ".npz"}, {"torch_save", ".pt"}, {"safetensors", ".safetensors"}};
    for (auto const& [format, ending] : endings)
        for (unsigned seed = 101; seed <= 100 + test::trials(15, 3); ++seed)
            BOOST_TEST_CONTEXT(format << ", seed " << seed) {
                auto const tensors = tensors_for(format, seed);
                auto const path = directory / (std::to_string(seed) + ending);
                held source(mine(tensors, seed + 1000));
                held target(mine(tensors, seed + 2000));
                save(world(), source.tensors(), path, as_file(format));
                auto const saved = open_checkpoint(world(), path);
                BOOST_TEST(saved.metadata().format == format);
                load(world(), saved, target.cleared().tensors());
                BOOST_TEST(target.wrong() == "");
            }
}

BOOST_AUTO_TEST_CASE(one_array_is_a_file_of_its_own) {
    shared_directory const directory;
    shard_descriptor const whole_tensor = replicated("array", data_type::i16, {3, 5});
    held source({whole_tensor});
    save(world(), source.tensors(), directory / "array.npy", as_file("npy"));
    // The header by hand: 118 bytes of text, so that the elements begin at byte 128.
    std::string text = "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 5), }";
    text.resize(117, ' ');
    BOOST_TEST(read_text_file(directory / "array.npy").substr(0, 128) ==
               std::string("\x93NUMPY\1\0\x76\0", 10) + text + "\n");
    held target({whole_tensor});
    load(world(), open_checkpoint(world(), directory / "array.npy"), target.cleared().tensors());
    BOOST_TEST(target.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_conversion_reads_and_writes_every_format) {
    shared_directory const directory;
    std::vector<shard_descriptor> const tensors{
        replicated("b.layer", data_type::f32, {5, 3}), replicated("a", data_type::f16, {7}),
        replicated("step", data_type::i64, {}), replicated("flags", data_type::boolean, {2, 2, 3})};
    held source(mine(tensors, 1007));
    save(world(), source.tensors(), directory / "0");
    std::filesystem::path last = directory / "0";
    for (std::string const name :
         {"a torch_dcp", "b.npz npz", "c paddle_flex", "d.pt torch_save", "e megatron_torch_dist",
          "f.safetensors safetensors", "g huggingface"}) {
        auto const space = name.find(' ');
        auto const next = directory / name.substr(0, space);
        std::string const format = name.substr(space + 1);
        convert(world(), open_checkpoint(world(), last), next, {.writing = {.format = format}});
        BOOST_TEST(open_checkpoint(world(), next).metadata().format == format);
        last = next;
    }
    held target(mine(tensors, 2007));
    load(world(), open_checkpoint(world(), last), target.cleared().tensors());
    BOOST_TEST(target.wrong() == "");
}

BOOST_AUTO_TEST_CASE(equal_tensors_are_written_as_equal_files_by_any_number_of_ranks) {
    shared_directory const directory;
    held source({replicated("w", data_type::f32, {2, 3})});
    for (std::string const name : {"one", "two"})
        save(world(), source.tensors(), directory / name, in_format("torch_dcp"));
    for (std::string const file : {".metadata", "__0_0.distcp"})
        BOOST_TEST(
            (read_text_file(directory / "one" / file) == read_text_file(directory / "two" / file)));
}

BOOST_AUTO_TEST_CASE(values_that_are_no_tensors_are_carried) {
    shared_directory const directory;
    std::filesystem::path const formats = std::filesystem::path(RESHARD_TEST_DATA) / "formats";
    checkpoint const dcp = open_checkpoint(world(), formats / "dcp/torch-2.15/objects");
    BOOST_CHECK_EXCEPTION(convert(world(), dcp, directory / "no"), error,
                          mentions(errc::unsupported,
                                   "'lr' and 8 more are not tensors, and safetensors "
                                   "has no place for them"));
    auto const report =
        convert(world(), dcp, directory / "dcp", {.writing = {.format = "torch_dcp"}});
    BOOST_TEST(report.objects == 9);
    auto const before = dcp.read_objects();
    auto const after = open_checkpoint(world(), directory / "dcp").read_objects();
    BOOST_TEST(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i)
        BOOST_TEST((before[i].key == after[i].key && before[i].archive == after[i].archive));
    BOOST_TEST(convert(world(), dcp, directory / "without", {.objects = false}).objects == 0);
}

BOOST_AUTO_TEST_CASE(values_of_a_gguf_header_are_carried_to_gguf_files_alone) {
    shared_directory const directory;
    std::filesystem::path const formats = std::filesystem::path(RESHARD_TEST_DATA) / "formats";
    checkpoint const source = open_checkpoint(world(), formats / "gguf/metadata.gguf");
    convert_options options{.writing = {.format = "gguf"}};
    BOOST_TEST(convert(world(), source, directory / "same.gguf", options).objects == 19);
    BOOST_TEST((read_text_file(directory / "same.gguf") ==
                read_text_file(formats / "gguf/metadata.gguf")));
    options.header_like = formats / "gguf/alignment_64.gguf";
    auto const report = convert(world(), source, directory / "like.gguf", options);
    BOOST_TEST(report.objects == 0);
    BOOST_TEST(open_checkpoint(world(), directory / "like.gguf").read_objects().size() == 2u);
    options.writing.format = "torch_save";
    options.objects = false;
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "no.pt", options), error,
                          mentions(errc::usage, "are only for a GGUF file"));
}

BOOST_AUTO_TEST_CASE(what_a_format_has_no_place_for_is_refused) {
    shared_directory const directory;
    auto const refused = [&](std::vector<shard_descriptor> shards, save_options const& options,
                             errc code, std::string const& text) {
        held source(std::move(shards));
        BOOST_CHECK_EXCEPTION(save(world(), source.tensors(), directory / "no", options), error,
                              mentions(code, text));
        BOOST_TEST(!std::filesystem::exists(directory / "no"));
    };
    shard_descriptor flat = replicated("w", data_type::f32, {2, 3});
    flat.flat = flat_range{0, 6};
    refused({flat}, in_format("torch_dcp"), errc::unsupported,
            "'w': the layout has elements 0:6 of a flattened shard");
    refused({replicated("x", data_type::f4, {2, 2})}, in_format("torch_dcp"), errc::unsupported,
            "'x': torch has no data type");
    refused({replicated("x", data_type::u16, {2})}, in_format("paddle_flex"), errc::unsupported,
            "'x': Paddle has no data type");
    refused({replicated("x", data_type::f32, {0, 2})}, in_format("paddle_flex"), errc::unsupported,
            "'x': Paddle cannot load tensors without elements");
    refused({replicated("x", data_type::bf16, {2})}, as_file("npz"), errc::unsupported,
            "'x': NumPy has no data type");
    refused({replicated("x", data_type::f32, {2}), replicated("y", data_type::f32, {2})},
            as_file("npy"), errc::unsupported, "a .npy file holds one tensor, but 2");
    refused({replicated("x", data_type::u8, {2})}, as_file("gguf"), errc::unsupported,
            "'x': GGUF has no data type for elements of uint8");
    refused({flat}, in_format("dcp"), errc::usage, "cannot write format 'dcp'");
    refused({flat}, as_file("npz"), errc::usage, "does not end with .npz");
    refused({flat}, in_format("npz"), errc::usage, "one file holds whole tensors");
    refused({flat}, in_format("huggingface"), errc::usage, "huggingface stores whole tensors");
    save_options options = in_format("torch_dcp");
    options.writing.numbers = {{"loss", 1.0}};
    refused({replicated("w", data_type::f32, {2})}, options, errc::unsupported,
            "torch_dcp has no place for the number 'loss'");
    async_saver saver;
    held source({replicated("w", data_type::f32, {2})});
    BOOST_CHECK_EXCEPTION(
        save_async(world(), source.tensors(), directory / "no", saver, in_format("torch_dcp")),
        error, mentions(errc::usage, "a background save writes only safetensors"));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_others_is_replaced_as_ours_are) {
    shared_directory const directory;
    held source({replicated("w", data_type::f32, {2, 3})});
    save(world(), source.tensors(), directory / "saved", in_format("megatron_torch_dist"));
    save_options options = in_format("torch_dcp");
    BOOST_CHECK_EXCEPTION(save(world(), source.tensors(), directory / "saved", options), error,
                          mentions(errc::already_exists, "saved"));
    options.writing.replace = true;
    save(world(), source.tensors(), directory / "saved", options);
    BOOST_TEST(open_checkpoint(world(), directory / "saved").metadata().format == "torch_dcp");
    BOOST_TEST(!std::filesystem::exists(directory / "saved" / "metadata.json"));
}

BOOST_AUTO_TEST_SUITE_END()
