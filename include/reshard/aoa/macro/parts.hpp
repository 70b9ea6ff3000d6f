// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_PARTS_HPP
#define RESHARD_AOA_MACRO_PARTS_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/list_text.hpp>
#include <reshard/aoa/macro/chain.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/catalog.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Into how many parts a tensor of a program is cut along an axis, in the source or in the target.

namespace reshard::aoa {

struct macro_context;

} // namespace reshard::aoa

namespace reshard::aoa::detail {

/// A key that names were followed to, and the axis of it that is the one asked for.
struct reached_key {
    catalog_entry const* entry;
    std::size_t axis;

    index_t parts() const { return entry->parts[axis]; }

    /// Another axis that is cut, or nothing.
    std::optional<std::size_t> other_cut() const {
        for (std::size_t other = 0; other < entry->parts.size(); ++other)
            if (other != axis && entry->parts[other] > 1)
                return other;
        return std::nullopt;
    }
};

/// Follows names to the keys of one side. An axis less than 0 counts from the end: -1 is the last
/// one.
class part_counter {
public:
    part_counter(program const& code, name_chain const& chain, catalog const& keys,
                 std::string side, std::vector<state_suffix> const& suffixes, budget& steps)
        : code_(code),
          chain_(chain),
          keys_(keys),
          side_(std::move(side)),
          suffixes_(suffixes),
          steps_(steps) {}

