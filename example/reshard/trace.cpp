// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "trace.hpp"

#include <algorithm>

namespace tool {

using namespace reshard;

namespace {

/// A number for each name of a program.
std::uint64_t number_of(aoa::name const& one) {
    return static_cast<std::uint64_t>(one.kind) << 32 | one.id;
}

} // namespace

/// What is known on the way from a target back to one source.
struct statement_trace::path {
    std::string_view source;
    std::unordered_map<std::size_t, bool> leads; ///< whether a statement comes from the source
};

statement_trace::statement_trace(aoa::program const& code) : code_(code) {
    for (std::size_t i = 0; i < code.statements().size(); ++i)
        for (aoa::name const& made : code.right(code.statements()[i]))
            makers_[number_of(made)].push_back(i);
}

bool statement_trace::follow(path& found, aoa::name const& wanted, std::size_t before) const {
    auto const made = makers_.find(number_of(wanted));
    std::size_t maker = before;
    if (made != makers_.end())
        for (std::size_t const i : made->second)
            maker = i < before ? i : maker;
    if (maker == before)
        return wanted.kind == aoa::name::kind_type::text && code_.text(wanted) == found.source;
    auto const [known, is_new] = found.leads.emplace(maker, false);
    if (!is_new)
        return known->second;
    bool leads = false;
    for (aoa::name const& read : code_.left(code_.statements()[maker]))
        leads = follow(found, read, maker) || leads;
    return found.leads[maker] = leads;
}

std::vector<std::size_t> statement_trace::between(std::string_view source,
                                                  std::string_view target) const {
    auto id = code_.find(target);
    if (!id) {
        target = aoa::parameter_of(target, suffixes_);
        source = aoa::parameter_of(source, suffixes_);
        id = code_.find(target);
    }
    if (!id)
        return {};
    path found{source, {}};
    follow(found, {aoa::name::kind_type::text, false, *id, {}}, code_.statements().size());
    std::vector<std::size_t> numbers;
    for (auto const& [number, leads] : found.leads)
        if (leads)
            numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

} // namespace tool
