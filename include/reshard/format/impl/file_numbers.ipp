// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_FILE_NUMBERS_IPP
#define RESHARD_FORMAT_IMPL_FILE_NUMBERS_IPP

#include <reshard/format/file_numbers.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <charconv>
#include <system_error>

namespace reshard::detail {

RESHARD_DECL void file_counter::add(std::map<std::string, std::string> const& metadata,
                                    std::string const& file) {
    auto const found = metadata.find(std::string(file_number_name));
    if (found == metadata.end())
        return;
    auto const [number, count] = parse(found->second, file);
    if (count_ != 0 && count != count_)
        fail(errc::corrupt_file, file + ": the file is one of " + std::to_string(count) + ", and " +
                                     first_file_ + " is one of " + std::to_string(count_));
    if (!numbers_.insert(number).second)
        fail(errc::corrupt_file, file + ": another file is number " + std::to_string(number) +
                                     " of " + std::to_string(count) + " too");
    if (count_ == 0)
        first_file_ = file;
    count_ = count;
}

RESHARD_DECL void file_counter::check_complete(std::string const& directory) const {
    for (std::size_t number = 1; number <= count_; ++number)
        if (!numbers_.contains(number))
            fail(errc::missing_file,
                 directory + ": file " + std::to_string(number) + " of " + std::to_string(count_) +
                     " is missing: " + std::to_string(numbers_.size()) + " are there, and " +
                     first_file_ + " says how many there were");
}

RESHARD_DECL auto file_counter::parse(std::string const& text, std::string const& file)
    -> position {
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

} // namespace reshard::detail

#endif
