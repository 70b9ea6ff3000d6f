// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_BRIDGE_WEIGHTS_HPP
#define RESHARD_TEST_UNIT_BRIDGE_WEIGHTS_HPP

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

/// \file
/// Weights of one process whose elements encode the version in which they were written.

namespace reshard::test {

/// A path that no other test has, without a file there, or at its count's path.
class port_path {
public:
    port_path() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("reshard-port-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        remove();
    }
    port_path(port_path const&) = delete;
    ~port_path() { remove(); }

    operator std::filesystem::path const&() const { return path_; }
    std::filesystem::path const* operator->() const { return &path_; }

private:
    void remove() const {
        std::filesystem::remove(path_);
        std::filesystem::remove(path_.string() + ".versions");
    }

    std::filesystem::path path_;
};

/// Along which axis each tensor is cut in two shards.
enum class cut_along { rows, columns };

/// Matrices of `rows` times `columns` floats, each in two shards.
template <class T = float>
class weights {
public:
    weights(std::vector<std::string> keys, index_t rows, index_t columns, cut_along along)
        : keys_(std::move(keys)), rows_(rows), columns_(columns), how_(along) {
        index_t const half_rows = along == cut_along::rows ? rows / 2 : rows;
        index_t const half_columns = along == cut_along::columns ? columns / 2 : columns;
        for (std::string const& key : keys_)
            for (index_t part = 0; part < 2; ++part) {
                bool const is_first = part == 0;
                box region{{0, 0}, {half_rows, half_columns}};
                if (!is_first && along == cut_along::rows)
                    region = {{half_rows, 0}, {rows - half_rows, columns}};
                else if (!is_first)
                    region = {{0, half_columns}, {rows, columns - half_columns}};
                shards_.push_back({key, data_type_of<T>, {rows, columns}, region});
                elements_.emplace_back(static_cast<std::size_t>(element_count(region)));
            }
    }

    state_dict views() {
        state_dict tensors;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            tensors.add(shards_[i],
                        adapt::raw_tensor(elements_[i].data(), shards_[i].region.shape));
        return tensors;
    }

    /// Element number `i` of a tensor has the value `i + 1000 * version`.
    void set(int version) {
        for (std::string const& key : keys_)
            set(key, version);
    }
    void set(std::string const& key, int version) {
        for (std::size_t i = 0; i < shards_.size(); ++i)
            if (shards_[i].key == key)
                for (std::size_t n = 0; n < elements_[i].size(); ++n)
                    elements_[i][n] = static_cast<T>(number_of(i, n) + 1000 * version);
    }

    /// The version that all elements of a tensor have; none if they differ.
    std::optional<int> version_of(std::string const& key) const {
        std::optional<int> version;
        for (std::size_t i = 0; i < shards_.size(); ++i)
            for (std::size_t n = 0; shards_[i].key == key && n < elements_[i].size(); ++n) {
                auto const remainder = static_cast<index_t>(elements_[i][n]) - number_of(i, n);
                int const here = static_cast<int>(remainder / 1000);
                if (remainder % 1000 != 0 || (version && *version != here))
                    return std::nullopt;
                version = here;
            }
        return version;
    }

    /// The version that all tensors have, if any.
    std::optional<int> version() const {
        std::optional<int> const first = version_of(keys_[0]);
        bool const is_one = std::ranges::all_of(
            keys_, [&](std::string const& key) { return version_of(key) == first; });
        return is_one ? first : std::nullopt;
    }

    T* elements(std::size_t shard) { return elements_[shard].data(); }

private:
    /// The place of an element in its tensor, row by row.
    index_t number_of(std::size_t shard, std::size_t element) const {
        box const& region = shards_[shard].region;
        auto const n = static_cast<index_t>(element);
        return (region.offset[0] + n / region.shape[1]) * columns_ + region.offset[1] +
               n % region.shape[1];
    }

    std::vector<std::string> keys_;
    index_t rows_;
    index_t columns_;
    cut_along how_;
    std::vector<shard_descriptor> shards_;
    std::vector<std::vector<T>> elements_;
};

} // namespace reshard::test

#endif
