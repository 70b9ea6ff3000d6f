// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/storage/convert.hpp>

#include "shared_directory.hpp"
#include "support/described_checkpoint.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(storage_other_formats)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Leaves the share of one of several ranks, which may be uneven or empty.
void cut_last_axis(box& region, index_t rank, index_t ranks) {
    std::size_t const axis = region.ndim() - 1;
    index_t const extent = region.shape[axis];
    region.offset[axis] = extent * rank / ranks;
    region.shape[axis] = extent * (rank + 1) / ranks - region.offset[axis];
}

/// What this rank wants of a checkpoint: its share of the last axis of each tensor, under new names.
class wanted_columns {
public:
    explicit wanted_columns(described_tensors const& tensors) {
        for (auto const& [key, tensor] : tensors) {
            data_type const dtype = *data_type_from_code(tensor.dtype);
            shard_descriptor shard = replicated("new." + key, dtype, tensor.shape);
            if (!tensor.shape.empty())
                cut_last_axis(shard.region, world().rank(), world().size());
            index_vector const shape = local_shape(shard);
            memory_.emplace_back(static_cast<std::size_t>(byte_count(element_count(shape), dtype)),
                                 '\xEE');
            shards_.add(shard, tensor_view{reinterpret_cast<std::byte*>(memory_.back().data()),
                                           dtype, shape, row_major_strides(shape)});
            descriptors_.push_back(shard);
        }
    }

    state_dict& shards() { return shards_; }

    /// How many of the shards differ from their descriptions.
    int wrong(described_tensors const& tensors) const {
        int count = 0;
        for (std::size_t i = 0; i < descriptors_.size(); ++i) {
            described_tensor const& whole_tensor = tensors.at(descriptors_[i].key.substr(4));
            count += hexadecimal(memory_[i]) != expected_bytes(whole_tensor, descriptors_[i]);
        }
        return count;
    }

private:
    /// The elements of a box of a tensor, one by one.
    static std::string expected_bytes(described_tensor const& tensor,
                                      shard_descriptor const& shard) {
        auto const digits = static_cast<std::size_t>(bits(shard.dtype)) / 4;
        std::string text;
        for (index_t i = 0; i < element_count(shard.region); ++i) {
            index_vector index = unravel_index(i, shard.region.shape);
            for (std::size_t axis = 0; axis < index.size(); ++axis)
                index[axis] += shard.region.offset[axis];
            text += tensor.bytes.substr(
                static_cast<std::size_t>(ravel_index(index, tensor.shape)) * digits, digits);
        }
        return text;
    }

    std::deque<std::string> memory_;
    std::vector<shard_descriptor> descriptors_;
    state_dict shards_;
};

/// Each tensor that is wanted is the one in the files whose name lacks `new.`.
any_program under_new_names() {
    return [](catalog const& stored, catalog const* wanted) {
        mapping program(stored);
        for (catalog_entry const& entry : *wanted)
            program.define(entry.key,
                           program.source(entry.key.substr(4), entry.shape, entry.dtype));
        return program;
    };
}

/// A description of the readable tensors; none for refused files.
std::optional<described_tensors> readable(std::filesystem::path const& description) {
    std::string const name = description.string();
    auto const document = parse_json(read_text_file(description), name, errc::corrupt_file);
    json_cursor const expected(document, name, errc::corrupt_file);
    if (expected.find("refused"))
        return std::nullopt;
    return expected_tensors(expected, described_by(description));
}

int sum_of(int own) {
    int sum = 0;
    for (int const element : gather_values(world(), own))
        sum += element;
    return sum;
}

/// Loads all that can be read, and returns how many checkpoints these are.
int load_all(open_options const& options) {
    int loaded = 0;
    for (auto const& description : descriptions())
        if (auto const tensors = readable(description)) {
            checkpoint const opened = open_checkpoint(world(), described_by(description), options);
            bool const is_text =
                description.string().find("protocol2.pdparams") != std::string::npos;
            bool const is_deflated = description.string().find("deflated") != std::string::npos;
            bool const is_decoded = !opened.metadata().quantised.decoded.empty();
            BOOST_TEST_CONTEXT(description)
            BOOST_TEST(opened.is_mapped() == (options.mapped && !is_text && !is_deflated &&
                                              !is_decoded && !opened.metadata().files.empty()));
            wanted_columns want(*tensors);
            load(world(), opened, want.shards(), {.program = under_new_names()});
            BOOST_TEST_CONTEXT(description)
            BOOST_TEST(sum_of(want.wrong(*tensors)) == 0);
            ++loaded;
        }
    return loaded;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_other_libraries_wrote_is_loaded_into_another_layout) {
    BOOST_TEST(load_all({}) > 60);
}

