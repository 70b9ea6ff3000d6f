// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/row_major_files.hpp>

#include "memory_file.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_row_major_files)

namespace {

using namespace reshard;
using namespace reshard::detail;

/// A store of one file, `f`, which counts the bytes that are read of it.
class one_file : public file_store {
public:
    explicit one_file(std::string bytes) : bytes_(std::move(bytes)) {}

    mutable std::uint64_t read_bytes = 0;

    kind find(std::filesystem::path const& path) const override {
        return path == "f" ? kind::file : kind::nothing;
    }
    reshard::vector<std::filesystem::path> list(std::filesystem::path const&) const override {
        return {"f"};
    }
    std::unique_ptr<file> open(std::filesystem::path const&) const override {
        return std::make_unique<counted>(*this);
    }

private:
    class counted : public reshard::test::memory_file {
    public:
        explicit counted(one_file const& store) : memory_file(store.bytes_), store_(store) {}
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            store_.read_bytes += target.size();
            memory_file::read(position, target);
        }

    private:
        one_file const& store_;
    };

    std::string bytes_;
};

/// 16-bit numbers 0, 1, 2, ... as they lie in a file, after some other bytes.
std::string numbers(std::size_t count, std::string const& before = {}) {
    std::string bytes = before;
    for (std::size_t i = 0; i < count; ++i) {
        bytes += static_cast<char>(i & 0xff);
        bytes += static_cast<char>(i >> 8);
    }
    return bytes;
}

/// Shards of one file, and their positions.
std::map<std::filesystem::path, shown_file> shown(std::vector<file_tensor> tensors) {
    shown_file file;
    for (file_tensor const& tensor : tensors) {
        file.shards.push_back({file.bytes, tensor.dtype, tensor.shape});
        file.bytes +=
            static_cast<std::uint64_t>(byte_count(element_count(tensor.shape), tensor.dtype));
    }
    file.find = [tensors = std::move(tensors)](file_store::file const&, shown_shard const&,
                                               std::size_t number) {
        return tensors[number].elements;
    };
    return {{"f", std::move(file)}};
}

std::vector<int> read(file_store::file const& file, std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint16_t> numbers(count);
    file.read(2 * first, std::as_writable_bytes(std::span(numbers)));
    return {numbers.begin(), numbers.end()};
}

} // namespace

BOOST_AUTO_TEST_CASE(shards_stand_one_after_the_other_and_row_major) {
    auto const below = std::make_shared<one_file const>(numbers(12, "???"));
    // 2 x 3 from number 6 on, nothing, and the transpose of 3 x 2 from number 0 on.
    row_major_files const files(below, shown({{data_type::i16, {2, 3}, {3 + 12, {3, 1}}},
                                              {data_type::i16, {0, 4}, {3, {4, 1}}},
                                              {data_type::i16, {2, 3}, {3, {1, 2}}}}));
    auto const file = files.open("f");
    BOOST_TEST(file->facts().bytes == 24u);
    BOOST_TEST(read(*file, 0, 12) == (std::vector{6, 7, 8, 9, 10, 11, 0, 2, 4, 1, 3, 5}),
               boost::test_tools::per_element());
    BOOST_TEST(read(*file, 4, 5) == (std::vector{10, 11, 0, 2, 4}),
               boost::test_tools::per_element());
    BOOST_CHECK_THROW(read(*file, 10, 3), error);
}

BOOST_AUTO_TEST_CASE(any_run_of_bytes_can_be_read) {
    auto const below = std::make_shared<one_file const>(numbers(60));
    // Axes 3, 4 and 5 in the order 2, 0, 1 of the file: element (i, j, k) is 12 k + 4 i + j.
    row_major_files const files(below, shown({{data_type::i16, {3, 4, 5}, {0, {4, 1, 12}}}}));
    auto const file = files.open("f");
    std::string expected;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
            for (int k = 0; k < 5; ++k)
                (expected += static_cast<char>(12 * k + 4 * i + j)) += '\0';
    for (std::size_t first = 0; first < expected.size(); ++first)
        for (std::size_t count = 1; count <= expected.size() - first; ++count) {
            std::string bytes(count, '?');
            file->read(first, std::as_writable_bytes(std::span(bytes)));
            BOOST_TEST_REQUIRE(bytes == expected.substr(first, count));
        }
}

BOOST_AUTO_TEST_CASE(steps_of_nothing_repeat_an_element_and_far_ones_are_not_read_through) {
    auto const below = std::make_shared<one_file const>(numbers(500'000));
    // Column 0 of 5 rows of 100,000 numbers each, and one number repeated.
    row_major_files const files(below, shown({{data_type::i16, {5}, {0, {100'000}}},
                                              {data_type::i16, {2, 2}, {14, {0, 0}}}}));
    auto const file = files.open("f");
    std::vector const column{0, 100'000 & 0xffff, 200'000 & 0xffff, 300'000 & 0xffff,
                             400'000 & 0xffff};
    BOOST_TEST(read(*file, 0, 5) == column, boost::test_tools::per_element());
    BOOST_TEST(below->read_bytes == 10u);
    BOOST_TEST(read(*file, 5, 4) == (std::vector{7, 7, 7, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(added_files_are_read_where_they_come_from) {
    auto const below = std::make_shared<one_file const>(numbers(3));
    auto const other = std::make_shared<one_file const>(numbers(6));
    row_major_files files(below, {});
    files.add(row_major_files(other, shown({{data_type::i16, {2}, {4, {3}}}})));
    BOOST_TEST(read(*files.open("f"), 0, 2) == (std::vector{2, 5}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_files_are_as_they_are) {
    auto const below = std::make_shared<one_file const>("abc");
    row_major_files const files(below, {});
    BOOST_TEST(files.open("f")->facts().bytes == 3u);
    BOOST_TEST((files.find("f") == file_store::kind::file));
    BOOST_TEST((files.find("g") == file_store::kind::nothing));
}

BOOST_AUTO_TEST_SUITE_END()
