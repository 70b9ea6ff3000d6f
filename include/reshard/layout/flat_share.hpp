// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_FLAT_SHARE_HPP
#define RESHARD_LAYOUT_FLAT_SHARE_HPP

#include <reshard/layout/descriptor.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <string>

/// \file
/// Elements in a row, shared out among ranks: the shards of ZeRO, of what tensor parallelism left.

namespace reshard {

/// Share `index` of `count` of `elements` elements in a row.
///
/// Shares have elements / count elements, rounded up; the last ones are shorter, or empty at the
/// end.
///
/// \par Units  elements
/// \post       the shares tile `0:elements` in order
/// \throws     error with errc::bad_layout for a share that is not one of `count`
constexpr flat_range flat_share(index_t elements, index_t index, index_t count) {
    BOOST_ASSERT(elements >= 0);
    if (index < 0 || index >= count)
        fail(errc::bad_layout, "there is no flat share " + std::to_string(index) + " of " +
                                   std::to_string(count) + "; shares are numbered from 0");
    index_t const most = elements / count + (elements % count != 0);
    if (most == 0 || index > elements / most)
        return {elements, elements};
    return {index * most, index * most + std::min(most, elements - index * most)};
}

/// Share `index` of `count` of the elements of a shard, in the order in which it stores them.
///
/// The region stays what it is, so that shares of one shard are seen to belong together; a flat
/// shard is cut again.
///
/// \throws     error as `check` of descriptors and as `flat_share`, naming the key
/// \par Source flattened ranges of Megatron-Core's distributed optimizer: data parallel ranks share
///             the flattened tensor parallel shard
constexpr shard_descriptor flat_share(shard_descriptor shard, index_t index, index_t count) {
    check(shard);
    if (index < 0 || index >= count)
        fail(errc::bad_layout, "'" + shard.key + "': there is no flat share " +
                                   std::to_string(index) + " of " + std::to_string(count) +
                                   "; shares are numbered from 0");
    flat_range const all = shard.flat.value_or(flat_range{0, element_count(shard.region)});
    flat_range const share = flat_share(all.size(), index, count);
    shard.flat = flat_range{all.begin + share.begin, all.begin + share.end};
    return shard;
}

} // namespace reshard

#endif
