// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ANALYSIS_IMPL_BALANCE_IPP
#define RESHARD_ANALYSIS_IMPL_BALANCE_IPP

#include <reshard/analysis/balance.hpp>

#include <reshard/plan/flows.hpp>
#include <reshard/plan/load_balance.hpp>
#include <reshard/plan/sender_classes.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace reshard {

namespace detail {

inline plan_balance::extreme extreme_of(std::vector<index_t> const& bytes, index_t least) {
    if (bytes.empty())
        return {};
    auto const most = std::max_element(bytes.begin(), bytes.end());
    return {static_cast<holder_t>(most - bytes.begin()), *most, std::min(least, *most)};
}

} // namespace detail

RESHARD_DECL plan_balance balance_of(plan_flows const& flows, holder_t processes) {
    plan_options const& options = flows.options();
    std::vector<index_t> sent(processes, 0), received(processes, 0);
    std::vector<index_t> left(processes, 0); // by node
    for (std::size_t kind = 0; kind < flows.size(); ++kind)
        flows.for_each(kind, [&](detail::flow const& flow) {
            if (flow.source == flow.target)
                return;
            constexpr auto noun = "the bytes of a rank";
            index_t const bytes = detail::checked_multiply(flow.bytes, flows.count(kind), noun);
            index_t& source = sent[flow.source];
            index_t& target = received[flow.target];
            source = detail::checked_add(source, bytes, noun);
            target = detail::checked_add(target, bytes, noun);
            if (holder_t const node = options.node_of(flow.source);
                node != options.node_of(flow.target))
                left[node] += bytes;
        });
    detail::load_balance const best(flows.loads(), processes, options.processes_per_node);
    plan_balance result;
    result.sender = detail::extreme_of(sent, best.sender().bound);
    result.receiver =
        detail::extreme_of(received, *std::max_element(received.begin(), received.end()));
    if (options.processes_per_node > 1)
        result.link = detail::extreme_of(left, best.link().bound);
    return result;
}

} // namespace reshard

#endif
