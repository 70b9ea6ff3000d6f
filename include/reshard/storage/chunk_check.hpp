// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_CHUNK_CHECK_HPP
#define RESHARD_STORAGE_CHUNK_CHECK_HPP

#include <reshard/bind/bind.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The bytes of a checkpoint, compared with the digests that were saved with them.

namespace reshard::detail {

/// A chunk whose bytes are not those that were saved.
///
/// \par Units `begin` and `end` in bytes of the file
struct bad_chunk {
    std::string file;
    std::string key;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t expected = 0; ///< the digest that was saved
    std::uint64_t found = 0;    ///< that of the bytes that are there

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.file, self.key, self.begin, self.end, self.expected, self.found);
    }
};

/// Says which bytes of which tensor, and both digests.
RESHARD_DECL std::string describe(bad_chunk const& chunk);

/// Looks at each chunk at most once. Files without digests have none.
class chunk_check {
public:
    /// \pre `source` lives as long
    explicit chunk_check(checkpoint const& source) : source_(source) {}

    /// Compares the chunks that have bytes of a shard of `source.metadata()`, from `begin` on and
    /// before `end`, counted from the shard's first.
    ///
    /// \return the first chunk that differs, or nothing
    RESHARD_DECL std::optional<bad_chunk> find_bad(std::uint32_t tensor, std::uint32_t shard,
                                                   std::uint64_t begin, std::uint64_t end);

    /// Refuses what a transfer reads, where a chunk of it differs. Of a transfer that skips
    /// elements, all between its first and its last one count.
    ///
    /// \pre    `bound` has the checkpoint's files as its sources
    /// \throws error with errc::corrupt_file as `describe` says
    RESHARD_DECL void check(bound_plan const& bound, transfer const& t);

private:
    std::optional<bad_chunk> find_bad_chunk(checkpoint_tensor const& tensor,
                                            checkpoint_shard const& shard,
                                            std::uint64_t number) const;

    checkpoint const& source_;
    boost::unordered_flat_map<std::pair<std::uint32_t, std::uint32_t>, std::vector<bool>> seen_;
};

/// Refuses chunks that differ, of all that the transfers of a plan read.
///
/// \throws error as `chunk_check::check`
RESHARD_DECL void check_chunks(checkpoint const& source, bound_plan const& bound, bool verify);

/// What one process finds that compares every `step`-th tensor from `first` on.
RESHARD_DECL std::vector<bad_chunk> bad_chunks(checkpoint const& source, std::size_t first,
                                               std::size_t step);

} // namespace reshard::detail

namespace reshard {

/// What comparing all data of a checkpoint with its digests showed.
struct verification {
    index_t bytes = 0;                     ///< that were compared
    std::vector<detail::bad_chunk> bad;    ///< those that differ
    std::vector<std::string> unverified{}; ///< files without digests

    bool ok() const { return bad.empty(); }
};

namespace detail {

/// What can be said before the data is read: how many bytes have digests, and which files none.
RESHARD_DECL verification verifiable(checkpoint const& source);

} // namespace detail

/// Compares all data of a checkpoint with the digests that were saved with it. The record, headers
/// and sizes of files were compared when it was opened.
///
/// Rank `r` reads every `size`-th tensor.
///
/// \par Collective every rank of the group, with the same checkpoint
verification verify(group auto const& world, checkpoint const& source) {
    detail::agree_to_run(world, "verify " + source.metadata().path.string(),
                         detail::digest_of(source.metadata()), {});
    std::vector<detail::bad_chunk> mine;
    agree_on(world, [&] {
        mine = detail::bad_chunks(source, static_cast<std::size_t>(world.rank()),
                                  static_cast<std::size_t>(world.size()));
    });
    verification result = detail::verifiable(source);
    for (auto const& of_rank : detail::gather_values(world, mine))
        result.bad.insert(result.bad.end(), of_rank.begin(), of_rank.end());
    return result;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/chunk_check.ipp>
#endif

#endif
