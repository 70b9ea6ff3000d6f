// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_PLAN_HPP
#define RESHARD_FORMAT_CHECKPOINT_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/layout/layout.hpp>

#include <string>
#include <vector>

/// \file
/// A checkpoint that is to be written: all of it but the data.

namespace reshard::detail {

/// What opening the checkpoint will give, and what stands in its files before the data.
///
/// \invariant `headers` and `ranks` have an entry for each of `metadata.files`, whose paths are
///            names
struct checkpoint_plan {
    checkpoint_metadata metadata;
    std::vector<std::string> headers; ///< the first bytes of each file; the data follows
    std::vector<holder_t> ranks;      ///< the rank of the layout whose shards a file holds
    std::string index;                ///< the text of `model.safetensors.index.json`, or nothing
};

/// Sharded safetensors that hold the layout: a file for each rank that holds what no lower rank
/// does.
///
/// A rank with several shards of one key has several files, since a key stands once in a file.
/// There is at least one file.
///
/// \pre    the layout is checked (see `check` of descriptors)
/// \throws error as `plan_safetensors` does
RESHARD_DECL checkpoint_plan plan_sharded(layout const& target);

/// A Hugging Face directory of whole tensors, in files of at most `most_bytes` bytes of data each
/// (but one tensor at least), with an index where there are several.
///
/// \throws error as `plan_safetensors` does; errc::overflow when all bytes together do not fit 64
///         bits
RESHARD_DECL checkpoint_plan plan_huggingface(catalog const& tensors,
                                              index_t most_bytes = 5'000'000'000);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_plan.ipp>
#endif

#endif
