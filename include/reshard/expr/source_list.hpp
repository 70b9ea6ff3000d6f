// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_SOURCE_LIST_HPP
#define RESHARD_EXPR_SOURCE_LIST_HPP

#include <reshard/core/text_list.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The source tensors of a mapping, packed.

namespace reshard::detail {

/// A source tensor of a mapping; its place in the list is its `key_id`.
struct mapping_source {
    std::string_view key; ///< lasts until the mapping gets another source
    index_vector shape;
    data_type dtype{};

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.dtype, self.shape);
    }

    bool operator==(mapping_source const&) const = default;
};

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor
constexpr void validate(mapping_source const& tensor) {
    check_tensor(std::string(tensor.key), tensor.dtype, tensor.shape);
}

/// Source tensors by number: of a matrix, 32 bytes and its key's characters.
///
/// A mapping has all tensors of a checkpoint, used or not, so what one of them takes counts. What
/// is asked for is put together on the way out.
class source_list {
public:
    using value_type = mapping_source;

    /// Goes through the tensors in order, and shows each by value.
    class iterator {
    public:
        using value_type = mapping_source;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        iterator(source_list const& list, key_id id) : list_(&list), id_(id) {}

        mapping_source operator*() const { return (*list_)[id_]; }
        iterator& operator++() { return ++id_, *this; }
        iterator operator++(int) { return {*list_, id_++}; }
        bool operator==(iterator const&) const = default;

    private:
        source_list const* list_ = nullptr;
        key_id id_ = 0;
    };

    std::size_t size() const { return facts_.size(); }
    iterator begin() const { return {*this, 0}; }
    iterator end() const;

    /// \pre `id < size()`
    mapping_source operator[](key_id id) const;

    /// \pre `id < size()`
    std::string_view key(key_id id) const { return keys_[id]; }

    /// Makes room for so many tensors, whose keys have so many characters altogether.
    void reserve(std::size_t tensors, std::size_t characters);

    void push_back(mapping_source const& tensor);

    bool operator==(source_list const&) const = default;

private:
    struct facts {
        std::uint32_t first_extent;
        data_type dtype;
        std::uint8_t ndim;

        bool operator==(facts const&) const = default;
    };

    text_list keys_;
    std::vector<facts> facts_;
    std::vector<index_t> extents_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/source_list.ipp>
#endif

#endif
