// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_PICKLE_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_PICKLE_IPP

#include <reshard/format/pickle/pickle.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace reshard::detail {

RESHARD_DECL std::string python_text(double value) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    std::string text(digits.data(), end);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

RESHARD_DECL std::string pickle::described(pickle_value value) const {
    using kind = pickle_value::kind;
    auto const characters = [&] {
        constexpr std::size_t most = 60;
        std::string const shown =
            characters_.substr(value.place, std::min<std::size_t>(value.count, most));
        return "'" + shown + (value.count > most ? "...'" : "'");
    };
    switch (value.what) {
    case kind::none: return "None";
    case kind::boolean: return value.place ? "True" : "False";
    case kind::integer:
        return "the number " + std::to_string(static_cast<std::int64_t>(value.place));
    case kind::long_integer: return words("a number of ", bytes_[value.place].size(), " bytes");
    case kind::real: return "the number " + std::to_string(std::bit_cast<double>(value.place));
    case kind::text: return "the text " + characters();
    case kind::long_text: return words("a text of ", bytes_[value.place].size(), " bytes");
    case kind::bytes: return words(bytes_[value.place].size(), " bytes");
    case kind::tuple: return words("a tuple of ", value.count);
    case kind::size: return words("a size of ", value.count);
    case kind::list: return words("a list of ", runs_[value.place].count);
    case kind::set: return words("a set of ", runs_[value.place].count);
    case kind::dict: return words("a dict of ", runs_[value.place].count / 2);
    case kind::global:
    case kind::unknown: return "the name " + characters();
    case kind::object: return "an object of " + described(objects_[value.place].callable).substr(9);
    case kind::persistent_id: return "something outside the pickle";
    }
    return "nothing";
}

RESHARD_DECL std::uint64_t pickle::memory() const {
    return characters_.size() + values_.size() * sizeof(pickle_value) + runs_.size() * sizeof(run) +
           objects_.size() * sizeof(pickle_object) + ids_.size() * sizeof(pickle_value) +
           bytes_.size() * sizeof(byte_run);
}

RESHARD_DECL void pickle::refuse(std::string_view what, pickle_value value,
                                 std::string_view expected) const {
    fail(errc::corrupt_file, file_, ": ", what, " should be ", expected, ", and is ",
         described(value));
}

RESHARD_DECL std::string_view pickle::text(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::text)
        refuse(what, value, words("a text of at most ", pickle_value::most_text_bytes, " bytes"));
    return std::string_view(characters_).substr(value.place, value.count);
}

RESHARD_DECL std::int64_t pickle::integer(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::integer)
        refuse(what, value, "a whole number");
    return static_cast<std::int64_t>(value.place);
}

RESHARD_DECL bool pickle::boolean(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::boolean)
        refuse(what, value, "True or False");
    return value.place != 0;
}

RESHARD_DECL double pickle::real(pickle_value value, std::string_view what) const {
    if (value.what == pickle_value::kind::integer)
        return static_cast<double>(static_cast<std::int64_t>(value.place));
    if (value.what != pickle_value::kind::real)
        refuse(what, value, "a number");
    return std::bit_cast<double>(value.place);
}

RESHARD_DECL byte_run pickle::bytes(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::bytes)
        refuse(what, value, "bytes");
    return bytes_[value.place];
}

RESHARD_DECL byte_run pickle::unread(pickle_value value, std::string_view what) const {
    using kind = pickle_value::kind;
    if (value.what != kind::long_integer && value.what != kind::long_text)
        refuse(what, value, "a long text, or a whole number of more than 8 bytes");
    return bytes_[value.place];
}

RESHARD_DECL std::span<pickle_value const> pickle::elements(pickle_value value,
                                                            std::string_view what) const {
    using kind = pickle_value::kind;
    if (value.what == kind::object) {
        pickle_value const arguments = objects_[value.place].arguments;
        if (arguments.count == 1 && values_[arguments.place].what == kind::tuple)
            value = values_[arguments.place];
    }
    if (value.what == kind::tuple || value.what == kind::size)
        return std::span(values_).subspan(value.place, value.count);
    if (value.what != kind::list && value.what != kind::set)
        refuse(what, value, "a tuple or a list");
    return std::span(values_).subspan(runs_[value.place].first, runs_[value.place].count);
}

RESHARD_DECL pickle_pairs pickle::pairs(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::dict)
        refuse(what, value, "a dict");
    run const& of = runs_[value.place];
    return {std::span(values_).subspan(of.first, of.count)};
}

RESHARD_DECL pickle_object const& pickle::object(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::object)
        refuse(what, value, "an object");
    return objects_[value.place];
}

RESHARD_DECL pickle_value pickle::persistent_id(pickle_value value, std::string_view what) const {
    if (value.what != pickle_value::kind::persistent_id)
        refuse(what, value, "something that is kept outside the pickle");
    return ids_[value.place];
}

RESHARD_DECL std::string_view pickle::global(pickle_value value, std::string_view what) const {
    using kind = pickle_value::kind;
    if (value.what != kind::global && value.what != kind::unknown)
        refuse(what, value, "the name of a class or a function");
    return std::string_view(characters_).substr(value.place, value.count);
}

RESHARD_DECL std::optional<std::string_view> pickle::unknown_class(pickle_value value) const {
    if (value.what == pickle_value::kind::object)
        value = objects_[value.place].callable;
    if (value.what != pickle_value::kind::unknown)
        return std::nullopt;
    return global(value, {});
}

RESHARD_DECL std::optional<pickle_value> pickle::find(pickle_value dict, std::string_view key,
                                                      std::string_view what) const {
    std::optional<pickle_value> found;
    pickle_pairs const all = pairs(dict, what);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].key.what == pickle_value::kind::text && text(all[i].key, what) == key)
            found = all[i].value;
    return found;
}

RESHARD_DECL pickle_value pickle::at(pickle_value dict, std::string_view key,
                                     std::string_view what) const {
    auto const found = find(dict, key, what);
    if (!found)
        fail(errc::corrupt_file, file_, ": ", what, " lacks '", key, "'");
    return *found;
}

RESHARD_DECL bool pickle::is_made_by(pickle_value value, std::string_view callable) const {
    return value.what == pickle_value::kind::object &&
           global(objects_[value.place].callable, {}) == callable;
}

/// A state is a dict of members, or a pair of it, or None, and of one for slots.
RESHARD_DECL std::optional<pickle_value>
pickle::find_member(pickle_value value, std::string_view name, std::string_view what) const {
    using kind = pickle_value::kind;
    pickle_value const state = object(value, what).state;
    if (state.what == kind::dict)
        return find(state, name, what);
    if (state.what == kind::tuple && state.count == 2)
        for (pickle_value const one : elements(state, what))
            if (auto const found = one.what == kind::dict ? find(one, name, what) : std::nullopt)
                return found;
    return std::nullopt;
}

RESHARD_DECL pickle_value pickle::member(pickle_value value, std::string_view name,
                                         std::string_view what) const {
    auto const found = find_member(value, name, what);
    if (!found)
        fail(errc::corrupt_file, file_, ": ", what, " lacks '", name, "'");
    return *found;
}

} // namespace reshard::detail

#endif
