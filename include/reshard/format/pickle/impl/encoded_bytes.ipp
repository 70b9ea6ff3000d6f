// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_IMPL_ENCODED_BYTES_IPP
#define RESHARD_FORMAT_PICKLE_IMPL_ENCODED_BYTES_IPP

#include <reshard/format/pickle/encoded_bytes.hpp>

#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace reshard::detail {

inline bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Takes a text byte by byte, and writes the numbers of its characters. The first `left_out`
/// characters are skipped.
class character_numbers {
public:
    character_numbers(std::uint64_t left_out, std::span<std::byte> target)
        : left_out_(left_out), target_(target) {}

    std::size_t written() const { return written_; }
    bool is_full() const { return written_ == target_.size(); }

    /// True between two characters of the text.
    bool is_between() const { return lead_ == 0; }

    /// False for a byte that cannot be in a character below 256.
    bool take(char byte) {
        auto const bits = static_cast<unsigned char>(byte);
        if (continues_character(byte)) {
            if (lead_ == 0)
                return false;
            put(static_cast<unsigned char>(std::exchange(lead_, 0) << 6 | (bits & 0x3f)));
            return true;
        }
        if (lead_ != 0)
            return false;
        if (bits < 0x80)
            put(bits);
        else
            lead_ = bits;
        return bits < 0x80 || bits == 0xc2 || bits == 0xc3;
    }

private:
    void put(unsigned char number) {
        if (left_out_ > 0)
            --left_out_;
        else
            target_[written_++] = static_cast<std::byte>(number);
    }

    std::uint64_t left_out_;
    std::span<std::byte> target_;
    std::size_t written_ = 0;
    unsigned char lead_ = 0; ///< the first byte of a two-byte character
};

RESHARD_DECL std::optional<std::string> latin1_bytes(std::string_view text) {
    std::string bytes(text.size(), ' ');
    character_numbers numbers(0, std::as_writable_bytes(std::span(bytes)));
    if (!std::ranges::all_of(text, [&](char byte) { return numbers.take(byte); }) ||
        !numbers.is_between())
        return std::nullopt;
    bytes.resize(numbers.written());
    return bytes;
}

RESHARD_DECL encoded_bytes::encoded_bytes(byte_run text, std::uint64_t bytes, std::string noun)
    : text_(text), bytes_(bytes), what_(std::move(noun)) {
    if (text_.size() < bytes_ || text_.size() / 2 > bytes_)
        fail(errc::corrupt_file, what_, ": ", bytes_, " bytes are expected, but a string of ",
             text_.size(), " bytes does not have that number of characters");
}

RESHARD_DECL void encoded_bytes::refuse(std::string_view problem) const {
    fail(errc::corrupt_file, what_, ": the string from byte ", text_.begin, " to ", text_.end, " ",
         problem, "; expected ", bytes_, " bytes in the encoding of protocol 2");
}

/// The bytes of the text from `begin` on, at most one step.
RESHARD_DECL std::string encoded_bytes::part(file_store::file const& file,
                                             std::uint64_t begin) const {
    std::string part(std::min(step, text_.size() - begin), ' ');
    file.read(text_.begin + begin, std::as_writable_bytes(std::span(part)));
    return part;
}

RESHARD_DECL std::size_t encoded_bytes::step_of(file_store::file const& file,
                                                std::uint64_t position) const {
    std::lock_guard const lock(mutex_);
    while (before_.back() <= position && before_.size() * step < text_.size()) {
        std::string const counted = part(file, (before_.size() - 1) * step);
        auto const others = std::ranges::count_if(counted, continues_character);
        before_.push_back(before_.back() + counted.size() - static_cast<std::uint64_t>(others));
    }
    auto const next = std::ranges::upper_bound(before_, position);
    return static_cast<std::size_t>(next - before_.begin()) - 1;
}

RESHARD_DECL std::uint64_t encoded_bytes::characters_before(std::size_t number) const {
    std::lock_guard const lock(mutex_);
    return before_[number];
}

