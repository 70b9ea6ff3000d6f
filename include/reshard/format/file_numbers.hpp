// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FILE_NUMBERS_HPP
#define RESHARD_FORMAT_FILE_NUMBERS_HPP

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// \file
/// How many files a sharded checkpoint has, so that one that is lost is missed.

namespace reshard::detail {

/// The key in `__metadata__` under which each file says which of how many it is.
///
/// \par Source ours; torch DCP writes nothing of the kind, and a lost file whose tensors stand in
///             no other file goes unnoticed there
inline constexpr std::string_view file_number_name = "RESHARD_FILES";

/// `3 of 6` for the third file (2).
inline std::string file_number_text(std::size_t number, std::size_t count) {
    return std::to_string(number + 1) + " of " + std::to_string(count);
}

/// Counts the files of a checkpoint as they are opened.
class file_counter {
public:
    /// Takes note of one file; one without the key, which others wrote, does not count.
    ///
    /// \throws error with errc::corrupt_file for a text that is no such number, or where two files
    ///         contradict one another; it names `file`
    void add(std::map<std::string, std::string> const& metadata, std::string const& file);

    /// \throws error with errc::missing_file where a file is not there; it names `directory`
    void check_complete(std::string const& directory) const;

private:
    struct position {
        std::size_t number = 0;
        std::size_t count = 0;
    };

    static position parse(std::string const& text, std::string const& file);

    std::set<std::size_t> numbers_;
    std::size_t count_ = 0;
    std::string first_file_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/file_numbers.ipp>
#endif

#endif
