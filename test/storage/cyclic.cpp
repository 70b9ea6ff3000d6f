// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// What is dealt out in blocks: each rank's share is one array in one file, with the elements that
/// two lists of indices name. Element `i` of the tensor has the value `i`.

BOOST_AUTO_TEST_SUITE(storage_cyclic)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// A mesh axis, and the blocks of a tensor axis that it deals out; without blocks, copies.
struct dealt_axis {
    index_t ranks;
    std::size_t axis = 0;
    index_t block = 0;
};

struct dealt_case {
    index_vector shape;
    std::vector<dealt_axis> mesh; ///< the slowest first
    std::size_t files;            ///< one a rank with elements; of copies, one
    int version;                  ///< of the record: 1 if no rank has two blocks along an axis
};

dealt_case const cases[] = {
    {{10, 6}, {{2, 0, 1}, {2, 1, 1}}, 4, 2},
    {{10, 6}, {{2, 0, 2}, {2, 1, 2}}, 4, 2},
    {{11, 7}, {{2, 0, 3}, {2, 1, 2}}, 4, 2},   // the last blocks are shorter
    {{10, 6}, {{2, 0, 64}, {2, 1, 64}}, 1, 1}, // one block
    {{150, 140}, {{2, 0, 64}, {2, 1, 64}}, 4, 2},
    {{13}, {{3, 0, 2}}, 3, 2},
    {{9, 4}, {{4, 0, 2}}, 4, 2},            // axis 0 alone
    {{4, 9}, {{4, 1, 1}}, 4, 2},            // axis 1 alone
    {{3, 5, 4}, {{3, 1, 1}}, 3, 2},         // an axis between others
    {{5, 2}, {{7, 0, 1}}, 5, 1},            // two ranks have nothing
    {{9, 3}, {{2, 0, 2}, {7, 1, 1}}, 6, 2}, // eight have nothing
    {{8, 5}, {{2}, {2, 0, 1}}, 2, 2},       // two copies
    {{6, 6}, {{2, 0, 1}, {3, 1, 1}}, 6, 2},
};

std::vector<std::int32_t> counted_to(index_t count) {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::int32_t>(i);
    return numbers;
}

std::string bytes_of(std::vector<std::int32_t> const& numbers) {
    return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(std::int32_t)};
}

/// The elements of a rank, by the rule of ScaLAPACK, index by index.
std::vector<std::int32_t> share_of(dealt_case const& dealt, index_t rank) {
    std::vector<std::vector<index_t>> indices;
    for (index_t const extent : dealt.shape) {
        indices.emplace_back();
        for (index_t i = 0; i < extent; ++i)
            indices.back().push_back(i);
    }
    for (std::size_t i = dealt.mesh.size(); i-- > 0; rank /= dealt.mesh[i].ranks)
        if (dealt_axis const& by = dealt.mesh[i]; by.block > 0)
            erase_if(indices[by.axis],
                     [&](index_t index) { return index / by.block % by.ranks != rank % by.ranks; });
    std::vector<std::int32_t> elements{0};
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        std::vector<std::int32_t> longer;
        for (std::int32_t const begin : elements)
            for (index_t const index : indices[axis])
                longer.push_back(static_cast<std::int32_t>(begin * dealt.shape[axis] + index));
        elements = std::move(longer);
    }
    return elements;
}

layout layout_of_case(dealt_case const& dealt) {
    std::vector<mesh_axis> axes;
    std::vector<placement> how;
    for (dealt_axis const& by : dealt.mesh) {
        axes.push_back({std::string(1, static_cast<char>('a' + axes.size())), by.ranks});
        how.push_back(by.block > 0 ? placement(block_cyclic{by.axis, by.block})
                                   : placement(replicate{}));
    }
    return reshard::layout_of("A", data_type::i32, dealt.shape, mesh(axes), how);
}

std::string shape_text(index_vector const& shape) {
    std::string text;
    for (index_t const extent : shape)
        text += (text.empty() ? "[" : ",") + std::to_string(extent);
    return text + "]";
}

/// Each file has what its rank holds, and nothing else, in one tensor.
void check_files(checkpoint const& dealt_out, dealt_case const& dealt) {
    checkpoint_metadata const& metadata = dealt_out.metadata();
    BOOST_TEST(metadata.files.size() == dealt.files);
    BOOST_TEST(metadata.tensors[0].shards.size() == dealt.files);
    for (checkpoint_shard const& shard : metadata.tensors[0].shards) {
        auto const& path = metadata.files[shard.file].path;
        auto const rank = std::stoll(path.filename().string().substr(6, 5)) - 1;
        BOOST_TEST((read_file(path).substr(shard.begin, shard.end - shard.begin) ==
                    bytes_of(share_of(dealt, rank))),
                   path.string());
    }
}

