// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MAKE_FINDING_HPP
#define RESHARD_AOA_MAKE_FINDING_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

/// \file
/// Turns a statement's error into a finding. Its message has the names that the user wrote, and
/// never names of temporaries.

namespace reshard::aoa {

namespace detail {

/// The statements that macros have made from one of the user's statements, for one combination of
/// numbers. Temporaries connect these statements.
class statement_group {
public:
    /// Finds the group of a statement. A statement that is not in the program is a group by itself.
    statement_group(program const& whole_program, statement const& statement);

    std::span<statement const> statements() const { return {first_, last_}; }

    /// The statement that makes a temporary, or null.
    statement const* maker(name const& temporary) const;

private:
    void look_at(statement const& statement);

    void look_before(statement const& statement);

    program const& whole_;
    statement const* first_;
    statement const* last_;
    std::unordered_set<std::uint32_t> made_, unread_, unmade_; ///< temporaries
};

/// The ending of the temporary for `x^T`, after the name of `x`.
inline constexpr std::string_view transposed_ending = "_transpose_tmp";

/// A name as the user would write it, without `^T`. For a temporary, it is the name of the tensor
/// that the temporary replaces.
RESHARD_DECL std::string written_name(program const& whole_program, name const& name);

/// The user's statement in the form that messages show: with the names of the tensors to which the
/// error applies. Empty if this equals the text. A statement without temporaries is printed
/// unchanged.
RESHARD_DECL std::string shown_statement(program const& whole_program, statement const& statement);

RESHARD_DECL vector<name> written_behind(program const& whole_program, statement const& statement,
                                         name const& which);

RESHARD_DECL std::string plain_text(program const& whole_program, name const& name);

/// A statement's name in the form that messages show: `x^T` for a transpose by a macro, `a, b` for
/// a temporary of both tensors, and the full tensor for a part of it.
RESHARD_DECL std::string shown_name(program const& whole_program, statement const& statement,
                                    name const& which);

/// The tensor of a statement's name, or the first tensor that the name has a part of.
inline std::string shown_key(program const& whole_program, statement const& statement,
                             name const& which) {
    return plain_text(whole_program, written_behind(whole_program, statement, which).front());
}

} // namespace detail

/// The first tensor in a statement.
RESHARD_DECL std::string first_key(program const& whole_program, statement const& statement);

/// The tensor of an error in a statement, if the message names another tensor than the statement.
RESHARD_DECL std::string key_of(program const& whole_program, statement const& statement,
                                std::string const& called);

namespace detail {

/// Turns an error in a statement into a finding. If the error has no tensor, the finding gets the
/// first tensor of the statement.
RESHARD_DECL finding make_finding(program const& whole_program, statement const& statement,
                                  statement_error const& error);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/make_finding.ipp>
#endif

#endif
