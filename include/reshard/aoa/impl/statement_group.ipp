// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATEMENT_GROUP_IPP
#define RESHARD_AOA_IMPL_STATEMENT_GROUP_IPP

#include <reshard/aoa/statement_group.hpp>

#include <reshard/core/config.hpp>

#include <functional>

namespace reshard::aoa::detail {

RESHARD_DECL statement_group::statement_group(program const& whole, statement const& one)
    : whole_(whole), first_(&one), last_(&one + 1) {
    auto const& all = whole.statements();
    std::less<> const before;
    if (before(&one, all.data()) || !before(&one, all.data() + all.size()))
        return;
    look_at(one);
    while (!unread_.empty() && last_ != all.data() + all.size() && last_->where == one.where)
        look_at(*last_++);
    while (!unmade_.empty() && first_ != all.data() && (first_ - 1)->where == one.where)
        look_before(*--first_);
}

RESHARD_DECL statement const* statement_group::maker(name const& temporary) const {
    for (statement const& one : statements())
        for (name const& made : whole_.right(one))
            if (made.kind == temporary.kind && made.id == temporary.id)
                return &one;
    return nullptr;
}

RESHARD_DECL void statement_group::look_at(statement const& one) {
    for (name const& read : whole_.left(one))
        if (read.kind == name::kind_type::fresh && unread_.erase(read.id) == 0 &&
            !made_.contains(read.id))
            unmade_.insert(read.id);
    for (name const& made : whole_.right(one))
        if (made.kind == name::kind_type::fresh && made_.insert(made.id).second)
            unread_.insert(made.id);
}

RESHARD_DECL void statement_group::look_before(statement const& one) {
    for (name const& made : whole_.right(one))
        if (made.kind == name::kind_type::fresh)
            unmade_.erase(made.id);
    for (name const& read : whole_.left(one))
        if (read.kind == name::kind_type::fresh)
            unmade_.insert(read.id);
}

} // namespace reshard::aoa::detail

#endif
