// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATEMENT_TRACE_IPP
#define RESHARD_AOA_IMPL_STATEMENT_TRACE_IPP

#include <reshard/aoa/statement_trace.hpp>

#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/core/config.hpp>

#include <unordered_set>

namespace reshard::aoa {

RESHARD_DECL statement_trace::statement_trace(program const& code)
    : code_(code),
      chain_(code, code.statements()),
      last_(code.text_count(), detail::name_chain::none),
      suffixes_(detail::with_scales(code.state_suffixes(), code)) {
    for (std::uint32_t version = 0; version < chain_.version_count(); ++version)
        if (name const& called = chain_.name_of(version); called.kind == name::kind_type::text)
            last_[called.id] = version;
    for (std::size_t i = 0; i < code.statements().size(); ++i)
        if (statement const& one = code.statements()[i]; is_addition(code, one))
            added_.emplace(code.text(code.right(one)[0]), i);
}

namespace detail {

/// The tensor of which a key has the scales, as patterns of a program say; otherwise the key.
inline std::string scaled_by(program const& code, std::string_view key) {
    for (scale_pattern const& pattern : scale_patterns(code))
        if (auto tensor = pattern.tensor_of(key))
            return std::move(*tensor);
    return std::string(key);
}

} // namespace detail

RESHARD_DECL std::vector<std::size_t> statement_trace::between(std::string_view source,
                                                               std::string_view target) const {
    auto id = code_.find(target);
    if (!id) {
        target = detail::parameter_of(target, suffixes_);
        source = detail::parameter_of(source, suffixes_);
        id = code_.find(target);
    }
    std::string const scaled = id ? std::string() : detail::scaled_by(code_, target);
    std::string const scaling = id ? std::string() : detail::scaled_by(code_, source);
    if (!id) {
        source = scaling;
        id = code_.find(target = scaled);
    }
    return makers(
        id, [&](std::uint32_t version) { return code_.text(chain_.name_of(version)) == source; });
}

RESHARD_DECL std::vector<std::size_t> statement_trace::leading_to(std::string_view target) const {
    auto id = code_.find(target);
    if (!id)
        id = code_.find(target = detail::parameter_of(target, suffixes_));
    std::string const scaled = id ? std::string() : detail::scaled_by(code_, target);
    if (!id)
        id = code_.find(target = scaled);
    std::vector<std::size_t> numbers = makers(id, [](std::uint32_t) { return true; });
    if (auto const place = added_.find(target); numbers.empty() && place != added_.end())
        numbers.push_back(place->second);
    return numbers;
}

RESHARD_DECL std::vector<std::uint32_t> statement_trace::behind(std::uint32_t version) const {
    std::unordered_set<std::uint32_t> seen{version};
    std::vector<std::uint32_t> open{version};
    for (std::size_t next = 0; next < open.size(); ++next) {
        std::uint32_t const maker = chain_.maker(open[next]);
        if (maker == detail::name_chain::none)
            continue;
        statement const& one = chain_.statements()[maker];
        for (std::uint32_t i = 0; i < one.left; ++i)
            if (std::uint32_t const read = chain_.version(one, i);
                read != detail::name_chain::none && seen.insert(read).second)
                open.push_back(read);
    }
    std::ranges::sort(open);
    return open;
}

} // namespace reshard::aoa

#endif
