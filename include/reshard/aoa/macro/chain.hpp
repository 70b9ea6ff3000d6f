// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CHAIN_HPP
#define RESHARD_AOA_MACRO_CHAIN_HPP

#include <reshard/aoa/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Which tensors an intermediate is made of and becomes, so that the fused macros know how
/// those are cut.

namespace reshard::aoa {

/// How the versions of names hang together: a name that is bound twice has two versions.
///
/// \par Source the mapping chain of AOA (PaddlePaddle flex_checkpoint), which goes by names: there
///             a temporary that is bound twice, read twice or transposed gets another tensor's
///             number of parts
class name_chain {
public:
    name_chain(program const& code, std::vector<statement> const& statements)
        : statements_(statements),
          text_versions_(code.text_count(), none),
          fresh_versions_(code.fresh_count(), none) {
        for (std::uint32_t i = 0; i < statements_.size(); ++i)
            record(code, i);
    }

    static constexpr std::uint32_t none = 0xffffffff;

    std::vector<statement> const& statements() const { return statements_; }

    std::size_t version_count() const { return versions_.size(); }

    /// The version that name number `i` of a statement reads or binds.
    std::uint32_t version(statement const& of, std::uint32_t i) const {
        return version_of_[of.names + i];
    }
    /// The name that a version is of.
    name const& name_of(std::uint32_t version) const { return versions_[version].called; }

    /// The statement that binds a version, or `none`: a tensor of the source.
    std::uint32_t maker(std::uint32_t version) const { return versions_[version].maker; }

    /// Calls `visit` with each statement that reads a version.
    template <class Visit>
    void for_each_reader(std::uint32_t version, Visit const& visit) const {
        for (std::uint32_t i = versions_[version].first_read; i != none; i = reads_[i].next)
            visit(statements_[reads_[i].reader]);
    }

    /// Whether no later statement binds the name again.
    bool is_last(std::uint32_t version) const {
        name const& called = versions_[version].called;
        return (called.kind == name::kind_type::fresh ? fresh_versions_
                                                      : text_versions_)[called.id] == version;
    }

private:
    struct entry {
        name called;
        std::uint32_t maker = none;
        std::uint32_t first_read = none;
    };

    struct read_entry {
        std::uint32_t reader;
        std::uint32_t next; ///< of the same version
    };

    std::uint32_t& current(name const& one) {
        return (one.kind == name::kind_type::fresh ? fresh_versions_ : text_versions_)[one.id];
    }

    std::uint32_t bind(name const& one, std::uint32_t maker) {
        versions_.push_back({one, maker, none});
        return current(one) = static_cast<std::uint32_t>(versions_.size() - 1);
    }

    void record(program const& code, std::uint32_t i) {
        statement const& one = statements_[i];
        version_of_.resize(
            std::max<std::size_t>(version_of_.size(), one.names + one.left + one.right), none);
        for (std::uint32_t k = 0; k < one.left + one.right; ++k) {
            name const& each_name = code.names(one)[k];
            if (each_name.kind == name::kind_type::nothing)
                continue;
            if (k >= one.left)
                version_of_[one.names + k] = bind(each_name, i);
            else
                version_of_[one.names + k] = read(each_name, i);
        }
    }

    std::uint32_t read(name const& one, std::uint32_t reader) {
        std::uint32_t const version = current(one) == none ? bind(one, none) : current(one);
        std::uint32_t& first = versions_[version].first_read;
        reads_.push_back({reader, first});
        first = static_cast<std::uint32_t>(reads_.size() - 1);
        return version;
    }

    std::vector<statement> statements_;
    std::vector<entry> versions_;
    std::vector<read_entry> reads_;
    std::vector<std::uint32_t> version_of_; ///< by place of the name in the program
    std::vector<std::uint32_t> text_versions_, fresh_versions_;
};

} // namespace reshard::aoa

#endif