    /// The parts of the tensor that name number `i` of a statement is made of, or nothing.
    ///
    /// \throws statement_error with errc::bad_macro when it is made of several tensors, or when
    ///         parameter and state are cut differently; errc::shape_mismatch when there is no such
    ///         axis; errc::limit_exceeded when it takes more steps than are left; no_value
    ///         after an earlier error
    std::optional<index_t> before(statement const& about, std::uint32_t i, index_t axis) const {
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

    /// The parts of the tensor that name number `i` of a statement becomes, or nothing.
    ///
    /// \throws as `before`; also when it becomes several tensors that are cut differently
    std::optional<index_t> after(statement const& about, std::uint32_t i, index_t axis) const {
        std::unordered_set<std::uint32_t> seen;
        std::optional<index_t> found;
        std::vector<followed_axis> open{{chain_.version(about, i), axis}};
        while (!open.empty()) {
            step();
            followed_axis const at = open.back();
            open.pop_back();
            if (at.version == name_chain::none || !seen.insert(at.version).second)
                continue;
            auto const parts =
                chain_.is_last(at.version) ? parts_of_key(at.version, at.axis) : std::nullopt;
            check_doubt(parts, chain_.version(about, i), at);
            if (parts)
                settle(chain_.version(about, i), found, *parts);
            else
                add_readers(at, open);
        }
        return found;
    }

    /// The keys that both have looked at, of one that threw as well.
    std::vector<reached_key> const& reached() const { return reached_; }

private:
    void step() const {
        if (!steps_.take(1))
            throw statement_error{errc::limit_exceeded, steps_.refusal(), {}};
    }

    /// An axis of a tensor on the way to a key, and why its parts may be others there.
    struct followed_axis {
        std::uint32_t version;
        index_t axis;
        char const* doubt = nullptr; ///< null: they are the same
    };

    /// Goes from the axis `at` of what a statement makes to that of what it reads.
    void go_back(statement const& maker, followed_axis& at) const {
        auto const& list = code_.attributes(maker);
        for (auto each_attribute = list.rbegin(); each_attribute != list.rend(); ++each_attribute)
            if (each_attribute->word == "permute") {
                auto const order = permutation_of(*each_attribute);
                at.axis = order.empty() ? ~at.axis : order[index_in(order, at.axis)];
            } else {
                note_doubt(maker, *each_attribute, at);
            }
    }

    /// Goes from the axis `at` of what a statement reads to that of what it makes.
    void go_on(statement const& reader, followed_axis& at) const {
        for (attribute const& each_attribute : code_.attributes(reader))
            if (each_attribute.word == "permute") {
                auto const order = permutation_of(each_attribute);
                auto const ndim = static_cast<index_t>(order.size());
                index_t const wanted = at.axis < 0 ? at.axis + ndim : at.axis;
                auto const found = std::ranges::find(order, wanted);
                if (order.empty())
                    at.axis = ~at.axis;
                else if (found != order.end())
                    at.axis = found - order.begin();
            } else {
                note_doubt(reader, each_attribute, at);
            }
    }

    /// Notes when an attribute cuts or joins a tensor so that parts along the axis are not those of
    /// the other side.
    static void note_doubt(statement const& one, attribute const& by, followed_axis& at) {
        if (by.word == "slice" || by.word == "resize")
            at.doubt = "of another extent on the way";
        else if (by.word == "reshape")
            at.doubt = "reshaped on the way";
        else if (by.word == "axis" && one.left + one.right > 2 && may_be(by, at.axis))
            at.doubt = one.left > 1 ? "joined with others along that axis"
                                    : "cut from another tensor along that axis";
    }

    /// Whether an attribute may mean that axis: of a tensor that is not known, the last axis and
    /// axis 0 may be one.
    static bool may_be(attribute const& by, index_t axis) {
        auto const* const number = std::get_if<index_t>(&by.value);
        return !number || *number == axis || (*number < 0) != (axis < 0);
    }

    /// \throws statement_error where the parts of the key are more than one, and may be others
    void check_doubt(std::optional<index_t> parts, std::uint32_t version,
                     followed_axis const& at) const {
        if (at.doubt && parts && *parts > 1)
            throw ambiguous(version, at.doubt);
    }

    static std::vector<index_t> permutation_of(attribute const& permute) {
        if (!std::holds_alternative<std::string>(permute.value))
            return {};
        return parse_list(permute);
    }

    static std::size_t index_in(std::vector<index_t> const& order, index_t axis) {
        auto const ndim = static_cast<index_t>(order.size());
        index_t const place = axis < 0 ? axis + ndim : axis;
        return static_cast<std::size_t>(std::clamp<index_t>(place, 0, ndim - 1));
    }

    void add_readers(followed_axis const& from, std::vector<followed_axis>& open) const {
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

    void settle(std::uint32_t version, std::optional<index_t>& found, index_t parts) const {
        if (found && *found != parts)
            throw ambiguous(version, "used for tensors of " + std::to_string(*found) + " and of " +
                                         counted(parts, "part"));
        found = parts;
    }

    /// The parts of a key along an axis: of the parameter and of its states, which must agree.
    std::optional<index_t> parts_of_key(std::uint32_t version, index_t axis) const {
        name const& called = chain_.name_of(version);
        if (called.kind != name::kind_type::text)
            return std::nullopt;
        std::string const key(code_.text(called));
        std::optional<index_t> parts;
        add_parts(key, axis, parts);
        for (state_suffix const& each_suffix : suffixes_)
            if (!each_suffix.scalar)
                add_parts(key + each_suffix.suffix, axis, parts);
        return parts;
    }

    void add_parts(std::string const& key, index_t axis, std::optional<index_t>& parts) const {
        catalog_entry const* const entry = keys_.find(key);
        if (!entry)
            return;
        auto const ndim = static_cast<index_t>(entry->shape.size());
        index_t const place = axis < 0 ? axis + ndim : axis;
        if (place < 0 || place >= ndim)
            throw statement_error{errc::shape_mismatch,
                                  words("'", key, "' has ", counted(entry->shape.size(), "axis"),
                                        " and no axis ", axis),
                                  {},
                                  key};
        reached_.push_back({entry, static_cast<std::size_t>(place)});
        index_t const count = entry->parts[static_cast<std::size_t>(place)];
        if (!entry->is_even(static_cast<std::size_t>(place)))
            throw statement_error{errc::bad_macro,
                                  words("the ", side_, " cuts '", key, "' into ", count,
                                        " parts along axis ", place,
                                        " that are not equal, and those of a fused tensor are"),
                                  {},
                                  key};
        if (parts && *parts != count)
            throw statement_error{errc::bad_macro,
                                  words("'", key, "' is cut into ", count,
                                        count == 1 ? " part" : " parts", " along axis ", place,
                                        ", and the parameter or another state into ", *parts),
                                  {},
                                  key};
        parts = count;
    }

    statement_error ambiguous(std::uint32_t version, std::string why) const {
        std::string const key(code_.text(chain_.name_of(version)));
        return {errc::bad_macro,
                "the number of parts into which the " + side_ + " cuts '" + key +
                    "' cannot be determined: it is " + std::move(why),
                {},
                key};
    }

    program const& code_;
    name_chain const& chain_;
    catalog const& keys_;
    std::string side_;
    std::vector<state_suffix> const& suffixes_;
    budget& steps_;
    mutable std::vector<reached_key> reached_;
};

/// Reports where no tensor of the statement of a macro is cut along the macro's axis, but one is
/// along another: as a warning, or as a note where the statement names its axis, which else is 1.
///
/// \param word the macro
RESHARD_DECL void report_uncut_axis(macro_context& context, statement const& one,
                                    std::string_view word, std::optional<index_t> named);

/// Warns of a tensor of so many groups of heads that the target cuts inside one of them.
///
/// \param word the macro
RESHARD_DECL void report_cut_groups(macro_context& context, statement const& one,
                                    std::string_view word, index_t axis, index_t groups);

/// Warns of a tensor of which a rank holds several parts along the axis: these are not the parts of
/// ranks that the macro interleaves. The tool refuses it.
///
/// \param counter what was found on that side
RESHARD_DECL void report_scattered(macro_context& context, statement const& one,
                                   std::string_view word, index_t axis, part_counter const& counter,
                                   std::string_view side);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/parts.ipp>
#endif

#endif