RESHARD_DECL void encoded_bytes::read(file_store::file const& file, std::uint64_t position,
                                      std::span<std::byte> target) const {
    if (target.empty())
        return;
    bool const is_last = position + target.size() == bytes_;
    std::size_t const first = step_of(file, position);
    std::uint64_t next = first * step;
    character_numbers numbers(position - characters_before(first), target);
    while (!numbers.is_full()) {
        if (next >= text_.size())
            refuse("is too short");
        std::string const text = part(file, next);
        // The first character of a step may begin in the step before.
        bool const is_within = next == first * step && next > 0 && continues_character(text[0]);
        std::size_t used = is_within ? 1 : 0;
        for (; used < text.size() && !numbers.is_full(); ++used)
            if (!numbers.take(text[used]))
                refuse("has a character whose number is above 255");
        next += used;
    }
    if (is_last && next != text_.size())
        refuse("is too long");
}

RESHARD_DECL
files_with_encoded_bytes::files_with_encoded_bytes(std::shared_ptr<file_store const> below,
                                                   std::filesystem::path path)
    : below_(std::move(below)),
      path_(std::move(path)),
      real_bytes_(below_->open(path_)->facts().bytes) {}

/// The bytes of texts that stay in the file are shown after its end, in their order. The bytes of
/// short texts follow.
RESHARD_DECL std::uint64_t files_with_encoded_bytes::add(pickle const& values, pickle_value text,
                                                         std::uint64_t bytes,
                                                         std::string const& noun) {
    std::string const named = values.file() + ": " + noun;
    if (text.type == pickle_value::kind::long_text) {
        byte_run const where = values.unread(text, noun);
        std::uint64_t const begin = real_bytes_ + where.begin;
        auto const [match, is_new] = in_file_.try_emplace(begin, where, bytes, named);
        if (!is_new && match->second.bytes() != bytes)
            fail(errc::corrupt_file, named, ": the same string has ", bytes,
                 " bytes here, but in another tensor ", match->second.bytes());
        return begin;
    }
    std::string_view const characters = values.text(text, noun + ": the elements");
    auto decoded = latin1_bytes(characters);
    if (!decoded || decoded->size() != bytes)
        fail(errc::corrupt_file, named, ": its elements are a string of ", characters.size(),
             " bytes, which does not encode ", bytes, " bytes in protocol 2");
    std::uint64_t const begin = 2 * real_bytes_ + text.position;
    here_.emplace(begin, *std::move(decoded));
    return begin;
}

/// The last entry that begins at or before a position, or the end of the entries.
inline auto entry_at(auto const& entries, std::uint64_t position) {
    auto const next = entries.upper_bound(position);
    return next == entries.begin() ? entries.end() : std::prev(next);
}

/// A file, extended by bytes after its end. Refers to the store.
class file_with_encoded_bytes : public file_store::file {
public:
    file_with_encoded_bytes(std::unique_ptr<file_store::file> real,
                            files_with_encoded_bytes const& bytes)
        : real_(std::move(real)), all_(bytes) {}

    file_store::identity facts() const override { return real_->facts(); }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position < all_.real_bytes_)
            return real_->read(position, target);
        if (auto const entry = entry_at(all_.here_, position); entry != all_.here_.end()) {
            check(position - entry->first, target.size(), entry->second.size());
            std::memcpy(target.data(), entry->second.data() + (position - entry->first),
                        target.size());
            return;
        }
        auto const entry = entry_at(all_.in_file_, position);
        if (entry == all_.in_file_.end())
            return check(position, target.size(), 0);
        check(position - entry->first, target.size(), entry->second.bytes());
        entry->second.read(*real_, position - entry->first, target);
    }

private:
    static void check(std::uint64_t position, std::uint64_t asked, std::uint64_t bytes) {
        if (position > bytes || asked > bytes - position)
            fail(errc::corrupt_file, asked, " bytes are requested at byte ", position, " of ",
                 bytes);
    }

    std::unique_ptr<file_store::file> real_;
    files_with_encoded_bytes const& all_;
};

RESHARD_DECL std::unique_ptr<file_store::file>
files_with_encoded_bytes::open(std::filesystem::path const& path) const {
    auto real = below_->open(path);
    if (path != path_)
        return real;
    return std::make_unique<file_with_encoded_bytes>(std::move(real), *this);
}

} // namespace reshard::detail

#endif
