// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_BYTES_HPP
#define RESHARD_GROUP_BYTES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/byte_reader.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

/// \file
/// Converts values to bytes, and converts bytes back with checks. All values are sent and stored in
/// this form.
///
/// A number is stored with the size of its type, lowest byte first, on every machine (`double` as
/// in IEEE 754). Enumerations, truth values and numbers of axes take one byte. The length of a text
/// or list precedes it, in eight bytes.

namespace reshard::detail {

/// The version of the form. It increases when the form or the members of a value change. Other
/// versions are refused. Versions up to 2 were archives of Boost.Serialization, with a version for
/// each type.
inline constexpr std::uint8_t wire_version = 13;

/// Precedes and follows a value, so that other bytes are not mistaken for a value.
inline constexpr std::uint32_t wire_mark = 0x72736864;

/// Appends values to bytes.
class byte_writer {
public:
    template <class T>
    void add(T const& value) {
        if constexpr (std::same_as<T, bool> || std::is_enum_v<T>) {
            add_number(static_cast<std::uint8_t>(value));
        } else if constexpr (std::integral<T>) {
            add_number(value);
        } else if constexpr (std::same_as<T, double>) {
            add_number(std::bit_cast<std::uint64_t>(value));
        } else if constexpr (std::convertible_to<T const&, std::string_view>) {
            add_text(value);
        } else if constexpr (is_optional<T>) {
            add(value.has_value());
            if (value)
                add(*value);
        } else if constexpr (is_variant<T>) {
            add_number(static_cast<std::uint8_t>(value.index()));
            std::visit([this](auto const& shards) { this->add(shards); }, value);
        } else {
            add_class(value);
        }
    }

    std::string take() { return std::move(bytes_); }

private:
    template <class T>
    void add_class(T const& value) {
        if constexpr (is_array_prefix<T>) {
            add_number(static_cast<std::uint8_t>(value.count));
            for (std::size_t i = 0; i < value.count; ++i)
                add(value.values[i]);
        } else if constexpr (is_pair<T>) {
            add(value.first);
            add(value.second);
        } else if constexpr (listing_members<T>) {
            T::members(value, [this](auto const&... members) { (this->add(members), ...); });
        } else if constexpr (made_by_recipe<T>) {
            add(value.recipe());
        } else if constexpr (packed_list<T>) {
            add_number(static_cast<std::uint8_t>(value.ndim()));
            add_number(std::uint64_t{value.size()});
            for (std::size_t i = 0; i < value.size(); ++i)
                add(value[i]);
        } else {
            add_number(static_cast<std::uint64_t>(value.size()));
            for (auto const& element : value)
                add(element);
        }
    }

    template <class Number>
    void add_number(Number number) {
        add_number(static_cast<std::uint64_t>(number), sizeof(Number));
    }

    /// Appends the `size` lowest bytes of a number, lowest byte first.
    void add_number(std::uint64_t number, std::size_t size);

    void add_text(std::string_view text);

    std::string bytes_;
};

/// Calls `read`, and reports any error as an error in the bytes.
template <class Read>
auto blame_archive(std::string_view name, Read&& read) {
    try {
        return std::forward<Read>(read)();
    } catch (error const& problem) {
        if (problem.code() == errc::corrupt_file || problem.code() == errc::unsupported)
            throw;
        refuse_archive("of a " + std::string(name) + " contradicts itself: " + problem.what());
    }
}

RESHARD_DECL void check_mark(byte_reader& from, stored_form const& form);

RESHARD_DECL void check_head(byte_reader& from, stored_form const& form);

/// The bytes of a value, without a version.
std::string content_bytes(auto const& value) {
    byte_writer to;
    to.add(value);
    return to.take();
}

template <class T>
T content_from(std::string_view bytes, std::string_view name) {
    T value{};
    blame_archive(name, [&] {
        byte_reader from(bytes, name);
        from.fill(value);
        from.end();
    });
    return value;
}

/// The version of the form, followed by the bytes of a value.
///
/// \post `from_bytes<T>(to_bytes(value)) == value`
template <storable_alone T>
std::string to_bytes(T const& value) {
    byte_writer to;
    to.add(wire_mark);
    to.add(form_of<T>.number);
    to.add(wire_version);
    to.add(value);
    to.add(wire_mark);
    return to.take();
}

/// Converts the result of `to_bytes` back to the value.
///
/// \throws error with errc::corrupt_file for bytes that are truncated, contradict themselves, or do
///         not represent such a value; with errc::unsupported for bytes of another version
template <storable_alone T>
T from_bytes(std::string_view bytes) {
    constexpr stored_form form = form_of<T>;
    return blame_archive(form.name, [&] {
        byte_reader from(bytes, form.name);
        check_head(from, form);
        T value = from.get<T>();
        check_mark(from, form);
        from.end();
        return value;
    });
}

/// The bytes of a list, for ranks of one program. The element type needs no separate form.
template <class T>
std::string list_to_bytes(vector<T> const& list) {
    return content_bytes(list);
}

/// Converts the result of `list_to_bytes` back to the list.
///
/// \throws error with errc::corrupt_file for other bytes
template <class T>
vector<T> list_from_bytes(std::string_view bytes) {
    return content_from<vector<T>>(bytes, "list of " + std::string(form_of<T>.name) + "s");
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/group/impl/bytes.ipp>
#endif

#endif
