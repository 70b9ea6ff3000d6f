// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_TYPED_KEYS_HPP
#define RESHARD_LAYOUT_TYPED_KEYS_HPP

#include <reshard/core/vector.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// \file
/// Texts as types, the facts of a compile error, lists of tensors, and the keys of a typed layout.
/// Compilers limit the steps of a constant expression, so searches take few steps.

namespace reshard::detail {

/// The characters of a string literal, including the terminating zero, as a structural type.
template <std::size_t N>
struct fixed_string {
    char characters[N] = {};

    constexpr fixed_string() = default;
    constexpr fixed_string(char const (&text)[N]) { put(0, text, N); }

    /// Writes `count` characters from `index` on. Uses a plain loop, which compilers evaluate
    /// fastest.
    constexpr void put(std::size_t index, char const* text, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            characters[index + i] = text[i];
    }

    /// The text without the terminating zero.
    constexpr std::string_view view() const { return {characters, N - 1}; }
    constexpr operator std::string_view() const { return view(); }

    constexpr auto operator<=>(fixed_string const&) const = default;
};

/// Compares texts, even if their types have different lengths.
template <std::size_t N, std::size_t M>
constexpr bool operator==(fixed_string<N> const& a, fixed_string<M> const& b) {
    return a.view() == b.view();
}

/// Concatenates two texts.
template <std::size_t N, std::size_t M>
constexpr fixed_string<N + M - 1> operator+(fixed_string<N> const& a, fixed_string<M> const& b) {
    fixed_string<N + M - 1> joined;
    joined.put(0, a.characters, N - 1);
    joined.put(N - 1, b.characters, M);
    return joined;
}

template <std::size_t N, std::size_t M>
constexpr fixed_string<N + M - 1> operator+(fixed_string<N> const& a, char const (&b)[M]) {
    return a + fixed_string<M>(b);
}

/// The number of digits of a number.
constexpr std::size_t digit_count(std::size_t number) {
    std::size_t digits = 1;
    while (number /= 10)
        ++digits;
    return digits;
}

template <std::size_t Number>
constexpr auto digits_of() {
    char digits[digit_count(Number) + 1] = {};
    std::size_t remainder = Number;
    for (std::size_t index = digit_count(Number); index-- > 0; remainder /= 10)
        digits[index] = static_cast<char>('0' + remainder % 10);
    return fixed_string<sizeof(digits)>(digits);
}

/// \name The facts of a condition. They are types because compilers print types.
/// \{
template <fixed_string Key>
struct of_key {};
template <std::size_t Axis>
struct on_axis {}; ///< an axis of the tensor
template <fixed_string Name>
struct on_mesh_axis {};
template <auto... Values>
struct wanted {};
template <auto... Values>
struct actual {};
/// \}

/// Equals `Is`. The compiler shows the facts in its message.
template <bool Is, class... Facts>
inline constexpr bool holds = Is;

/// A key and its hash. Each key has a separate constant.
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

/// The hashed key of a tensor. Layouts with the same key share the constant.
template <fixed_string Key>
inline constexpr hashed_key hash_of{Key.view()};

/// A hash table of keys and their indices in a list. It is built once and searched often.
///
/// Sorting 300 keys with a common prefix would exceed the steps that clang allows for a constant.
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

    /// The keys, in their original order.
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
    /// The slot of the key, or the empty slot for it. Half of the slots are empty, so there always
    /// is one.
    constexpr std::size_t slot_of(hashed_key const& key) const {
        std::size_t slot = key.hash % slots_.size();
        while (slots_[slot] != 0 && keys_[slots_[slot] - 1] != key)
            slot = (slot + 1) % slots_.size();
        return slot;
    }

    std::array<hashed_key, N> keys_;
    std::array<std::uint32_t, std::bit_ceil(2 * N + 1)> slots_{}; ///< 0: empty; otherwise index + 1
    std::optional<std::pair<std::size_t, std::size_t>> twice_;
};

