// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_VERIFY_HPP
#define RESHARD_STORAGE_VERIFY_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/chunk_reader.hpp>

#include <string>

/// \file
/// Compares all data of a checkpoint with the digests that were saved with it.

namespace reshard {

/// The result of comparing all data of a checkpoint with its digests.
struct verification {
    index_t bytes = 0;                ///< compared bytes
    vector<detail::bad_chunk> bad;    ///< chunks that differ
    vector<std::string> unverified{}; ///< files without digests

    bool ok() const { return bad.empty(); }
};

namespace detail {

/// The bad chunks that process `rank` of `size` finds. It compares every `size`-th tensor. If
/// processes see different files, it compares the files that it sees and lower processes do not
/// see.
RESHARD_DECL vector<bad_chunk> bad_chunks(checkpoint const& source, int rank, int size,
                                          progress_function const& progress);

/// Throws if tensors with shards in files without digests are not tiled by their shards, as
/// `convert` does. A digest shows that a file is as it was saved; it does not show that all of the
/// tensor was saved.
///
/// Process `rank` of `size` checks every `size`-th tensor.
///
/// \throws error with errc::not_covered or errc::overlap
RESHARD_DECL void check_tiling(checkpoint const& source, int rank, int size);

/// The number of bytes with digests, and the files without digests. Reads no data.
RESHARD_DECL verification verifiable(checkpoint const& source);

} // namespace detail

/// Compares all data of a checkpoint with the saved digests. Opening the checkpoint has compared
/// the record, and the headers and sizes of files. Shards without digests must tile their tensors.
///
/// Each rank reads every `size`-th tensor. If ranks see different files, each rank reads tensors in
/// the files that it sees.
///
/// \param progress gets the number of bytes that this rank has compared, and the number that it has
///                 to compare
/// \throws error with errc::not_covered or errc::overlap as `detail::check_tiling`
/// \par Collective every rank of the group, with the same checkpoint
verification verify(group auto const& world, checkpoint const& source,
                    detail::progress_function const& progress = {}) {
    detail::compared_values fingerprint;
    fingerprint.add_digest("checkpoint of that name", detail::digest_of(source.metadata()));
    detail::agree_to_run(world, detail::call_on("verify", source), fingerprint);
    vector<detail::bad_chunk> chunks;
    agree_on(world, [&] {
        detail::check_tiling(source, world.rank(), world.size());
        chunks = detail::bad_chunks(source, world.rank(), world.size(), progress);
    });
    verification result = detail::verifiable(source);
    for (auto const& of_rank : detail::gather_values(world, chunks))
        result.bad.insert(result.bad.end(), of_rank.begin(), of_rank.end());
    return result;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/verify.ipp>
#endif

#endif
