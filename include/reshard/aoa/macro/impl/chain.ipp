// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_CHAIN_IPP
#define RESHARD_AOA_MACRO_IMPL_CHAIN_IPP

#include <reshard/aoa/statement_trace.hpp>

#include <reshard/core/config.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

RESHARD_DECL name_chain::name_chain(program const& code, vector<statement> const& statements)
    : statements_(statements),
      text_versions_(code.text_count(), none),
      fresh_versions_(code.fresh_count(), none) {
    for (std::uint32_t i = 0; i < statements_.size(); ++i)
        record(code, i);
}

RESHARD_DECL std::uint32_t name_chain::version(statement const& of, std::uint32_t i) const {
    return version_of_[of.names + i];
}

RESHARD_DECL bool name_chain::is_last(std::uint32_t version) const {
    name const& called = versions_[version].called;
    return (called.kind == name::kind_type::fresh ? fresh_versions_ : text_versions_)[called.id] ==
           version;
}

RESHARD_DECL std::uint32_t& name_chain::current(name const& name) {
    return (name.kind == name::kind_type::fresh ? fresh_versions_ : text_versions_)[name.id];
}

RESHARD_DECL std::uint32_t name_chain::bind(name const& name, std::uint32_t maker) {
    versions_.push_back({name, maker, none});
    return current(name) = static_cast<std::uint32_t>(versions_.size() - 1);
}

RESHARD_DECL void name_chain::record(program const& code, std::uint32_t i) {
    statement const& statement = statements_[i];
    version_of_.resize(std::max<std::size_t>(version_of_.size(),
                                             statement.names + statement.left + statement.right),
                       none);
    for (std::uint32_t k = 0; k < statement.left + statement.right; ++k) {
        name const& each_name = code.names(statement)[k];
        if (each_name.kind == name::kind_type::nothing)
            continue;
        if (k >= statement.left)
            version_of_[statement.names + k] = bind(each_name, i);
        else
            version_of_[statement.names + k] = read(each_name, i);
    }
}

RESHARD_DECL std::uint32_t name_chain::read(name const& name, std::uint32_t reader) {
    std::uint32_t const version = current(name) == none ? bind(name, none) : current(name);
    std::uint32_t& first = versions_[version].first_read;
    reads_.push_back({reader, first});
    first = static_cast<std::uint32_t>(reads_.size() - 1);
    return version;
}

} // namespace reshard::aoa::detail

#endif
