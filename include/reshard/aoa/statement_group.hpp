// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATEMENT_GROUP_HPP
#define RESHARD_AOA_STATEMENT_GROUP_HPP

#include <reshard/aoa/program.hpp>

#include <cstdint>
#include <span>
#include <unordered_set>

/// \file
/// Statements that are one to the user.

namespace reshard::aoa::detail {

/// The statements that macros have made of one that the user wrote, for one set of numbers: those
/// that hang together by temporaries.
class statement_group {
public:
    /// Finds the group of a statement; of one that does not stand in the program, it is alone.
    statement_group(program const& whole, statement const& one);

    std::span<statement const> statements() const { return {first_, last_}; }

    /// The statement that makes a temporary, or null.
    statement const* maker(name const& temporary) const;

private:
    void look_at(statement const& one);

    void look_before(statement const& one);

    program const& whole_;
    statement const* first_;
    statement const* last_;
    std::unordered_set<std::uint32_t> made_, unread_, unmade_; ///< temporaries
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/statement_group.ipp>
#endif

#endif