/// Numbers at most `N` distinct keys, at compile time.
template <std::size_t N>
class key_numbers {
public:
    /// The number of a key. A new key gets the next number.
    constexpr std::size_t add(hashed_key const& key) {
        std::uint32_t& slot = slots_[slot_of(key)];
        if (slot == 0) {
            keys_.push_back(key);
            slot = static_cast<std::uint32_t>(keys_.size());
        }
        return slot - 1;
    }

    /// The number of a key, or the number of keys if the key is unknown.
    constexpr std::size_t find(hashed_key const& key) const {
        std::uint32_t const slot = slots_[slot_of(key)];
        return slot == 0 ? keys_.size() : slot - 1;
    }

    constexpr vector<hashed_key> const& all() const { return keys_; }

private:
    constexpr std::size_t slot_of(hashed_key const& key) const {
        std::size_t slot = key.hash % slots_.size();
        while (slots_[slot] != 0 && keys_[slots_[slot] - 1] != key)
            slot = (slot + 1) % slots_.size();
        return slot;
    }

    vector<hashed_key> keys_;
    std::array<std::uint32_t, std::bit_ceil(2 * N + 1)> slots_{}; ///< 0: empty; else number + 1
};

/// True if a key contains one of `keys`. For example, the key of an optimizer state contains the
/// key of its parameter.
template <std::size_t N>
constexpr bool contains_key(std::string_view key, typed_keys<N> const& keys) {
    auto const is_border = [&](std::size_t i, std::string_view borders) {
        return i == key.size() || borders.find(key[i]) != borders.npos;
    };
    for (std::size_t begin = 0; N > 0 && begin < key.size(); ++begin)
        for (std::size_t end = begin + 1; end <= key.size(); ++end)
            if ((begin == 0 || is_border(begin - 1, "./:")) && is_border(end, "./:_") &&
                end - begin < key.size() &&
                keys.find(hashed_key(key.substr(begin, end - begin))) < N)
                return true;
    return false;
}

/// The tensors of an item, which is a tensor or a list of tensors, as a list.
template <class Tensor>
struct tensor_list {
    using type = boost::mp11::mp_list<Tensor>;
};

template <class... Tensors>
struct tensor_list<boost::mp11::mp_list<Tensors...>> {
    using type = boost::mp11::mp_list<Tensors...>;
};

/// Flattens tensors and lists of tensors into one list.
template <class... Items>
using all_tensors =
    boost::mp11::mp_append<boost::mp11::mp_list<>, typename tensor_list<Items>::type...>;

/// The keys of a layout.
template <class... Tensors>
consteval typed_keys<sizeof...(Tensors)> keys_of(boost::mp11::mp_list<Tensors...>) {
    return typed_keys<sizeof...(Tensors)>(
        std::array<hashed_key, sizeof...(Tensors)>{Tensors::hashed...});
}

template <template <std::size_t> class Layer, class Numbers>
struct layer_list;

template <template <std::size_t> class Layer, std::size_t... I>
struct layer_list<Layer, std::index_sequence<I...>> {
    using type = all_tensors<Layer<I>...>;
};

} // namespace reshard::detail

namespace reshard::typed {

/// A text from which keys are made: `key<"layers."> + number<3> + ".weight"` is
/// `"layers.3.weight"`.
template <detail::fixed_string Text>
inline constexpr auto key = Text;

/// A number as a text from which keys are made.
template <std::size_t Number>
inline constexpr auto number = detail::digits_of<Number>();

/// The tensors of layers 0 to `Count - 1`, as an `mp_list`. Layer `i` is `Layer<i>`, a tensor or an
/// `mp_list` of tensors.
template <std::size_t Count, template <std::size_t> class Layer>
using layers = typename detail::layer_list<Layer, std::make_index_sequence<Count>>::type;

} // namespace reshard::typed

#endif
