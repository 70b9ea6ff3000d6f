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
            characters_.substr(value.position, std::min<std::size_t>(value.count, most));
        return "'" + shown + (value.count > most ? "...'" : "'");
    };
    switch (value.type) {
    case kind::none: return "None";
    case kind::boolean: return value.position ? "True" : "False";
    case kind::integer:
        return "the number " + std::to_string(static_cast<std::int64_t>(value.position));
    case kind::long_integer: return words("a number of ", bytes_[value.position].size(), " bytes");
    case kind::real: return "the number " + std::to_string(std::bit_cast<double>(value.position));
    case kind::text: return "the string " + characters();
    case kind::long_text: return words("a string of ", bytes_[value.position].size(), " bytes");
    case kind::bytes: return words(bytes_[value.position].size(), " bytes");
    case kind::tuple: return words("a tuple of ", value.count);
    case kind::size: return words("a torch.Size of ", value.count);
    case kind::list: return words("a list of ", runs_[value.position].count);
    case kind::set: return words("a set of ", runs_[value.position].count);
    case kind::dict: return words("a dict of ", runs_[value.position].count / 2);
    case kind::global:
    case kind::unknown: return "the name " + characters();
    case kind::object:
        return "an object of " + described(objects_[value.position].callable).substr(9);
    case kind::persistent_id: return "something outside the pickle";
    }
    return "nothing";
}

RESHARD_DECL std::uint64_t pickle::memory() const {
    return characters_.size() + values_.size() * sizeof(pickle_value) + runs_.size() * sizeof(run) +
           objects_.size() * sizeof(pickle_object) + ids_.size() * sizeof(pickle_value) +
           bytes_.size() * sizeof(byte_run);
}

RESHARD_DECL void pickle::refuse(std::string_view noun, pickle_value value,
                                 std::string_view expected) const {
    fail(errc::corrupt_file, file_, ": ", noun, " should be ", expected, ", but is ",
         described(value));
}

RESHARD_DECL std::string_view pickle::text(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::text)
        refuse(noun, value, words("a string of at most ", pickle_value::most_text_bytes, " bytes"));
    return std::string_view(characters_).substr(value.position, value.count);
}

RESHARD_DECL std::int64_t pickle::integer(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::integer)
        refuse(noun, value, "a whole number");
    return static_cast<std::int64_t>(value.position);
}

RESHARD_DECL bool pickle::boolean(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::boolean)
        refuse(noun, value, "True or False");
    return value.position != 0;
}

RESHARD_DECL double pickle::real(pickle_value value, std::string_view noun) const {
    if (value.type == pickle_value::kind::integer)
        return static_cast<double>(static_cast<std::int64_t>(value.position));
    if (value.type != pickle_value::kind::real)
        refuse(noun, value, "a number");
    return std::bit_cast<double>(value.position);
}

RESHARD_DECL byte_run pickle::bytes(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::bytes)
        refuse(noun, value, "bytes");
    return bytes_[value.position];
}

RESHARD_DECL byte_run pickle::unread(pickle_value value, std::string_view noun) const {
    using kind = pickle_value::kind;
    if (value.type != kind::long_integer && value.type != kind::long_text)
        refuse(noun, value, "a long string, or a whole number of more than 8 bytes");
    return bytes_[value.position];
}

RESHARD_DECL std::span<pickle_value const> pickle::elements(pickle_value value,
                                                            std::string_view noun) const {
    using kind = pickle_value::kind;
    if (value.type == kind::object) {
        pickle_value const arguments = objects_[value.position].arguments;
        if (arguments.count == 1 && values_[arguments.position].type == kind::tuple)
            value = values_[arguments.position];
    }
    if (value.type == kind::tuple || value.type == kind::size)
        return std::span(values_).subspan(value.position, value.count);
    if (value.type != kind::list && value.type != kind::set)
        refuse(noun, value, "a tuple or a list");
    return std::span(values_).subspan(runs_[value.position].first, runs_[value.position].count);
}

RESHARD_DECL pickle_pairs pickle::pairs(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::dict)
        refuse(noun, value, "a dict");
    run const& of = runs_[value.position];
    return {std::span(values_).subspan(of.first, of.count)};
}

