// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CHAIN_HPP
#define RESHARD_AOA_MACRO_CHAIN_HPP

#include <reshard/aoa/program.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Which tensors an intermediate is made of and becomes, so that the fused macros know how
/// those are cut.

namespace reshard::aoa::detail {

/// How the versions of names hang together: a name that is bound twice has two versions.
///
/// \par Source the mapping chain of AOA (PaddlePaddle flex_checkpoint), which goes by names: there
///             a temporary that is bound twice, read twice or transposed gets another tensor's
///             number of parts
class name_chain {
public:
    name_chain(program const& code, std::vector<statement> const& statements);

    static constexpr std::uint32_t none = 0xffffffff;

    std::vector<statement> const& statements() const { return statements_; }

    std::size_t version_count() const { return versions_.size(); }

    /// The version that name number `i` of a statement reads or binds.
    std::uint32_t version(statement const& of, std::uint32_t i) const;
    /// The name that a version is of.
    name const& name_of(std::uint32_t version) const { return versions_[version].called; }

    /// The statement that binds a version, or `none`: a tensor of the source.
    std::uint32_t maker(std::uint32_t version) const { return versions_[version].maker; }

    /// Calls `visit` with each statement that reads a version.
    void for_each_reader(std::uint32_t version, auto const& visit) const {
        for (std::uint32_t i = versions_[version].first_read; i != none; i = reads_[i].next)
            visit(statements_[reads_[i].reader]);
    }

    /// Whether no later statement binds the name again.
    bool is_last(std::uint32_t version) const;

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

    std::uint32_t& current(name const& name);

    std::uint32_t bind(name const& name, std::uint32_t maker);

    void record(program const& code, std::uint32_t i);

    std::uint32_t read(name const& name, std::uint32_t reader);

    std::vector<statement> statements_;
    std::vector<entry> versions_;
    std::vector<read_entry> reads_;
    std::vector<std::uint32_t> version_of_; ///< by place of the name in the program
    std::vector<std::uint32_t> text_versions_, fresh_versions_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/chain.ipp>
#endif

#endif
