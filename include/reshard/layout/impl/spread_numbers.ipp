// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_SPREAD_NUMBERS_IPP
#define RESHARD_LAYOUT_IMPL_SPREAD_NUMBERS_IPP

#include <reshard/core/digest.hpp>
#include <reshard/layout/compact_layout.hpp>

#include <boost/unordered/unordered_map.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace reshard::detail {

/// Numbers ways of spreading, equal ones alike.
class spread_numbers {
public:
    explicit spread_numbers(std::vector<tensor_spread>& spreads) : spreads_(spreads) {}

    std::uint32_t number_of(tensor_spread spread);

private:
    static std::uint64_t digest_of(tensor_spread const& spread);

    std::vector<tensor_spread>& spreads_;
    boost::unordered_multimap<std::uint64_t, std::uint32_t> known_;
};

inline std::uint32_t spread_numbers::number_of(tensor_spread spread) {
    std::uint64_t const digest = digest_of(spread);
    auto const [first, last] = known_.equal_range(digest);
    for (auto place = first; place != last; ++place)
        if (spreads_[place->second] == spread)
            return place->second;
    auto const number = static_cast<std::uint32_t>(spreads_.size());
    known_.emplace(digest, number);
    spreads_.push_back(std::move(spread));
    return number;
}

inline std::uint64_t spread_numbers::digest_of(tensor_spread const& spread) {
    tensor_shards const shards = spread.view();
    hasher digest;
    digest.add(spread.shape);
    shards.add_geometry(digest);
    digest.add(std::uint64_t{shards.size()});
    if (shards.size() > 0)
        digest.add(std::uint64_t{shards.holder(0)} << 32 | shards.holder(shards.size() - 1));
    return digest.value();
}

} // namespace reshard::detail

#endif