RESHARD_DECL pickle_object const& pickle::object(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::object)
        refuse(noun, value, "an object");
    return objects_[value.position];
}

RESHARD_DECL pickle_value pickle::persistent_id(pickle_value value, std::string_view noun) const {
    if (value.type != pickle_value::kind::persistent_id)
        refuse(noun, value, "something outside the pickle");
    return ids_[value.position];
}

RESHARD_DECL std::string_view pickle::global(pickle_value value, std::string_view noun) const {
    using kind = pickle_value::kind;
    if (value.type != kind::global && value.type != kind::unknown)
        refuse(noun, value, "the name of a class or a function");
    return std::string_view(characters_).substr(value.position, value.count);
}

RESHARD_DECL std::optional<std::string_view> pickle::unknown_class(pickle_value value) const {
    if (value.type == pickle_value::kind::object)
        value = objects_[value.position].callable;
    if (value.type != pickle_value::kind::unknown)
        return std::nullopt;
    return global(value, {});
}

RESHARD_DECL std::optional<pickle_value> pickle::find(pickle_value dict, std::string_view key,
                                                      std::string_view noun) const {
    std::optional<pickle_value> value;
    pickle_pairs const pickle_pairs = pairs(dict, noun);
    for (std::size_t i = 0; i < pickle_pairs.size(); ++i)
        if (pickle_pairs[i].key.type == pickle_value::kind::text &&
            text(pickle_pairs[i].key, noun) == key)
            value = pickle_pairs[i].value;
    return value;
}

RESHARD_DECL pickle_value pickle::at(pickle_value dict, std::string_view key,
                                     std::string_view noun) const {
    auto const match = find(dict, key, noun);
    if (!match)
        fail(errc::corrupt_file, file_, ": ", noun, " lacks '", key, "'");
    return *match;
}

RESHARD_DECL bool pickle::is_made_by(pickle_value value, std::string_view callable) const {
    return value.type == pickle_value::kind::object &&
           global(objects_[value.position].callable, {}) == callable;
}

/// The state of an object is a dict of members, or a pair: a dict of members or None, and a dict
/// for slots.
RESHARD_DECL std::optional<pickle_value>
pickle::find_member(pickle_value value, std::string_view name, std::string_view noun) const {
    using kind = pickle_value::kind;
    pickle_value const state = object(value, noun).state;
    if (state.type == kind::dict)
        return find(state, name, noun);
    if (state.type == kind::tuple && state.count == 2)
        for (pickle_value const pickle_value : elements(state, noun))
            if (auto const match =
                    pickle_value.type == kind::dict ? find(pickle_value, name, noun) : std::nullopt)
                return match;
    return std::nullopt;
}

RESHARD_DECL pickle_value pickle::member(pickle_value value, std::string_view name,
                                         std::string_view noun) const {
    auto const member = find_member(value, name, noun);
    if (!member)
        fail(errc::corrupt_file, file_, ": ", noun, " lacks '", name, "'");
    return *member;
}

RESHARD_DECL bool is_enumeration(std::string_view maker) {
    for (std::string_view const module :
         {"megatron.core.enums.", "megatron.core.transformer.enums."})
        if (maker.starts_with(module) && maker.size() > module.size()) {
            char const first = maker[module.size()];
            return first >= 'A' && first <= 'Z';
        }
    return false;
}

RESHARD_DECL bool is_enumerator(pickle const& values, pickle_object const& object) {
    using kind = pickle_value::kind;
    std::string_view const maker = values.global(object.callable, {});
    if (maker != "__builtin__.getattr" && maker != "builtins.getattr")
        return false;
    auto const arguments = values.elements(object.arguments, {});
    if (arguments.size() != 2 || arguments[0].type != kind::global ||
        arguments[1].type != kind::text)
        return false;
    std::string_view const name = values.text(arguments[1], {});
    auto const is_of_name = [](char each) {
        return each == '_' || (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') ||
               (each >= 'a' && each <= 'z');
    };
    return is_enumeration(values.global(arguments[0], {})) && !name.empty() &&
           name.front() != '_' && std::all_of(name.begin(), name.end(), is_of_name);
}

} // namespace reshard::detail

#endif
