// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_BYTE_READER_HPP
#define RESHARD_GROUP_BYTE_READER_HPP

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// \file
/// Reads values from bytes of other processes or files, and checks them.

namespace reshard::detail {

[[noreturn]] inline void refuse_archive(std::string const& text) {
    fail(errc::corrupt_file, "the archive ", text);
}

/// True for values whose members or elements are read directly into the value.
template <class T>
inline constexpr bool is_read_in_place = listing_members<T>;
template <class T>
inline constexpr bool is_read_in_place<vector<T>> = true;

/// Reads values from bytes, but never past the end of the bytes.
///
/// The memory of the values is at most a constant factor larger than the bytes, even if the bytes
/// contain wrong lengths. Texts that are views refer to the bytes.
class byte_reader {
public:
    byte_reader(std::string_view bytes, std::string_view name) : rest_(bytes), name_(name) {}

    std::size_t left() const { return rest_.size(); }

    /// \throws error with errc::corrupt_file for bytes that end too early or do not represent such
    ///         a value, or as `validate` of the value or of its parts
    template <class T>
    T get() {
        if constexpr (std::same_as<T, bool>) {
            return get_below(2, "the truth value") == 1;
        } else if constexpr (std::is_enum_v<T>) {
            static_assert(range_of_enum<T>.count > 0, "specialise range_of_enum");
            return static_cast<T>(get_below(range_of_enum<T>.count, range_of_enum<T>.name));
        } else if constexpr (std::integral<T>) {
            return get_number<T>();
        } else if constexpr (std::same_as<T, double>) {
            return std::bit_cast<double>(get_number<std::uint64_t>());
        } else if constexpr (std::convertible_to<T const&, std::string_view>) {
            return T(get_text());
        } else if constexpr (is_optional<T>) {
            return get<bool>() ? T(get<typename T::value_type>()) : T();
        } else if constexpr (is_variant<T>) {
            return get_variant(std::type_identity<T>());
        } else if constexpr (is_read_in_place<T>) {
            T value{};
            fill(value);
            return value;
        } else {
            T value = get_class<T>();
            if constexpr (validated<T>)
                validate(value);
            return value;
        }
    }

    /// Replaces a value by the next value. After an error, the value may be partly replaced.
    template <class T>
    void fill(T& value) {
        if constexpr (is_array_prefix<T>) {
            fill_prefix(value);
        } else if constexpr (is_read_in_place<T>) {
            if constexpr (listing_members<T>)
                T::members(value, [this](auto&&... members) { (this->fill(members), ...); });
            else
                fill_list(value);
            if constexpr (validated<T>)
                validate(value);
        } else {
            value = get<T>();
        }
    }

    /// Throws if bytes remain after the last value.
    void end() const;

private:
    template <class T>
    T get_class() {
        if constexpr (is_pair<T>) {
            auto first = get<std::remove_const_t<typename T::first_type>>();
            return T(std::move(first), get<typename T::second_type>());
        } else if constexpr (made_by_recipe<T>) {
            return T(get<recipe_of<T>>());
        } else if constexpr (packed_list<T>) {
            return get_packed<T>();
        } else {
            T list;
            for (std::size_t left = get_count(); left > 0; --left)
                put(list, get<typename T::value_type>());
            return list;
        }
    }

    template <class T>
    void fill_list(vector<T>& list) {
        list.clear();
        for (std::size_t left = get_count(); left > 0; --left)
            if constexpr (is_read_in_place<T>)
                fill(list.emplace_back());
            else
                list.push_back(get<T>());
    }

    template <class List>
    static void put(List& list, typename List::value_type element) {
        if constexpr (requires { list.value_comp(); })
            if (!list.empty() && !list.value_comp()(*std::prev(list.end()), element))
                refuse_archive("has a set whose elements are out of order");
        if constexpr (requires { list.push_back(std::move(element)); })
            list.push_back(std::move(element));
        else
            list.insert(list.end(), std::move(element));
    }

    template <class T>
    T get_packed() {
        T list(get_below(max_ndim + 1, "the number of axes"));
        for (std::size_t left = get_count(); left > 0; --left) {
            auto const element = get<std::remove_cvref_t<decltype(list[0])>>();
            if (element.ndim() != list.ndim())
                refuse_archive("has a list of elements with " + std::to_string(list.ndim()) +
                               " axes, but one element has " + std::to_string(element.ndim()));
            list.push_back(element);
        }
        return list;
    }

    template <class T>
    void fill_prefix(T& prefix) {
        std::size_t const count = get_below(T::most + 1, "the number of axes or casts");
        for (std::size_t i = 0; i < count; ++i)
            fill(prefix.values[i]);
        prefix.count = static_cast<std::remove_cvref_t<decltype(prefix.count)>>(count);
    }

    template <class... T>
    std::variant<T...> get_variant(std::type_identity<std::variant<T...>>) {
        using getter = std::variant<T...> (*)(byte_reader&);
        constexpr getter getters[] = {
            [](byte_reader& from) { return std::variant<T...>(from.get<T>()); }...};
        return getters[get_below(sizeof...(T), "the alternative")](*this);
    }

    template <class Number>
    Number get_number() {
        return static_cast<Number>(get_number(sizeof(Number)));
    }

    /// A number of `size` bytes, lowest byte first.
    std::uint64_t get_number(std::size_t size);

    /// The number of elements that follow. Each element has at least one byte.
    std::size_t get_count();

    std::size_t get_below(std::size_t limit, std::string_view noun);

    std::string_view get_text();

    std::string_view take(std::size_t bytes);

    [[noreturn]] void end_too_early(std::uint64_t needed) const;

    std::string_view rest_;
    std::string_view name_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/byte_reader.ipp>
#endif

#endif
