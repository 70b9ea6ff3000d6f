// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DESTRUCTION_HPP
#define RESHARD_AOA_DESTRUCTION_HPP

#include <reshard/aoa/check.hpp>
#include <reshard/aoa/macro/chain.hpp>
#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Which statement of a program destroys what.

namespace reshard::aoa::detail {

/// For each version of a name, the first statement of some kind among those that read it or what is
/// made of it.
///
/// One pass from the last version to the first: what a statement makes comes after what it reads.
class downstream {
public:
    static constexpr std::uint32_t none = name_chain::none;

    /// `is_wanted` says of a statement whether it is of the kind that is sought.
    template <class IsWanted>
    downstream(program const& code, name_chain const& chain, IsWanted const& is_wanted)
        : code_(code), first_(chain.version_count(), none), source_(code.text_count(), none) {
        for (auto version = static_cast<std::uint32_t>(chain.version_count()); version-- > 0;) {
            chain.for_each_reader(version, [&](statement const& reader) {
                first_[version] = std::min(first_[version], found_at(chain, reader, is_wanted));
            });
            name const& called = chain.name_of(version);
            if (chain.maker(version) == none && called.kind == name::kind_type::text)
                source_[called.id] = version;
        }
    }

    /// The number of the first such statement behind the source tensor of that key, or `none`.
    std::uint32_t of(std::string_view key) const;

private:
    template <class IsWanted>
    std::uint32_t found_at(name_chain const& chain, statement const& reader,
                           IsWanted const& is_wanted) const {
        if (is_wanted(reader))
            return static_cast<std::uint32_t>(&reader - chain.statements().data());
        std::uint32_t found = none;
        for (std::uint32_t i = reader.left; i < reader.left + reader.right; ++i)
            if (std::uint32_t const made = chain.version(reader, i); made != none)
                found = std::min(found, first_[made]);
        return found;
    }

    program const& code_;
    std::vector<std::uint32_t> first_;  ///< by version
    std::vector<std::uint32_t> source_; ///< by text: the version that the source has
};

} // namespace reshard::aoa::detail

namespace reshard::aoa {

namespace detail {

/// Finds the statements that destroy information; asks the program only about what is lost.
class destruction_finder {
public:
    destruction_finder(program const& code, lowering const& lowered);

    destruction find(loss const& lost);

    /// Whether all that is lost of a tensor is in values that nothing uses.
    bool is_dropped(loss const& lost, source_usage const& used) const;

private:
    static constexpr std::uint32_t none = downstream::none;

    void place(destruction& result, std::uint32_t number) const;

    dropped_value const* dropped_of(loss const& lost) const;

    std::uint32_t removal_of(std::string_view key);

    std::uint32_t rounding_of(std::string_view key, data_type dtype);

    /// The statement that takes a part of the tensor only.
    std::uint32_t cut_of(std::string_view key);

    name_chain const& chain();

    program const& code_;
    lowering const& lowered_;
    /// Of each source tensor, the dropped values that have elements of it, and which.
    std::unordered_map<key_id, std::vector<std::pair<std::size_t, box>>> dropped_;
    std::unordered_map<std::string_view, std::uint32_t> removals_;
    std::map<data_type, std::optional<downstream>> roundings_;
    std::optional<downstream> cuts_;
    std::optional<name_chain> chain_;
};

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/destruction.ipp>
#endif

#endif
