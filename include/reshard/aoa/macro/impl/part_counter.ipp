// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_PART_COUNTER_IPP
#define RESHARD_AOA_MACRO_IMPL_PART_COUNTER_IPP

#include <reshard/aoa/macro/parts.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/operation.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

namespace reshard::aoa::detail {

RESHARD_DECL std::optional<index_t> part_counter::before(statement const& about, std::uint32_t i,
                                                         index_t axis) const {
    followed_axis at{chain_.version(about, i), axis};
    if (at.version == name_chain::none)
        return std::nullopt;
    while (chain_.maker(at.version) != name_chain::none) {
        step();
        statement const& maker = chain_.statements()[chain_.maker(at.version)];
        if (code_.is_broken(maker))
            throw no_value{};
        if (maker.left != 1)
            throw ambiguous(at.version, "made of several tensors");
        go_back(maker, at);
        at.version = chain_.version(maker, 0);
        if (at.version == name_chain::none)
            return std::nullopt;
    }
    auto const parts = parts_of_key(at.version, at.axis);
    check_doubt(parts, chain_.version(about, i), at);
    return parts;
}

RESHARD_DECL std::optional<index_t> part_counter::after(statement const& about, std::uint32_t i,
                                                        index_t axis) const {
    std::unordered_set<std::uint32_t> visited;
    std::optional<index_t> index;
    vector<followed_axis> open{{chain_.version(about, i), axis}};
    while (!open.empty()) {
        step();
        followed_axis const at = open.back();
        open.pop_back();
        if (at.version == name_chain::none || !visited.insert(at.version).second)
            continue;
        auto const parts =
            chain_.is_last(at.version) ? parts_of_key(at.version, at.axis) : std::nullopt;
        check_doubt(parts, chain_.version(about, i), at);
        if (parts)
            settle(chain_.version(about, i), index, *parts);
        else
            add_readers(at, open);
    }
    return index;
}

RESHARD_DECL void part_counter::step() const {
    if (!steps_.take(1))
        throw statement_error{errc::limit_exceeded, steps_.refusal(), {}};
}

RESHARD_DECL void part_counter::go_back(statement const& maker, followed_axis& at) const {
    auto const& list = code_.attributes(maker);
    for (auto each_attribute = list.rbegin(); each_attribute != list.rend(); ++each_attribute)
        if (each_attribute->word == "permute") {
            auto const order = permutation_of(*each_attribute);
            at.axis = order.empty() ? ~at.axis : order[index_in(order, at.axis)];
        } else {
            note_doubt(maker, *each_attribute, at);
        }
}

RESHARD_DECL void part_counter::go_on(statement const& reader, followed_axis& at) const {
    for (attribute const& each_attribute : code_.attributes(reader))
        if (each_attribute.word == "permute") {
            auto const order = permutation_of(each_attribute);
            auto const ndim = static_cast<index_t>(order.size());
            index_t const wanted = at.axis < 0 ? at.axis + ndim : at.axis;
            auto const match = std::ranges::find(order, wanted);
            if (order.empty())
                at.axis = ~at.axis;
            else if (match != order.end())
                at.axis = match - order.begin();
        } else {
            note_doubt(reader, each_attribute, at);
        }
}

RESHARD_DECL void part_counter::note_doubt(statement const& statement, attribute const& by,
                                           followed_axis& at) {
    if (by.word == "slice" || by.word == "resize")
        at.doubt = "sliced or resized on the way";
    else if (by.word == "reshape" || by.word == "squeeze" || by.word == "unsqueeze")
        at.doubt = "reshaped on the way";
    else if (by.word == "axis" && statement.left + statement.right > 2 && may_be(by, at.axis))
        at.doubt = statement.left > 1 ? "joined with others along that axis"
                                      : "cut from another tensor along that axis";
}

RESHARD_DECL bool part_counter::may_be(attribute const& by, index_t axis) {
    auto const* const number = std::get_if<index_t>(&by.value);
    return !number || *number == axis || (*number < 0) != (axis < 0);
}

RESHARD_DECL void part_counter::check_doubt(std::optional<index_t> parts, std::uint32_t version,
                                            followed_axis const& at) const {
    if (at.doubt && parts && *parts > 1)
        throw ambiguous(version, at.doubt);
}

RESHARD_DECL vector<index_t> part_counter::permutation_of(attribute const& permute) {
    if (!std::holds_alternative<std::string>(permute.value))
        return {};
    return parse_list(permute);
}

RESHARD_DECL std::size_t part_counter::index_in(vector<index_t> const& order, index_t axis) {
    auto const ndim = static_cast<index_t>(order.size());
    index_t const index = axis < 0 ? axis + ndim : axis;
    return static_cast<std::size_t>(std::clamp<index_t>(index, 0, ndim - 1));
}

RESHARD_DECL void part_counter::add_readers(followed_axis const& from,
                                            vector<followed_axis>& open) const {
    chain_.for_each_reader(from.version, [&](statement const& reader) {
        if (code_.is_broken(reader))
            throw no_value{};
        if (reader.right != 1)
            throw ambiguous(from.version, "cut into several tensors");
        followed_axis at = from;
        go_on(reader, at);
        at.version = chain_.version(reader, reader.left);
        open.push_back(at);
    });
}

RESHARD_DECL void part_counter::settle(std::uint32_t version, std::optional<index_t>& index,
                                       index_t parts) const {
    if (index && *index != parts)
        throw ambiguous(version, "used for tensors of " + std::to_string(*index) + " and of " +
                                     counted(parts, "part"));
    index = parts;
}

RESHARD_DECL std::optional<index_t> part_counter::parts_of_key(std::uint32_t version,
                                                               index_t axis) const {
    name const& called = chain_.name_of(version);
    if (called.kind != name::kind_type::text)
        return std::nullopt;
    std::string const key(code_.text(called));
    std::optional<index_t> parts;
    add_parts(key, axis, parts);
    for (state_suffix const& each_suffix : suffixes_)
        if (!each_suffix.scalar && (!each_suffix.is_found || !keys_.find(key)))
            add_parts(key_of_state(key, each_suffix), axis, parts);
    return parts;
}

RESHARD_DECL void part_counter::add_parts(std::string const& key, index_t axis,
                                          std::optional<index_t>& parts) const {
    catalog_entry const* const entry = keys_.find(key);
    if (!entry)
        return;
    auto const ndim = static_cast<index_t>(entry->shape.size());
    index_t const index = axis < 0 ? axis + ndim : axis;
    if (index < 0 || index >= ndim)
        throw statement_error{
            errc::shape_mismatch,
            words("'", key, "' has ", counted(entry->shape.size(), "axis"), ", but no axis ", axis),
            {},
            key};
    reached_.push_back({entry, static_cast<std::size_t>(index)});
    index_t const count = entry->parts[static_cast<std::size_t>(index)];
    if (!entry->is_even(static_cast<std::size_t>(index)))
        throw statement_error{errc::bad_macro,
                              words("the ", side_, " cuts '", key, "' into ", count,
                                    " parts along axis ", index,
                                    " that are not equal; a fused tensor has equal parts"),
                              {},
                              key};
    if (parts && *parts != count)
        throw statement_error{errc::bad_macro,
                              words("'", key, "' is cut into ", count,
                                    count == 1 ? " part" : " parts", " along axis ", index,
                                    ", but the parameter or another state into ", *parts),
                              {},
                              key};
    parts = count;
}

RESHARD_DECL statement_error part_counter::ambiguous(std::uint32_t version, std::string why) const {
    std::string const key(code_.text(chain_.name_of(version)));
    return {errc::bad_macro,
            "the number of parts into which the " + side_ + " cuts '" + key +
                "' cannot be determined: it is " + std::move(why),
            {},
            key};
}

} // namespace reshard::aoa::detail

#endif
