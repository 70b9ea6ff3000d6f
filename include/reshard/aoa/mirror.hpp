// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MIRROR_HPP
#define RESHARD_AOA_MIRROR_HPP

#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/program.hpp>

#include <optional>
#include <string_view>
#include <vector>

/// \file
/// One statement from right to left, as statements.

namespace reshard::aoa::detail {

/// Writes reversed statements for a program, and keeps them beside those that it has.
class mirror {
public:
    /// The program has to outlive this.
    explicit mirror(program& code) : code_(code) {}

    /// A temporary named after another name.
    name fresh(name const& like, std::string_view ending);

    /// Appends `from -> to` with attributes.
    void add(name const& from, name const& to, attribute_list list, statement const& like);

    /// Appends `from -> to, axis=axis`.
    void add_concat(std::vector<name> const& from, name const& to, index_t axis,
                    statement const& like);

    /// Appends `from -> to`, which stands where `like` stands in the text.
    void add_bare(name const& from, name const& to, statement const& like);

    /// Appends what undoes `one`: its right names are read, and `to` is bound to what it had read.
    ///
    /// Where the operands need different attributes, or the results, each has a statement of its
    /// own. Some results of a concat may be nothing, that is, not wanted: then each of the others
    /// is cut out alone.
    void add_inverse(statement const& one, inverse_statement inverse,
                     std::vector<std::optional<name>> const& to);

    /// Replaces the statements of the program by those that have been appended.
    void replace_statements();

private:
    static void append(attribute_list& list, attribute_list const& more) {
        list.insert(list.end(), more.begin(), more.end());
    }

    static bool are_same(name const& a, name const& b);

    /// A statement for each result that is wanted; that which replaces what they read is last.
    void add_parts(statement one, inverse_statement inverse,
                   std::vector<std::optional<name>> const& to);

    void add_whole(statement one, inverse_statement inverse, std::vector<name> const& to);

    /// Changes each operand in a statement of its own.
    void change(statement const& like, std::vector<attribute_list>& lists,
                std::vector<name>& names);

    statement with(statement const& like, attribute_list list);

    program& code_;
    std::vector<statement> written_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/mirror.ipp>
#endif

#endif
