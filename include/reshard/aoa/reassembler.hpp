// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_REASSEMBLER_HPP
#define RESHARD_AOA_REASSEMBLER_HPP

#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/mirror.hpp>
#include <reshard/aoa/reassembly.hpp>
#include <reshard/expr/slice.hpp>

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// Tensors that several statements hold pieces of and none holds whole: statements that put them
/// together.

namespace reshard::aoa::detail {

/// Writes statements that read tensors of the target alone, so that they can come before all
/// others.
class reassembler {
public:
    /// All have to outlive this; `map` is the program as it stands.
    reassembler(program& code, mirror& written, mapping const& map);

    /// Puts a tensor of the source together under a temporary name; nothing where the target has
    /// not all of it. `like` says where that is in the text, and what is declared.
    std::optional<name> write(catalog_entry const& entry, statement const& like);

    /// Whether a statement that has been written reads a tensor of the target.
    bool reads(std::string const& key) const { return read_.contains(key); }

private:
    static attribute text(std::string word, std::string value, text_span where) {
        return {std::move(word), std::move(value), '"', where};
    }

    static attribute slice(box const& region, index_vector const& shape, text_span where);

    /// What makes a cell of the tensor that has it: the piece is cut out and undone, then cut.
    static attribute_list steps(reassembled::cell const& one, text_span where);

    /// Joins cells along the last axis, and what that gives along the one before it.
    name joined(std::vector<name> names, reassembled const& grid, statement const& like);

    program& code_;
    mirror& written_;
    reassembly found_;
    std::unordered_set<std::string> read_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/reassembler.ipp>
#endif

#endif
