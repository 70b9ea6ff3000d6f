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
/// What `convert` will read and write, before it does.

namespace reshard {

class checkpoint;
struct checkpoint_metadata;

} // namespace reshard

namespace tool {

/// A file of the source, and the parts of its tensors that are read.
struct file_read {
    std::string file;
    reshard::index_t bytes = 0;
};

/// A file that is written, for which rank of the layout.
struct file_written {
    std::string file;
    reshard::holder_t rank = 0;
    reshard::index_t shards = 0;
    reshard::index_t bytes = 0; ///< of tensors
};

/// The work of the process that plays a rank.
struct rank_share {
    reshard::index_t bytes_read = 0;
    reshard::index_t bytes_written = 0;
};

/// Which bytes come from which file, and go to which.
///
/// \par Units bytes of tensors: whole chunks that are verified, and headers, are not counted
struct conversion {
    reshard::vector<file_read> read;
    reshard::vector<file_written> written;
    reshard::vector<rank_share> by_rank;
    rank_share all;
    reshard::heat_bins bins;                         ///< which file gives which rank how much
    std::map<std::string, std::string> aliases = {}; ///< as `convert_report::aliases`
};

/// What `convert SOURCE TARGET --layout` does with these files and options, and `--share-copies`.
///
/// \pre the source is a checkpoint, and the job has a target
/// \throws error as `convert` before it writes
conversion conversion_of(source_spec const& source, job const& full_job,
                         reshard::detail::write_options const& writing, bool share_copies);

/// Refuses `--replicas` and `--per-rank` for a format of another library, which has each different
/// shard once.
///
/// \throws error with errc::usage
void check_replicas(bool are_wanted, std::string const& format);

/// Refuses `--share-copies` for a format of another library, which has no names without tensors.
///
/// \throws error with errc::usage
void check_shared(bool are_shared, std::string const& format);

/// The reason why a conversion would refuse the source's values that are not tensors; empty if
/// nothing is lost.
///
/// \param format by its name; empty: safetensors
std::string lost_objects_of(source_spec const& source, std::string const& format);

/// Warns of tensors within omitted values; returns the number of warnings.
///
/// \param says the process is the one that prints
std::size_t say_lost_tensors(reshard::checkpoint const& source, bool says);

/// Warns of texts in the metadata of the source that are not carried; how many warnings.
///
/// \param format by its name; empty: safetensors
std::size_t say_lost_texts(reshard::checkpoint_metadata const& source,
                           reshard::mapping const& program, std::string const& format, bool says);

/// Warns of tuples of a `.pt` that are taken apart in formats of torch.distributed.checkpoint,
/// although torch keeps them whole; returns the number of warnings.
std::size_t say_taken_apart(reshard::checkpoint_metadata const& source, std::string const& format,
                            bool says);

/// Refuses interleaved tensors for a format whose readers cut them otherwise, as `convert` does.
///
/// \throws error with errc::unsupported
void check_fused_order(job const& full_job, job_files const& files, std::string const& format);

/// Notes that a format of another library does not say how tensors were fused, or that its readers
/// may cut them otherwise.
void note_fused_lost(job const& full_job, std::string const& format);

/// Notes data types and blocks in sharded safetensors that torch's reader does not have.
void note_torch_lacks(job const& full_job, std::string const& format);

/// Notes tensors of several names, which files of safetensors have once.
void note_aliases(std::map<std::string, std::string> const& aliases);

/// Names of tensors by other names of theirs.
boost::json::object json_of(std::map<std::string, std::string> const& aliases);

boost::json::object json_of(conversion const& planned);

/// For people: the bytes read and written, by rank and file.
std::string text_of(conversion const& planned);

} // namespace tool

#endif
