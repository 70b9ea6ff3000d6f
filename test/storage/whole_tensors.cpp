// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/compare.hpp>

#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>
#include <reshard/storage/convert.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(storage_whole_tensors)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;
using namespace reshard::test;

/// Parameters under stage 3: each rank has a padded slice of each. Element `i` of parameter `n` is `i + n`.
class sliced_parameters {
public:
    sliced_parameters(std::vector<std::string> const& keys, index_t elements) {
        index_t const ranks = world().size(), rank = world().rank();
        parallel_job const job({.dp = ranks});
        index_t const length = elements / ranks + (elements % ranks != 0);
        for (std::size_t n = 0; n < keys.size(); ++n) {
            auto const sliced = shard_slices(
                {sharding_of({.key = keys[n], .shape = {elements}, .dtype = data_type::f32}, job)});
            fw_storage_.emplace_back(static_cast<std::size_t>(length), -1.0F);
            for (shard_descriptor const& shard : shards_of(sliced, static_cast<holder_t>(rank))) {
                for (index_t i = 0; i < shard.flat->size(); ++i)
                    fw_storage_[n][static_cast<std::size_t>(i)] =
                        static_cast<float>(rank * length + i + static_cast<index_t>(n));
                shards_.add(shard,
                            const_tensor_view{
                                fw_storage_[n].data(), data_type::f32, {shard.flat->size()}, {1}});
            }
        }
    }

    const_state_dict const& shards() const { return shards_; }

private:
    std::vector<std::vector<float>> fw_storage_;
    const_state_dict shards_;
};

/// How many elements of a parameter are wrong.
index_t wrong_elements(const_tensor_view const& tensor, index_t n) {
    auto const* const elements = static_cast<float const*>(tensor.data);
    index_t count = 0;
    for (index_t i = 0; i < tensor.shape[0]; ++i)
        count += elements[i] != static_cast<float>(i + n);
    return count;
}

std::vector<std::string> const three_keys{"c", "a", "b"};

} // namespace

BOOST_AUTO_TEST_CASE(saving_takes_the_memory_of_one_parameter_beside_the_slices) {
    // 8 parameters of 4 MiB and an element, which no number of ranks divides.
    constexpr index_t elements = (1 << 20) + 1, bytes = elements * 4;
    sliced_parameters const parameters({"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}, elements);
    reshard::detail::memory_watch const memory;
    index_t count = 0;
    for_each_whole(world(), parameters.shards(),
                   [&](std::string_view key, const_tensor_view const& view) {
                       BOOST_TEST(key == "p" + std::to_string(count));
                       BOOST_TEST((view.shape == index_vector{elements})); // without padding
                       BOOST_TEST(wrong_elements(view, count) == 0);
                       ++count;
                   });
    BOOST_TEST(count == (world().rank() == 0 ? 8 : 0));
    if (!is_sanitized) // freed memory is kept there for a while
        BOOST_TEST(memory.most_bytes() < 2 * bytes);
}

BOOST_AUTO_TEST_CASE(any_rank_may_read_and_keys_come_in_order) {
    int const last = world().size() - 1;
    sliced_parameters const parameters(three_keys, 5);
    std::string order;
    auto const visit = [&](std::string_view key, const_tensor_view const& view) {
        order += key;
        BOOST_TEST(wrong_elements(view, key == "c" ? 0 : key == "a" ? 1 : 2) == 0);
    };
    for_each_whole(world(), parameters.shards(), visit, last);
    BOOST_TEST(order == (world().rank() == last ? "abc" : ""));
}

BOOST_AUTO_TEST_CASE(what_the_reader_throws_is_the_same_error_on_every_rank) {
    sliced_parameters const parameters(three_keys, 5);
    auto const visit = [](std::string_view key, const_tensor_view const&) {
        if (key == "b")
            fail(errc::io, "the disk is full at '" + std::string(key) + "'");
    };
    BOOST_CHECK_EXCEPTION(for_each_whole(world(), parameters.shards(), visit), error,
                          says(errc::io, "the disk is full at 'b'"));
    meet();
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_no_rank_is_refused) {
    std::string const size = std::to_string(world().size());
    auto const visit = [](std::string_view, const_tensor_view const&) {};
    for (int const reader : {-1, world().size()})
        BOOST_CHECK_EXCEPTION(for_each_whole(world(), const_state_dict(), visit, reader), error,
                              says(errc::usage, "there is no rank " + std::to_string(reader) +
                                                    " among " + size + " to read whole tensors"));
}

BOOST_AUTO_TEST_CASE(elements_that_nobody_holds_are_an_error_on_every_rank) {
    std::vector<float> const half(3);
    const_state_dict tensors;
    tensors.add({"w", data_type::f32, {6}, {{3}, {3}}, {}},
                const_tensor_view{half.data(), data_type::f32, {3}, {1}});
    auto const visit = [](std::string_view, const_tensor_view const&) {};
    BOOST_CHECK_EXCEPTION(for_each_whole(world(), tensors, visit), error,
                          [](error const& problem) { return problem.code() == errc::not_covered; });
}

BOOST_AUTO_TEST_CASE(one_process_needs_no_mpi) {
    std::vector<float> const elements{7, 8};
    const_state_dict tensors;
    tensors.add({"w", data_type::f32, {2}, {{0}, {2}}, {}},
                const_tensor_view{elements.data(), data_type::f32, {2}, {1}});
    for_each_whole(solo(), tensors, [&](std::string_view key, const_tensor_view const& view) {
        BOOST_TEST(key == "w");
        BOOST_TEST(wrong_elements(view, 7) == 0);
    });
}

BOOST_AUTO_TEST_SUITE_END()
