// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_VERSION_TABLE_IPP
#define RESHARD_AOA_IMPL_VERSION_TABLE_IPP

#include <reshard/aoa/version_table.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

RESHARD_DECL version_table::version_table(program const& code)
    : code_(code), places_(code.text_count() + code.fresh_count()) {
    for (std::uint32_t i = 0; i < code.statements().size(); ++i)
        record(i);
}

RESHARD_DECL std::uint32_t version_table::at(statement const& of, std::size_t i) const {
    return version_of_[of.names + i];
}

RESHARD_DECL std::size_t version_table::place(name const& one) const {
    BOOST_ASSERT(one.kind != name::kind_type::nothing);
    return one.id + (one.kind == name::kind_type::fresh ? code_.text_count() : 0);
}

RESHARD_DECL std::uint32_t version_table::make(name const& one, std::uint32_t maker) {
    versions_.push_back({one, maker});
    return places_[place(one)].last = static_cast<std::uint32_t>(versions_.size() - 1);
}

RESHARD_DECL std::uint32_t version_table::read(name const& one) {
    name_entry& meant = places_[place(one)];
    if (meant.last == none)
        meant.source = make(one, none);
    return meant.last;
}

RESHARD_DECL void version_table::record(std::uint32_t i) {
    statement const& one = code_.statements()[i];
    std::size_t const end = one.names + one.left + one.right;
    version_of_.resize(std::max(version_of_.size(), end), none);
    if (is_removal(code_, one))
        places_[place(code_.left(one)[0])].removed_by = i;
    else if (is_addition(code_, one))
        places_[place(code_.right(one)[0])].added_by = i;
    else
        for (std::uint32_t k = 0; k < one.left + one.right; ++k) {
            name const& each_name = code_.names(one)[k];
            version_of_[one.names + k] = k < one.left ? read(each_name) : make(each_name, i);
        }
}

} // namespace reshard::aoa::detail

#endif
