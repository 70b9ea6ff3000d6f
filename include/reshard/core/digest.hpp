// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_DIGEST_HPP
#define RESHARD_CORE_DIGEST_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// \file
/// A number that identifies a value. Ranks compare digests before they act, and caches find values
/// by digest.

namespace reshard::detail {

/// Hashes a sequence of numbers and texts to 64 bits. The hash is the same on every machine. It is
/// not cryptographic.
///
/// \par Source the finaliser of MurmurHash3 (public domain) applied to each word
class hasher {
public:
    constexpr void add(std::uint64_t word) {
        state_ = mix(state_ ^ word) + 0x9e3779b97f4a7c15u;
        ++words_;
    }

    /// The length is hashed, too, so that `"ab"` and `"c"` differ from `"a"` and `"bc"`.
    constexpr void add(std::string_view text) {
        add(static_cast<std::uint64_t>(text.size()));
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            word = word << 8 | static_cast<unsigned char>(text[i]);
            if (i % 8 == 7)
                add(word);
        }
        add(word);
    }

    constexpr void add(std::span<index_t const> numbers) {
        add(static_cast<std::uint64_t>(numbers.size()));
        for (index_t const number : numbers)
            add(static_cast<std::uint64_t>(number));
    }

    /// The hash of everything added so far.
    constexpr std::uint64_t value() const { return mix(state_ ^ words_); }

private:
    static constexpr std::uint64_t mix(std::uint64_t x) {
        x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
        x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
        return x ^ x >> 33;
    }

    std::uint64_t state_ = 0;
    std::uint64_t words_ = 0;
};

template <class T>
concept numeral = std::integral<T> || std::is_enum_v<T>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

template <class T>
inline constexpr bool is_array_prefix = false;
template <class Array, class Count>
inline constexpr bool is_array_prefix<array_prefix<Array, Count>> = true;

/// Adds the contents of a value: the number of elements, whether an optional value exists, and each
/// member.
template <class T>
constexpr void add_value(hasher& digest, T const& value) {
    if constexpr (numeral<T>) {
        digest.add(static_cast<std::uint64_t>(value));
    } else if constexpr (std::same_as<T, double>) {
        digest.add(std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::convertible_to<T const&, std::string_view>) {
        digest.add(std::string_view(value));
    } else if constexpr (is_optional<T>) {
        digest.add(std::uint64_t{value.has_value()});
        if (value)
            add_value(digest, *value);
    } else if constexpr (is_variant<T>) {
        digest.add(static_cast<std::uint64_t>(value.index()));
        std::visit([&](auto const& shards) { add_value(digest, shards); }, value);
    } else if constexpr (is_array_prefix<T>) {
        digest.add(static_cast<std::uint64_t>(value.count));
        for (std::size_t i = 0; i < value.count; ++i)
            add_value(digest, value.values[i]);
    } else if constexpr (is_pair<T>) {
        add_value(digest, value.first);
        add_value(digest, value.second);
    } else if constexpr (listing_members<T>) {
        T::members(value, [&](auto const&... members) { (add_value(digest, members), ...); });
    } else if constexpr (made_by_recipe<T>) {
        add_value(digest, value.recipe());
    } else if constexpr (packed_list<T>) {
        digest.add(static_cast<std::uint64_t>(value.size()));
        for (std::size_t i = 0; i < value.size(); ++i)
            add_value(digest, value[i]);
    } else {
        static_assert(
            requires { std::size(value); }, "the type does not list its members");
        digest.add(static_cast<std::uint64_t>(std::size(value)));
        for (auto const& element : value)
            add_value(digest, element);
    }
}

/// A digest of the contents of several values; equal values have equal digests on every machine.
template <class... T>
constexpr std::uint64_t digest_of_all(T const&... values) {
    hasher digest;
    (add_value(digest, values), ...);
    return digest.value();
}

/// A digest of all members of one value.
template <storable T>
constexpr std::uint64_t digest_of(T const& value) {
    return digest_of_all(value);
}

/// Keeps a few values by digest. If the cache is full, it drops the least recently used value.
///
/// Copies of the cache share the values, which are constant.
///
/// \tparam Value `plan`, or a type that contains a plan
template <class Value>
class digest_cache {
public:
    using pointer = std::shared_ptr<Value const>;

    /// \pre `most > 0`
    explicit digest_cache(std::size_t most = 16) : most_(most) { BOOST_ASSERT(most > 0); }

    /// The value with that digest, or null. Finding a value counts as a use.
    pointer find(std::uint64_t digest) {
        auto const position =
            std::find_if(entries_.begin(), entries_.end(), [&](entry const& current_entry) {
                return current_entry.digest == digest;
            });
        if (position == entries_.end()) {
            ++misses_;
            return nullptr;
        }
        ++hits_;
        std::rotate(position, position + 1, entries_.end());
        return entries_.back().value;
    }

    /// The most recently used value that satisfies `condition`, or null. Does not count as a use.
    Value const* latest(auto const& condition) const {
        for (std::size_t i = entries_.size(); i-- > 0;)
            if (condition(*entries_[i].value))
                return entries_[i].value.get();
        return nullptr;
    }

    /// Adds a value; it replaces a value with the same digest.
    pointer add(std::uint64_t digest, Value value) {
        return add(digest, std::make_shared<Value const>(std::move(value)));
    }

    /// Adds a value that is already shared.
    pointer add(std::uint64_t digest, pointer value) {
        forget(digest);
        if (entries_.size() == most_)
            entries_.erase(entries_.begin());
        entries_.push_back({digest, std::move(value)});
        return entries_.back().value;
    }

    /// Removes the value with that digest, if any.
    void forget(std::uint64_t digest) {
        erase_if(entries_,
                 [&](entry const& current_entry) { return current_entry.digest == digest; });
    }

    std::size_t size() const { return entries_.size(); }
    /// How often `find` found a value (`hits`), and how often it did not (`misses`).
    std::size_t hits() const { return hits_; }
    std::size_t misses() const { return misses_; }

private:
    struct entry {
        std::uint64_t digest;
        pointer value;
    };

    vector<entry> entries_; ///< the most recently used entry is last
    std::size_t most_;
    std::size_t hits_ = 0;
    std::size_t misses_ = 0;
};

/// The digest as 16 hexadecimal digits: `00000000000000ff` for 255.
inline std::string hex_text(std::uint64_t digest) {
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; digest >>= 4)
        text[i] = "0123456789abcdef"[digest & 0xF];
    return text;
}

} // namespace reshard::detail

#endif
