// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_EQUAL_CLASSES_HPP
#define RESHARD_PLAN_EQUAL_CLASSES_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Finds equal things, so that the work for them is done once.

namespace reshard::detail {

/// Numbers things so that equal ones, and only those, have the same number.
struct equal_classes {
    std::vector<std::uint32_t> class_of;       ///< by thing
    std::vector<std::uint32_t> representative; ///< by class: one of its things
};

/// A hash table of classes by the digest of their things, small where there are few classes.
class class_table {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    struct slot {
        std::uint64_t digest = 0;
        std::uint32_t number = none;
    };

    /// The slot of the class of that digest for which `is_it(number)`, or the empty one for it.
    template <class IsIt>
    constexpr slot& find(std::uint64_t digest, IsIt&& is_it) {
        std::size_t at = digest & mask();
        while (slots_[at].number != none &&
               (slots_[at].digest != digest || !is_it(slots_[at].number)))
            at = (at + 1) & mask();
        return slots_[at];
    }

    /// Makes room for one more than `count` classes.
    constexpr void make_room(std::size_t count) {
        if (2 * (count + 1) <= slots_.size())
            return;
        std::vector<slot> const before =
            std::exchange(slots_, std::vector<slot>(2 * slots_.size()));
        for (slot const& one : before)
            if (one.number != none)
                find(one.digest, [](std::uint32_t) { return false; }) = one;
    }

private:
    constexpr std::size_t mask() const { return slots_.size() - 1; }

    /// A power of two of them, at most half of them taken.
    std::vector<slot> slots_ = std::vector<slot>(16);
};

/// Things 0 to `digests.size() - 1` by equality: `equal(i, j)` is asked only where digests are
/// equal.
///
/// A model of 126 equal layers is planned for one: that is a hundredfold.
///
/// \pre  equal things have equal digests
/// \post classes are numbered as their first things come, which represent them
template <class Equal>
constexpr equal_classes classify(std::vector<std::uint64_t> const& digests, Equal&& equal) {
    equal_classes result;
    result.class_of.reserve(digests.size());
    class_table table;
    for (std::uint32_t i = 0; i < digests.size(); ++i) {
        table.make_room(result.representative.size());
        auto& found = table.find(digests[i], [&](std::uint32_t number) {
            return equal(result.representative[number], i);
        });
        if (found.number == class_table::none) {
            found = {digests[i], static_cast<std::uint32_t>(result.representative.size())};
            result.representative.push_back(i);
        }
        result.class_of.push_back(found.number);
    }
    return result;
}

} // namespace reshard::detail

#endif
