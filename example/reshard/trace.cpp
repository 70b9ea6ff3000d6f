// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "trace.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tool {

using namespace reshard;

statement_trace::statement_trace(aoa::program const& code)
    : code_(code),
      chain_(code, code.statements()),
      last_(code.text_count(), aoa::name_chain::none) {
    for (std::uint32_t version = 0; version < chain_.version_count(); ++version)
        if (aoa::name const& called = chain_.name_of(version);
            called.kind == aoa::name::kind_type::text)
            last_[called.id] = version;
}

/// The versions that one is made of, and itself, ascending: what a statement reads comes before what it
/// makes.
std::vector<std::uint32_t> statement_trace::behind(std::uint32_t version) const {
    std::unordered_set<std::uint32_t> seen{version};
    std::vector<std::uint32_t> open{version};
    for (std::size_t next = 0; next < open.size(); ++next) {
        std::uint32_t const maker = chain_.maker(open[next]);
        if (maker == aoa::name_chain::none)
            continue;
        aoa::statement const& one = chain_.statements()[maker];
        for (std::uint32_t i = 0; i < one.left; ++i)
            if (std::uint32_t const read = chain_.version(one, i);
                read != aoa::name_chain::none && seen.insert(read).second)
                open.push_back(read);
    }
    std::sort(open.begin(), open.end());
    return open;
}

std::vector<std::size_t> statement_trace::between(std::string_view source,
                                                  std::string_view target) const {
    auto id = code_.find(target);
    if (!id) {
        target = aoa::parameter_of(target, suffixes_);
        source = aoa::parameter_of(source, suffixes_);
        id = code_.find(target);
    }
    if (!id || last_[*id] == aoa::name_chain::none)
        return {};
    std::unordered_map<std::uint32_t, bool> leads; // whether a version comes from the source
    std::vector<std::size_t> numbers;
    for (std::uint32_t const version : behind(last_[*id])) {
        std::uint32_t const maker = chain_.maker(version);
        if (maker == aoa::name_chain::none) {
            leads[version] = code_.text(chain_.name_of(version)) == source;
            continue;
        }
        aoa::statement const& one = chain_.statements()[maker];
        bool found = false;
        for (std::uint32_t i = 0; i < one.left; ++i)
            if (std::uint32_t const read = chain_.version(one, i); read != aoa::name_chain::none)
                found = found || leads[read];
        leads[version] = found;
        if (found)
            numbers.push_back(maker);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

} // namespace tool
