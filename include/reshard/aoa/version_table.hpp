// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_VERSION_TABLE_HPP
#define RESHARD_AOA_VERSION_TABLE_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/vector.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// \file
/// Finds the value of a name at a position in a program. A name may be bound again, but a value
/// never changes.

namespace reshard::aoa::detail {

/// The values of a program, by number: the source tensors that its statements read, and all values
/// that they bind.
class version_table {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    /// \pre the program has been expanded, and outlives this object
    explicit version_table(program const& code)
        : code_(code), places_(code.text_count() + code.fresh_count()) {
        for (std::uint32_t i = 0; i < code.statements().size(); ++i)
            record(i);
    }

    std::size_t size() const { return versions_.size(); }

    /// The value of name number `i` in a statement: an operand on the left of the arrow, a result
    /// on the right. `_`, and the name on the other side of it, have no value.
    std::uint32_t at(statement const& of, std::size_t i) const { return version_of_[of.names + i]; }

    /// The name that a value is bound to.
    name const& called(std::uint32_t version) const { return versions_[version].called; }

    /// The statement that makes a value; `none` for a source tensor.
    std::uint32_t maker(std::uint32_t version) const { return versions_[version].maker; }

    /// Whether the name still has this value at the end of the program.
    bool is_last(std::uint32_t version) const {
        return places_[place(called(version))].last == version;
    }

    /// \name For text number `id`
    /// \{

    /// The source tensor of this name, or `none` if no statement reads it.
    std::uint32_t source(std::uint32_t id) const { return places_[id].source; }
    /// The value of the name at the end; `none` if no statement binds or reads it, except together
    /// with `_`.
    std::uint32_t last(std::uint32_t id) const { return places_[id].last; }
    /// The statement that removes or adds the tensor of this name, or `none`.
    std::uint32_t removed_by(std::uint32_t id) const { return places_[id].removed_by; }
    std::uint32_t added_by(std::uint32_t id) const { return places_[id].added_by; }
    /// \}

private:
    struct entry {
        name called;
        std::uint32_t maker = none;
    };

    struct name_entry {
        std::uint32_t source = none;
        std::uint32_t last = none;
        std::uint32_t removed_by = none;
        std::uint32_t added_by = none;
    };

    std::size_t place(name const& name) const {
        BOOST_ASSERT(name.kind != name::kind_type::nothing);
        return name.id + (name.kind == name::kind_type::fresh ? code_.text_count() : 0);
    }

    std::uint32_t make(name const& name, std::uint32_t maker) {
        versions_.push_back({name, maker});
        return places_[place(name)].last = static_cast<std::uint32_t>(versions_.size() - 1);
    }

    std::uint32_t read(name const& name) {
        name_entry& meant = places_[place(name)];
        if (meant.last == none)
            meant.source = make(name, none);
        return meant.last;
    }

    void record(std::uint32_t i) {
        statement const& statement = code_.statements()[i];
        std::size_t const end = statement.names + statement.left + statement.right;
        version_of_.resize(std::max(version_of_.size(), end), none);
        if (is_removal(code_, statement))
            places_[place(code_.left(statement)[0])].removed_by = i;
        else if (is_addition(code_, statement))
            places_[place(code_.right(statement)[0])].added_by = i;
        else
            for (std::uint32_t k = 0; k < statement.left + statement.right; ++k) {
                name const& each_name = code_.names(statement)[k];
                version_of_[statement.names + k] =
                    k < statement.left ? read(each_name) : make(each_name, i);
            }
    }

    program const& code_;
    vector<entry> versions_;
    vector<name_entry> places_;        ///< texts, then temporaries
    vector<std::uint32_t> version_of_; ///< by index of the name in the program
};

} // namespace reshard::aoa::detail

#endif