/// Loaded by all ranks, each of which wants some rows, or blocks of three.
void check_loads(checkpoint const& dealt_out, dealt_case const& dealt) {
    for (bool const deals : {false, true}) {
        placement const how = deals ? placement(block_cyclic{0, 3}) : placement(shard{0});
        auto const share = descriptor_of(
            "A", data_type::i32, distribution(mesh{{"all", world().size()}}, {how}, dealt.shape),
            static_cast<holder_t>(world().rank()));
        std::vector<std::int32_t> memory(
            static_cast<std::size_t>(extent_product(local_shape(*share))), -1);
        state_dict want;
        want.add(*share, tensor_view{memory.data(), data_type::i32, local_shape(*share),
                                     row_major_strides(local_shape(*share))});
        load(world(), dealt_out, std::move(want));
        bool is_right = true;
        for (std::size_t i = 0; i < memory.size(); ++i) {
            index_t element = region_element(*share, static_cast<index_t>(i)), index = 0, step = 1;
            for (std::size_t axis = dealt.shape.size(); axis-- > 0;
                 element /= share->region.shape[axis], step *= dealt.shape[axis])
                index += step * (share->region.offset[axis] + element % share->region.shape[axis]);
            is_right = is_right && memory[i] == index;
        }
        BOOST_TEST(is_right, (deals ? "blocks" : "rows"));
    }
}

void check_case(dealt_case const& dealt) {
    shared_directory const directory;
    std::string const whole = bytes_of(counted_to(extent_product(dealt.shape)));
    on_first_rank([&] {
        write_safetensors(directory / "whole.safetensors",
                          {{"A", "I32", shape_text(dealt.shape), whole}});
    });
    checkpoint const source = open_checkpoint(world(), directory / "whole.safetensors");
    layout const blocks = layout_of_case(dealt);
    convert(world(), source, directory / "dealt", {.wanted = blocks});
    checkpoint const dealt_out = open_checkpoint(world(), directory / "dealt");
    BOOST_TEST(read_file(directory / "dealt" / "reshard.json")
                   .starts_with("{\n  \"reshard\": " + std::to_string(dealt.version) + ","));
    check_files(dealt_out, dealt);
    BOOST_TEST(verify(world(), dealt_out).ok());
    BOOST_TEST(compare(world(), source, dealt_out).equal());
    check_loads(dealt_out, dealt);
    for (dealt_case const& other : cases)
        if (other.shape == dealt.shape) {
            convert(world(), dealt_out, directory / "other",
                    {.wanted = layout_of_case(other), .writing = {.replace = true}});
            checkpoint const dealt_again = open_checkpoint(world(), directory / "other");
            check_files(dealt_again, other);
            BOOST_TEST(compare(world(), dealt_again, dealt_out).equal());
        }
    convert(world(), dealt_out, directory / "back.safetensors", {.writing = {.single_file = true}});
    std::string const back = read_file(directory / "back.safetensors");
    BOOST_TEST((back.substr(back.size() - whole.size()) == whole));
    meet();
}

} // namespace

BOOST_AUTO_TEST_CASE(each_share_is_one_array_and_all_readers_find_its_elements) {
    for (dealt_case const& dealt : cases)
        BOOST_TEST_CONTEXT(to_string(dealt.shape) << ", blocks of " << dealt.mesh.back().block
                                                  << " along axis " << dealt.mesh.back().axis) {
            check_case(dealt);
        }
}

BOOST_AUTO_TEST_CASE(a_save_for_its_own_layout_knows_blocks) {
    shared_directory const directory;
    auto const dealt_by = [](index_t block) {
        return *descriptor_of(
            "rows", data_type::i16,
            distribution(mesh{{"p", world().size()}}, {block_cyclic{0, block}}, {13, 3}),
            static_cast<holder_t>(world().rank()));
    };
    held part({dealt_by(2)}), other({dealt_by(1)});
    save(world(), part.tensors(), directory / "own", {.writing = {.this_layout_only = true}});
    checkpoint const own = open_checkpoint(world(), directory / "own");
    BOOST_TEST(own.metadata().files.size() == static_cast<std::size_t>(world().size()));
    load(world(), own, part.cleared().tensors());
    BOOST_TEST(part.wrong() == "");
    if (world().size() > 1)
        BOOST_CHECK_EXCEPTION(
            load(world(), own, other.cleared().tensors()), error,
            mentions(errc::bad_layout,
                     "axis 0: 2 of " + std::to_string(2 * world().size()) + " of [13, 3]"));
}

