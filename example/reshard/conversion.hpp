// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_CONVERSION_HPP
#define RESHARD_TOOL_CONVERSION_HPP

#include "job.hpp"
#include "picture/heat_map.hpp"
#include "spec.hpp"

#include <reshard/core/vector.hpp>
#include <reshard/storage/target_files.hpp>

#include <boost/json/object.hpp>

#include <map>
#include <string>

/// \file
/// The reads and writes of `convert`, computed before it starts.

namespace reshard {

class checkpoint;
struct checkpoint_metadata;

} // namespace reshard

namespace tool {

/// A file of the source, and the bytes that are read from it.
struct file_read {
    std::string file;
    reshard::index_t bytes = 0;
};

/// A file that is written, and the rank of the layout that writes it.
struct file_written {
    std::string file;
    reshard::holder_t rank = 0;
    reshard::index_t shards = 0;
    reshard::index_t bytes = 0; ///< bytes of tensors
};

/// The bytes that the process of one rank reads and writes.
struct rank_share {
    reshard::index_t bytes_read = 0;
    reshard::index_t bytes_written = 0;
};

/// The bytes that a conversion reads from each file and writes to each file.
///
/// \par Units bytes of tensors, without headers, and without the rest of chunks that are read to
///            verify them
struct conversion {
    reshard::vector<file_read> read;
    reshard::vector<file_written> written;
    reshard::vector<rank_share> by_rank;
    rank_share all;
    reshard::heat_bins bins;                         ///< bytes by source file and target rank
    std::map<std::string, std::string> aliases = {}; ///< same as `convert_report::aliases`
};

/// The conversion that `convert SOURCE TARGET --layout` makes of these files with these options and
/// `--share-copies`.
///
/// \pre the source is a checkpoint, and the job has a target
/// \throws error as `convert` before it writes
conversion conversion_of(source_spec const& source, job const& full_job,
                         reshard::detail::write_options const& writing, bool share_copies);

/// Refuses `--replicas` and `--per-rank` for a format of another library, which stores each
/// different shard only once.
///
/// \throws error with errc::usage
void check_replicas(bool are_wanted, std::string const& format);

/// Refuses `--share-copies` for a format of another library, which cannot store a second name for a
/// tensor.
///
/// \throws error with errc::usage
void check_shared(bool are_shared, std::string const& format);

/// The reason why a conversion would refuse the source's values that are not tensors; empty if no
/// value would be lost.
///
/// \param format a format's name; empty: safetensors
std::string lost_objects_of(source_spec const& source, std::string const& format);

/// Warns about tensors inside omitted values; returns the number of warnings.
///
/// \param says whether this process prints
std::size_t say_lost_tensors(reshard::checkpoint const& source, bool says);

/// Warns about texts in the source's metadata that are not carried; returns the number of warnings.
///
/// \param format a format's name; empty: safetensors
std::size_t say_lost_texts(reshard::checkpoint_metadata const& source,
                           reshard::mapping const& program, std::string const& format, bool says);

/// Warns about tuples in a `.pt` file that formats of torch.distributed.checkpoint store as
/// separate entries, although torch keeps them whole; returns the number of warnings.
std::size_t say_taken_apart(reshard::checkpoint_metadata const& source, std::string const& format,
                            bool says);

/// Like `convert`, refuses interleaved tensors for a format whose readers cut them differently.
///
/// \throws error with errc::unsupported
void check_fused_order(job const& full_job, job_files const& files, std::string const& format);

/// Notes that a format of another library does not record how tensors were fused, or that its
/// readers may cut them differently.
void note_fused_lost(job const& full_job, std::string const& format);

/// Notes data types and blocks in sharded safetensors that torch's reader does not support.
void note_torch_lacks(job const& full_job, std::string const& format);

/// Notes tensors with several names, which safetensors files store once.
void note_aliases(std::map<std::string, std::string> const& aliases);

/// The key of each alias.
boost::json::object json_of(std::map<std::string, std::string> const& aliases);

boost::json::object json_of(conversion const& planned);

/// A text for people: the bytes read and written, by rank and file.
std::string text_of(conversion const& planned);

} // namespace tool

#endif
