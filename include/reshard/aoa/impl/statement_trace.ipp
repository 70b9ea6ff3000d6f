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
        if (statement const& statement = code.statements()[i]; is_addition(code, statement))
            added_.emplace(code.text(code.right(statement)[0]), i);
}

namespace detail {

/// The tensor that has `key` as its scales, by the program's patterns; otherwise `key` itself.
inline std::string scaled_by(program const& code, std::string_view key) {
    for (scale_pattern const& pattern : scale_patterns(code))
        if (auto tensor = pattern.tensor_of(key))
            return std::move(*tensor);
    return std::string(key);
}

} // namespace detail

RESHARD_DECL auto statement_trace::named(std::string_view key) const
    -> std::optional<named_parameter> {
    if (auto const id = code_.find(key))
        return named_parameter{*id, nullptr};
    std::optional<named_parameter> found_parameter;
    detail::any_parameter(key, suffixes_,
                          [&](std::string_view parameter, state_suffix const& state) {
                              if (auto const id = code_.find(parameter))
                                  found_parameter = named_parameter{*id, &state};
                              return found_parameter.has_value();
                          });
    return found_parameter;
}

RESHARD_DECL vector<std::size_t> statement_trace::between(std::string_view source,
                                                          std::string_view target) const {
    auto result = named(target);
    std::string const scaled = result ? std::string() : detail::scaled_by(code_, target);
    if (!result)
        result = named(scaled);
    if (!result)
        return {};
    std::string const scaling = scaled.empty() ? scaled : detail::scaled_by(code_, source);
    return makers(result->id, [&](std::uint32_t version) {
        std::string_view const read = code_.text(chain_.name_of(version));
        auto const is_read = [&](std::string_view parameter, state_suffix const&) {
            return parameter == read;
        };
        return read == source || read == scaling ||
               (result->state && detail::any_parameter(source, suffixes_, is_read));
    });
}

RESHARD_DECL vector<std::size_t> statement_trace::leading_to(std::string_view target) const {
    auto result = named(target);
    std::string const scaled = result ? std::string() : detail::scaled_by(code_, target);
    if (!result)
        result = named(scaled);
    if (!result)
        return {};
    vector<std::size_t> numbers = makers(result->id, [](std::uint32_t) { return true; });
    name const called{name::kind_type::text, false, result->id, {}};
    if (auto const position = added_.find(code_.text(called));
        numbers.empty() && position != added_.end())
        numbers.push_back(position->second);
    return numbers;
}

RESHARD_DECL vector<std::uint32_t> statement_trace::behind(std::uint32_t version) const {
    std::unordered_set<std::uint32_t> visited{version};
    vector<std::uint32_t> open{version};
    for (std::size_t next = 0; next < open.size(); ++next) {
        std::uint32_t const maker = chain_.maker(open[next]);
        if (maker == detail::name_chain::none)
            continue;
        statement const& statement = chain_.statements()[maker];
        for (std::uint32_t i = 0; i < statement.left; ++i)
            if (std::uint32_t const read = chain_.version(statement, i);
                read != detail::name_chain::none && visited.insert(read).second)
                open.push_back(read);
    }
    std::ranges::sort(open);
    return open;
}

} // namespace reshard::aoa

#endif
