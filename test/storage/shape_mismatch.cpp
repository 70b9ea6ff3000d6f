// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/storage/load.hpp>

#include <reshard/storage/save.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <numeric>

/// \file
/// A vocabulary that was padded for another number of ranks.

BOOST_AUTO_TEST_SUITE(storage_shape_mismatch)

namespace {

using namespace reshard;
using namespace reshard::test;

/// The rows that this rank has of a vocabulary of `words` words, two numbers each.
struct words_of_rank {
    index_t words;
    box region;
    std::vector<float> elements;

    explicit words_of_rank(index_t total) : words(total) {
        index_t const size = world().size(), rank = world().rank();
        index_t const first = total * rank / size, behind = total * (rank + 1) / size;
        region = {{first, 0}, {behind - first, 2}};
        elements.resize(static_cast<std::size_t>(2 * (behind - first)));
        std::iota(elements.begin(), elements.end(), static_cast<float>(1 + 2 * first));
    }

    state_dict tensors() {
        state_dict tensors;
        tensors.add({"words", data_type::f32, {words, 2}, region, {}},
                    tensor_view{elements.data(), data_type::f32, region.shape, {2, 1}});
        return tensors;
    }
};

/// The result of loading a checkpoint of `stored` words into memory for `wanted` words.
void check_words(index_t stored, index_t wanted) {
    shared_directory const directory;
    save(world(), words_of_rank(stored).tensors(), directory / "stored");
    auto const source = open_checkpoint(world(), directory / "stored");
    words_of_rank target(wanted);
    std::vector<float> expected = target.elements;
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (2 * target.region.offset[0] + static_cast<index_t>(i) >= 2 * stored)
            expected[i] = 0;
    target.elements.assign(expected.size(), -1);
    load(world(), source, target.tensors(), {.shape_mismatch = {"words"}});
    BOOST_TEST(target.elements == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_CASE(words_that_are_not_there_are_zeros) { check_words(5, 8); }

BOOST_AUTO_TEST_CASE(words_that_nobody_wants_are_dropped) { check_words(8, 5); }

BOOST_AUTO_TEST_CASE(without_the_option_another_shape_is_an_error) {
    shared_directory const directory;
    save(world(), words_of_rank(5).tensors(), directory / "stored");
    auto const source = open_checkpoint(world(), directory / "stored");
    words_of_rank target(8);
    std::vector<float> const before = target.elements;
    std::string const path = (directory / "stored").string();
    BOOST_CHECK_EXCEPTION(
        load(world(), source, target.tensors()), error,
        says(errc::shape_mismatch, path + ": 'words' has the shape [8, 2] in the target, but the "
                                          "source has [5, 2]"));
    BOOST_CHECK_EXCEPTION(load(world(), source, target.tensors(), {.shape_mismatch = {"wodrs"}}),
                          error,
                          says(errc::unknown_key,
                               path + ": options.shape_mismatch: 'wodrs' matches none of the 1 key "
                                      "of the target (did you mean 'words'?)"));
    BOOST_TEST(target.elements == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ranks_with_different_exceptions_are_told_so) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    save(world(), words_of_rank(5).tensors(), directory / "stored");
    auto const source = open_checkpoint(world(), directory / "stored");
    words_of_rank target(8);
    options options;
    if (world().rank() != 0)
        options.shape_mismatch = {"words"};
    BOOST_CHECK_EXCEPTION(
        load(world(), source, target.tensors(), options), error,
        [](error const& problem) { return problem.code() == errc::ranks_disagree; });
}

BOOST_AUTO_TEST_SUITE_END()
