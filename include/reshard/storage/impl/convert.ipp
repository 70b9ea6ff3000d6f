// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CONVERT_IPP
#define RESHARD_STORAGE_IMPL_CONVERT_IPP

#include <reshard/storage/convert.hpp>

#include <reshard/expr/digest.hpp>
#include <reshard/storage/strict_keys.hpp>

namespace reshard {

namespace detail {

RESHARD_DECL checkpoint_plan files_of(mapping const& program, convert_options const& options,
                                      strict_verdict& verdict) {
    if (options.strict && options.wanted)
        verdict = judge_keys(*options.strict, *options.wanted, keys_of(program));
    return verdict.left_out.empty()
               ? files_for(program, options.wanted, options.writing)
               : files_for(program, without_left_out(*options.wanted, verdict), options.writing);
}

RESHARD_DECL index_t fill_files(bound_plan const& bound, progress_function const& progress) {
    index_t all = 0, done = 0, read = 0;
    for (transfer const& transfer : bound.whole.transfers)
        all = checked_add(all, wire_bytes(bound.whole, transfer), "the bytes of all transfers");
    for (transfer const& transfer : bound.whole.transfers) {
        run_locally(bound, transfer);
        done += wire_bytes(bound.whole, transfer);
        if (transfer.source_key != zero_source)
            read = checked_add(read,
                               byte_count(element_count(cut_of(bound.whole, transfer).extent),
                                          bound.whole.source_dtypes[transfer.source_key]),
                               "the bytes read");
        if (progress)
            progress(done, all);
    }
    return read;
}

RESHARD_DECL index_t data_bytes(checkpoint_metadata const& written) {
    index_t bytes = 0;
    for (checkpoint_tensor const& tensor : written.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            bytes = checked_add(bytes, static_cast<index_t>(shard.end - shard.begin),
                                "the bytes of all shards");
    return bytes;
}

RESHARD_DECL std::uint64_t digest_of_call(checkpoint const& source, mapping const& program,
                                          checkpoint_plan const& files,
                                          convert_options const& options) {
    hasher digest;
    digest.add(digest_of(source.metadata()));
    digest.add(digest_of(program));
    digest.add(digest_of(files.metadata));
    add_value(digest, options.writing);
    add_value(digest, options.strict);
    return digest.value();
}

} // namespace detail

} // namespace reshard

#endif
