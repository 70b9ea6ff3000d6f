// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FILE_READER_HPP
#define RESHARD_FORMAT_FILE_READER_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Reads a range of a file byte by byte, and skips bytes that are not needed.

namespace reshard::detail {

/// Reads a range of a file from its beginning, in steps.
///
/// \throws error with errc::corrupt_file, in all functions, if the range is too short; it names the
///         file and the position
class file_reader {
public:
    file_reader(file_store::file const& file, std::string_view name, byte_run where)
        : file_(file), name_(name), where_(where), next_(where.begin) {}

    /// The position of the next byte in the file.
    std::uint64_t position() const { return next_ - (window_.size() - used_); }

    /// The number of bytes up to the end of the range.
    std::uint64_t left() const { return where_.end - position(); }

    unsigned char byte() {
        if (used_ == window_.size())
            refill(1);
        return static_cast<unsigned char>(window_[used_++]);
    }

    /// The next bytes as a number, lowest byte first.
    ///
    /// \pre `bytes <= 8`
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t result = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            result |= std::uint64_t{byte()} << 8 * i;
        return result;
    }

    /// Appends the next bytes. Memory is allocated only as bytes are read.
    void append(std::string& text, std::uint64_t bytes) {
        check_there(bytes);
        while (bytes > 0) {
            if (used_ == window_.size())
                refill(bytes);
            auto const count =
                static_cast<std::size_t>(std::min<std::uint64_t>(bytes, window_.size() - used_));
            text.append(window_, used_, count);
            used_ += count;
            bytes -= count;
        }
    }

    /// The text before the next line break. Skips the line break.
    std::string line() {
        constexpr std::size_t most = 1000; // names of classes are short
        std::string text;
        for (unsigned char next = byte(); next != '\n'; next = byte()) {
            if (text.size() == most)
                fail(errc::corrupt_file, name_, ": byte ", position(),
                     " is part of a name of more than ", most, " bytes");
            text += static_cast<char>(next);
        }
        return text;
    }

    /// Skips the next bytes, and returns their position.
    byte_run skip(std::uint64_t bytes) {
        check_there(bytes);
        std::uint64_t const begin = position();
        std::uint64_t const held_count = window_.size() - used_;
        if (bytes <= held_count)
            used_ += static_cast<std::size_t>(bytes);
        else {
            next_ = begin + bytes;
            window_.clear();
            used_ = 0;
        }
        return {begin, begin + bytes};
    }

private:
    void check_there(std::uint64_t bytes) const {
        if (bytes > left())
            fail(errc::corrupt_file, name_, ": ends early: ", counted(bytes, "byte"),
                 bytes == 1 ? " is" : " are", " expected from byte ", position(), " onwards, but ",
                 left(), left() == 1 ? " is" : " are", " present; was it cut short?");
    }

    void refill(std::uint64_t bytes) {
        check_there(bytes);
        constexpr std::uint64_t step = 1 << 16;
        window_.resize(static_cast<std::size_t>(std::min(step, where_.end - next_)));
        used_ = 0;
        file_.read(next_, std::as_writable_bytes(std::span(window_)));
        next_ += window_.size();
    }

    file_store::file const& file_;
    std::string_view name_;
    byte_run where_;
    std::uint64_t next_; ///< the position after the window
    std::string window_;
    std::size_t used_ = 0; ///< bytes of the window that were returned
};

/// A range of a file that has a little data between large members. It is read with few system
/// calls. The last two blocks that were read are kept, such as the beginning and the end.
class file_in_blocks : public file_store::file {
public:
    file_in_blocks(file_store::file const& file, byte_run where) : file_(file), where_(where) {}

    file_store::identity facts() const override { return file_.facts(); }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        bool const is_small = target.size() < block_bytes / 4 && position >= where_.begin &&
                              position <= where_.end && target.size() <= where_.end - position;
        if (!is_small)
            return file_.read(position, target);
        if (!has(blocks_[0], position, target.size())) {
            std::swap(blocks_[0], blocks_[1]);
            if (!has(blocks_[0], position, target.size()))
                fill(blocks_[0], position);
        }
        std::copy_n(blocks_[0].bytes.data() + (position - blocks_[0].begin), target.size(),
                    target.data());
    }

private:
    static constexpr std::uint64_t block_bytes = 4096;

    struct block {
        std::uint64_t begin = 0;
        vector<std::byte> bytes;
    };

    static bool has(block const& kept, std::uint64_t position, std::size_t bytes) {
        return position >= kept.begin && position - kept.begin <= kept.bytes.size() &&
               bytes <= kept.bytes.size() - (position - kept.begin);
    }

    void fill(block& kept, std::uint64_t position) const {
        std::uint64_t const bytes = std::min(block_bytes, where_.end - where_.begin);
        kept.begin = std::min(position, where_.end - bytes);
        kept.bytes.clear(); // if the read fails, the block is empty
        vector<std::byte> read(static_cast<std::size_t>(bytes));
        file_.read(kept.begin, read);
        kept.bytes = std::move(read);
    }

    file_store::file const& file_;
    byte_run where_;
    mutable block blocks_[2];
};

} // namespace reshard::detail

#endif
