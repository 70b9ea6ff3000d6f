// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_KEYS_HPP
#define RESHARD_LAYOUT_TYPED_KEYS_HPP

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// \file
/// The keys of a typed layout, found in a few steps, since compilers limit the steps of a constant;
/// and lists of tensors.

namespace reshard::detail {

/// A key and its hash; each key's is a separate constant.
struct hashed_key {
    std::string_view text;
    std::uint64_t hash = 0;

    constexpr hashed_key() = default;

    /// \par Source the FNV-1a hash of Fowler, Noll and Vo, 64 bits
    constexpr explicit hashed_key(std::string_view key) : text(key), hash(0xcbf29ce484222325) {
        for (char const character : key)
            hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
    }

    constexpr bool operator==(hashed_key const& other_key) const {
        return hash == other_key.hash && text == other_key.text;
    }
};

/// Keys and their indices in a list, as a table that is made once and searched often.
///
/// Sorting 300 keys with a common prefix takes more steps than clang allows a constant.
template <std::size_t N>
class typed_keys {
public:
    constexpr explicit typed_keys(std::array<hashed_key, N> const& keys) : keys_(keys) {
        for (std::uint32_t i = 0; i < N; ++i)
            if (std::uint32_t& slot = slots_[slot_of(keys[i])]; slot == 0)
                slot = i + 1;
            else if (!twice_)
                twice_ = {slot - 1, i};
    }

    static constexpr std::size_t size() { return N; }

    /// In their order.
    constexpr std::array<hashed_key, N> const& all() const { return keys_; }

    /// \pre `i < size()`
    constexpr hashed_key const& operator[](std::size_t i) const { return keys_[i]; }

    /// The index of that key, or `size()` if it does not exist.
    constexpr std::size_t find(hashed_key const& key) const {
        std::uint32_t const slot = slots_[slot_of(key)];
        return slot == 0 ? N : slot - 1;
    }

    /// The indices of the first two equal keys, or std::nullopt.
    constexpr std::optional<std::pair<std::size_t, std::size_t>> twice() const { return twice_; }

private:
    /// The slot of the key, or its free slot; half of the slots are empty, so one exists.
    constexpr std::size_t slot_of(hashed_key const& key) const {
        std::size_t slot = key.hash % slots_.size();
        while (slots_[slot] != 0 && keys_[slots_[slot] - 1] != key)
            slot = (slot + 1) % slots_.size();
        return slot;
    }

    std::array<hashed_key, N> keys_;
    std::array<std::uint32_t, std::bit_ceil(2 * N + 1)> slots_{}; ///< 0: empty; else index + 1
    std::optional<std::pair<std::size_t, std::size_t>> twice_;
};

/// A list of the tensors of a list, or of the one tensor.
template <class Tensor>
struct tensor_list {
    using type = boost::mp11::mp_list<Tensor>;
};

template <class... Tensors>
struct tensor_list<boost::mp11::mp_list<Tensors...>> {
    using type = boost::mp11::mp_list<Tensors...>;
};

/// Tensors and lists of them as one list.
template <class... Items>
using all_tensors =
    boost::mp11::mp_append<boost::mp11::mp_list<>, typename tensor_list<Items>::type...>;

template <template <std::size_t> class Layer, class Numbers>
struct layer_list;

template <template <std::size_t> class Layer, std::size_t... I>
struct layer_list<Layer, std::index_sequence<I...>> {
    using type = all_tensors<Layer<I>...>;
};

} // namespace reshard::detail

namespace reshard::typed {

/// The tensors of layers 0 to `Count - 1`, as an `mp_list`: for layer `i` these are `Layer<i>`, a
/// tensor or an `mp_list` of tensors.
template <std::size_t Count, template <std::size_t> class Layer>
using layers = typename detail::layer_list<Layer, std::make_index_sequence<Count>>::type;

} // namespace reshard::typed

#endif
