// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REASSEMBLER_HPP
#define RESHARD_AOA_REASSEMBLER_HPP

#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/slice.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

/// \file
/// Reassembles tensors that no statement has as a whole, but that several statements have in
/// pieces.

namespace reshard::aoa::detail {

/// A tensor as a grid of cells. Each cell is inside one piece of the target.
struct reassembled {
    struct cell {
        box region; ///< box in the tensor
        mapping_output const* output;
        piece covering; ///< piece of `output` that contains the cell
    };
    index_vector counts; ///< number of cells along each axis
    vector<cell> cells;  ///< in row-major order
};

/// Finds the pieces of each source tensor.
class reassembly {
public:
    /// \pre the mapping outlives this object
    explicit reassembly(mapping const& map) : map_(map) {}

    /// A grid of cells for a source tensor. std::nullopt if the target lacks some of its elements
    /// or changes their values, or if there would be more than `most` pieces or cells.
    std::optional<reassembled> find(std::string_view key);

private:
    static constexpr std::size_t most = 1024;

    struct found_piece {
        mapping_output const* output;
        piece covering;
        box region; ///< box in the source tensor
    };

    /// Groups the tensors by key and the pieces by source, on the first call.
    void sort();

    static bool is_reversible(piece const& candidate);

    /// Pieces that together cover a tensor. Each piece has elements that the earlier pieces lack.
    vector<found_piece> needed(key_id source);

    static vector<index_t> cuts_along(std::size_t axis, vector<found_piece> const& pieces,
                                      box const& box);

    static reassembled fill(vector<vector<index_t>> const& cuts, vector<found_piece> const& pieces,
                            std::size_t count);

    mapping const& map_;
    std::unordered_map<std::string_view, key_id> ids_;
    /// For each source: outputs, and the indices of their pieces.
    std::unordered_map<key_id, vector<std::pair<mapping_output const*, std::size_t>>> by_source_;
};

/// Writes the statements of a reversed program, and keeps them separate from the program's own
/// statements.
class reverse_statement {
public:
    /// \pre the program outlives this object
    explicit reverse_statement(program& code) : code_(code) {}

    /// A temporary with a name derived from `like`.
    name fresh(name const& like, std::string_view ending);

    /// Appends `from -> to` with attributes.
    void add(name const& from, name const& to, attribute_list list, statement const& like);

    /// Appends `from -> to, axis=axis`.
    void add_concat(vector<name> const& from, name const& to, index_t axis, statement const& like);

    /// Appends `from -> to`, at the position of `like` in the text.
    void add_bare(name const& from, name const& to, statement const& like);

    /// Appends the inverse of `statement`: it reads the names on the right, and binds `to` to the
    /// tensors that `statement` has read.
    /// If operands or results need different attributes, each gets a separate statement. If some
    /// results of a reversed concat are not needed, each needed result is cut out separately.
    void add_inverse(statement const& statement, inverse_statement inverse,
                     vector<std::optional<name>> const& to);

    /// Replaces the program's statements by the appended statements.
    void replace_statements();

private:
    static void append(attribute_list& list, attribute_list const& more) {
        list.insert(list.end(), more.begin(), more.end());
    }

    static bool are_same(name const& a, name const& b);

    /// Appends a statement for each needed result. The statement that rebinds their operand is
    /// last.
    void add_parts(statement statement, inverse_statement inverse,
                   vector<std::optional<name>> const& to);

    void add_whole(statement statement, inverse_statement inverse, vector<name> const& to);

    /// Changes each operand in a separate statement.
    void change(statement const& like, vector<attribute_list>& lists, vector<name>& names);

    statement with(statement const& like, attribute_list list);

    program& code_;
    vector<statement> written_;
};

/// Writes statements that read only tensors of the target, so that they can precede all other
/// statements.
class reassembler {
public:
    /// \pre all arguments outlive this object. \param map the mapping of the program itself
    reassembler(program& code, reverse_statement& written, mapping const& map);

    /// Reassembles a source tensor as a temporary; std::nullopt if the target lacks some of its
    /// elements. `like` gives the position in the text, and the declarations.
    std::optional<name> write(catalog_entry const& entry, statement const& like);

    /// Whether one of the written statements reads a target tensor.
    bool reads(std::string const& key) const { return read_.contains(key); }

private:
    static attribute text(std::string word, std::string value, text_span where) {
        return {std::move(word), std::move(value), '"', where};
    }

    static attribute slice(box const& region, index_vector const& shape, text_span where);

    /// The attributes that make a cell from the output that contains it: cut the piece out, undo
    /// its operations, then cut the cell out.
    static attribute_list steps(reassembled::cell const& cell, text_span where);

    /// Joins cells along the last axis, then the results along the previous axis, and so on.
    name joined(vector<name> names, reassembled const& grid, statement const& like);

    program& code_;
    reverse_statement& written_;
    reassembly found_;
    std::unordered_set<std::string> read_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/reassembler.ipp>
#endif

#endif
