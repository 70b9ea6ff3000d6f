// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FILE_NUMBERS_HPP
#define RESHARD_FORMAT_FILE_NUMBERS_HPP

#include <reshard/core/error.hpp>

#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// \file
/// How many files a sharded checkpoint has, so that one that is lost is missed.

namespace reshard {

/// The key in `__metadata__` under which each file says which of how many it is.
///
/// \par Source ours; torch DCP writes nothing of the kind, and a lost file whose tensors stand in no
///             other file goes unnoticed there
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
    void add(std::map<std::string, std::string> const& metadata, std::string const& file) {
        auto const found = metadata.find(std::string(file_number_name));
        if (found == metadata.end())
            return;
        auto const [number, count] = parse(found->second, file);
        if (count_ != 0 && count != count_)
            fail(errc::corrupt_file, file + ": the file is one of " + std::to_string(count) +
                                         ", and " + first_file_ + " is one of " +
                                         std::to_string(count_));
        if (!numbers_.insert(number).second)
            fail(errc::corrupt_file, file + ": another file is number " + std::to_string(number) +
                                         " of " + std::to_string(count) + " too");
        if (count_ == 0)
            first_file_ = file;
        count_ = count;
    }

    /// \throws error with errc::missing_file where a file is not there; it names `directory`
    void check_complete(std::string const& directory) const {
        for (std::size_t number = 1; number <= count_; ++number)
            if (!numbers_.contains(number))
                fail(errc::missing_file, directory + ": file " + std::to_string(number) + " of " +
                                             std::to_string(count_) + " is missing: " +
                                             std::to_string(numbers_.size()) + " are there, and " +
                                             first_file_ + " says how many there were");
    }

private:
    struct position {
        std::size_t number = 0;
        std::size_t count = 0;
    };

    static position parse(std::string const& text, std::string const& file) {
        position result;
        char const* const end = text.data() + text.size();
        auto const first = std::from_chars(text.data(), end, result.number);
        std::string_view const between = " of ";
        auto const rest = static_cast<std::size_t>(first.ptr - text.data());
        bool good = first.ec == std::errc{} && text.compare(rest, between.size(), between) == 0;
        if (good) {
            auto const second = std::from_chars(first.ptr + between.size(), end, result.count);
            good = second.ec == std::errc{} && second.ptr == end && result.number > 0 &&
                   result.number <= result.count;
        }
        if (!good)
            fail(errc::corrupt_file, file + ": " + std::string(file_number_name) + " is '" + text +
                                         "', and should be like '1 of 2'");
        return result;
    }

    std::set<std::size_t> numbers_;
    std::size_t count_ = 0;
    std::string first_file_;
};

} // namespace reshard

#endif