BOOST_AUTO_TEST_CASE(what_other_libraries_wrote_is_loaded_from_mapped_files) {
    BOOST_TEST(load_all({.mapped = true}) > 60);
}

BOOST_AUTO_TEST_CASE(what_other_libraries_wrote_is_converted_and_loaded_again) {
    shared_directory const directory;
    int number = 0;
    for (auto const& description : descriptions())
        if (auto const tensors = readable(description); tensors && !tensors->empty()) {
            auto const target = directory.path() / std::to_string(number++);
            checkpoint const opened = open_checkpoint(world(), described_by(description));
            bool const has_unread =
                !opened.metadata().unread.empty() ||
                !std::ranges::all_of(opened.metadata().tensors, &checkpoint_tensor::is_read);
            bool const has_complex128 =
                std::ranges::any_of(opened.metadata().tensors, [](auto const& tensor) {
                    return tensor.dtype == data_type::c128;
                });
            if (has_unread || has_complex128) {
                BOOST_CHECK_THROW(convert(world(), opened, target), error);
                if (has_unread)
                    continue;
            }
            convert(world(), opened, target,
                    {.writing = {.format = has_complex128 ? "torch_dcp" : ""}, .objects = false});
            wanted_columns want(*tensors);
            load(world(), open_checkpoint(world(), target), want.shards(),
                 {.program = under_new_names()});
            BOOST_TEST_CONTEXT(description)
            BOOST_TEST(sum_of(want.wrong(*tensors)) == 0);
        }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_cannot_be_read_refuses_only_what_wants_it) {
    std::filesystem::path const formats = std::filesystem::path(RESHARD_TEST_DATA) / "formats";
    std::string elements(3 * 256 * sizeof(float), ' ');
    auto const wanted = [&](std::string const& key, data_type dtype, index_vector const& shape) {
        state_dict want;
        want.add(replicated(key, dtype, shape),
                 tensor_view{reinterpret_cast<std::byte*>(elements.data()), dtype, shape,
                             row_major_strides(shape)});
        return want;
    };
    checkpoint const model = open_checkpoint(world(), formats / "gguf/quantized.gguf");
    load(world(), model, wanted("norm.weight", data_type::f32, {3}));
    BOOST_TEST(elements.substr(4, 4) == std::string("\0\0\x80\x3f", 4));
    BOOST_CHECK_EXCEPTION(
        load(world(), model, wanted("TQ1_0.weight", data_type::f32, {3, 256})), error,
        [](error const& problem) {
            return problem.code() == errc::unsupported &&
                   std::string_view(problem.what())
                           .find(
                               "'TQ1_0.weight' cannot be read: it has the quantised type TQ1_0") !=
                       std::string_view::npos;
        });
}

BOOST_AUTO_TEST_CASE(what_is_not_selected_is_not_there) {
    std::filesystem::path const path =
        std::filesystem::path(RESHARD_TEST_DATA) / "formats/torch/torch-2.15/views.pt";
    checkpoint const opened = open_checkpoint(
        world(), path, {.format = {.only = {"tied.**", "base"}, .without = {"tied.0"}}});
    std::vector<std::string> keys;
    for (checkpoint_tensor const& tensor : opened.metadata().tensors)
        keys.push_back(tensor.key);
    BOOST_TEST(keys == (std::vector<std::string>{"base", "tied.1.again"}),
               boost::test_tools::per_element());
    BOOST_TEST(opened.metadata().aliases.empty()); // of the name that is left
    std::string elements(24 * sizeof(float), '\xEE');
    state_dict want;
    want.add(replicated("tied.1.again", data_type::f32, {10}),
             tensor_view{reinterpret_cast<std::byte*>(elements.data()), data_type::f32, {10}, {1}});
    load(world(), opened, want);
    // As the whole of the description: no element is left as it was.
    BOOST_TEST(elements.substr(0, 40).find("\xEE\xEE\xEE\xEE") == elements.npos);
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), path, {.format = {.without = {"tide.**"}}}),
                          error, [](error const& problem) {
                              return problem.code() == errc::unknown_key &&
                                     std::string_view(problem.what()).find("'tide.**'") !=
                                         std::string_view::npos;
                          });
}

BOOST_AUTO_TEST_SUITE_END()
