// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATEMENT_GROUP_HPP
#define RESHARD_AOA_STATEMENT_GROUP_HPP

#include <reshard/aoa/program.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>

/// \file
/// Statements that are one to the user.

namespace reshard::aoa {

/// The statements that macros have made of one that the user wrote, for one set of numbers: those
/// that hang together by temporaries.
class statement_group {
public:
    /// Finds the group of a statement; of one that does not stand in the program, it is alone.
    statement_group(program const& whole, statement const& one)
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

    std::span<statement const> statements() const { return {first_, last_}; }

    /// The statement that makes a temporary, or null.
    statement const* maker(name const& temporary) const {
        for (statement const& one : statements())
            for (name const& made : whole_.right(one))
                if (made.kind == temporary.kind && made.id == temporary.id)
                    return &one;
        return nullptr;
    }

private:
    void look_at(statement const& one) {
        for (name const& read : whole_.left(one))
            if (read.kind == name::kind_type::fresh && unread_.erase(read.id) == 0 &&
                !made_.contains(read.id))
                unmade_.insert(read.id);
        for (name const& made : whole_.right(one))
            if (made.kind == name::kind_type::fresh && made_.insert(made.id).second)
                unread_.insert(made.id);
    }

    void look_before(statement const& one) {
        for (name const& made : whole_.right(one))
            if (made.kind == name::kind_type::fresh)
                unmade_.erase(made.id);
        for (name const& read : whole_.left(one))
            if (read.kind == name::kind_type::fresh)
                unmade_.insert(read.id);
    }

    program const& whole_;
    statement const* first_;
    statement const* last_;
    std::unordered_set<std::uint32_t> made_, unread_, unmade_; ///< temporaries
};

} // namespace reshard::aoa

#endif