BOOST_AUTO_TEST_CASE(shares_with_gaps_or_shared_elements_are_refused) {
    struct file {
        char const* shape;
        char const* more;
        std::size_t elements;
        char const* offsets = "";
    };
    struct row {
        std::vector<file> files;
        errc code;
        std::string text;
    };
    file const even{"[3]", R"(\"region\":{\"offset\":[0],\"shape\":[5]},\"blocks\":[[0,1,2]])", 3};
    file const odd{"[3]", R"(\"region\":{\"offset\":[1],\"shape\":[5]},\"blocks\":[[0,1,2]])", 3};
    file const thirds{"[2]", R"(\"region\":{\"offset\":[0],\"shape\":[4]},\"blocks\":[[0,1,3]])",
                      2};
    file const pairs{"[4]", R"(\"region\":{\"offset\":[0],\"shape\":[5]},\"blocks\":[[0,2,3]])", 4};
    file const fourth{"[1]", "", 1, "[3]"};
    file const middle{"[2]", "", 2, "[3]"};
    std::string const twice = " are held by more than one shard";
    for (row const& row :
         {row{{even, odd}, errc::io, ""}, row{{even, even, odd}, errc::io, ""},
          row{{even, odd, fourth}, errc::io, ""}, // a copy of a block
          row{{even, thirds, odd}, errc::io, ""}, // of two
          row{{even}, errc::not_covered, "'A': elements [1:2] are held by no file"},
          row{{even, pairs, odd}, errc::overlap, "'A': elements [0:1]" + twice},
          row{{even, odd, middle}, errc::overlap, "'A': elements [4:5]" + twice}}) {
        shared_directory const directory;
        on_first_rank([&] {
            for (std::size_t i = 0; i < row.files.size(); ++i)
                write_safetensors(
                    directory / (std::to_string(i) + ".safetensors"),
                    {{"A", "U8", row.files[i].shape, std::string(row.files[i].elements, 'x'),
                      row.files[i].offsets, "[6]", row.files[i].more},
                     {"b" + std::to_string(i), "U8", "[1]", "x", "[0]"}});
        });
        checkpoint const opened = open_checkpoint(world(), directory.path());
        auto const compared = [&] { return compare(world(), opened, opened).equal(); };
        if (row.text.empty())
            BOOST_TEST(compared());
        else
            BOOST_CHECK_EXCEPTION(compared(), error, mentions(row.code, row.text));
    }
}

BOOST_AUTO_TEST_CASE(layouts_of_blocks_must_be_complete) {
    shared_directory const directory;
    on_first_rank([&] {
        write_safetensors(directory / "whole.safetensors",
                          {{"A", "U8", "[6]", std::string(6, 'x')}});
    });
    checkpoint const source = open_checkpoint(world(), directory / "whole.safetensors");
    auto const wanted = [](std::vector<table_shard> const& shards) {
        shard_table table(1);
        for (table_shard const& shard : shards)
            table.push_back(shard);
        layout_builder builder(2);
        builder.add("A", data_type::u8, {{6}, std::move(table)});
        return std::move(builder).take();
    };
    table_shard const even{0, {{0}, {5}}, {}, {{0, 1, 2}}};
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "gap", {.wanted = wanted({even})}),
                          error,
                          mentions(errc::not_covered, "gives elements [1:2] of [6] to no rank"));
    BOOST_CHECK_EXCEPTION(
        convert(world(), source, directory / "shared",
                {.wanted = wanted({even, {1, {{0}, {6}}, {}, {}}})}),
        error,
        mentions(errc::overlap, "elements [0:1] to unequal shards, rank 0 [0:1] and rank 1 [0:6]"));
}

BOOST_AUTO_TEST_CASE(a_format_of_boxes_has_blocks_as_shards_up_to_a_number) {
    shared_directory const directory;
    on_first_rank([&] {
        write_safetensors(directory / "whole.safetensors",
                          {{"A", "U8", "[8194]", std::string(8194, 'x')}});
    });
    checkpoint const source = open_checkpoint(world(), directory / "whole.safetensors");
    auto const convert_to = [&](index_t block) {
        convert(world(), source, directory / std::to_string(block),
                {.wanted = reshard::layout_of("A", data_type::u8, {8194}, mesh{{"p", 2}},
                                              {block_cyclic{0, block}}),
                 .writing = {.format = "torch_dcp"}});
    };
    convert_to(64);
    checkpoint const boxes = open_checkpoint(world(), directory / "64");
    BOOST_TEST(boxes.metadata().tensors[0].shards.size() == 129u);
    BOOST_TEST(compare(world(), source, boxes).equal());
    BOOST_CHECK_EXCEPTION(
        convert_to(2), error,
        mentions(errc::unsupported,
                 "'A': the layout cuts it into 4097 blocks, but torch_dcp stores "
                 "each block as a shard, at most 4096 for each tensor; give a layout "
                 "of rows or columns, or write sharded_safetensors"));
    BOOST_TEST(!std::filesystem::exists(directory / "2"));
}

BOOST_AUTO_TEST_SUITE_END()
