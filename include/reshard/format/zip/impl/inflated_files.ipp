// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_ZIP_IMPL_INFLATED_FILES_IPP
#define RESHARD_FORMAT_ZIP_IMPL_INFLATED_FILES_IPP

#include <reshard/format/zip/stored_zip.hpp>

#include <reshard/core/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <span>
#include <utility>

namespace reshard::detail {

/// A position in a member from which inflating continues.
class inflate_state {
public:
    inflate_state() {
        if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) // no header is expected
            fail(errc::io, "zlib cannot begin to inflate: not enough memory?");
    }
    /// \pre the input is used up
    inflate_state(inflate_state const& state)
        : position(state.position), consumed(state.consumed), checksum(state.checksum) {
        if (inflateCopy(&stream_, const_cast<z_stream*>(&state.stream_)) != Z_OK)
            fail(errc::io, "zlib cannot save its state: not enough memory?");
    }
    inflate_state& operator=(inflate_state const&) = delete;
    ~inflate_state() { inflateEnd(&stream_); }

    z_stream& stream() { return stream_; }

    std::uint64_t position = 0; ///< in the inflated bytes
    std::uint64_t consumed = 0; ///< the number of deflated bytes that were read
    uLong checksum = crc32(0, nullptr, 0);

private:
    z_stream stream_{}; ///< refers to itself, so it is not moved
};

/// Reads a deflated member. Saves some states of a large member, so that reading a part does not
/// inflate all bytes before it.
class inflated_member {
public:
    inflated_member(zip_member const& member, std::string noun)
        : member_(member),
          what_(std::move(noun)),
          step_(std::max<std::uint64_t>(least_step, member.packing->bytes / most_places + 1)) {}

    /// \pre `position + target.size()` is at most the number of the member's bytes
    void read(file_store::file const& file, std::uint64_t position, std::span<std::byte> target) {
        try {
            read_from(file, position, target);
        } catch (...) {
            state_.reset(); // the state is ahead of the position that it records
            throw;
        }
    }

private:
    static constexpr std::uint64_t least_step = 4 << 20, most_places = 32;

    void read_from(file_store::file const& file, std::uint64_t position,
                   std::span<std::byte> target) {
        go_back(position);
        std::array<std::byte, 1 << 16> passed;
        while (state_->position < position)
            inflate_to(file,
                       std::span(passed).first(static_cast<std::size_t>(
                           std::min<std::uint64_t>(passed.size(), position - state_->position))));
        inflate_to(file, target);
        if (state_->position == member_.packing->bytes)
            check_end(file);
    }

    [[noreturn]] void refuse(std::string const& problem) const {
        fail(errc::corrupt_file, what_, ": inflated, it should have ", member_.packing->bytes,
             " bytes, but ", problem, "; the file is damaged");
    }

    /// Uses the last state at or before a position, unless the current state is closer.
    void go_back(std::uint64_t position) {
        auto const next = std::ranges::upper_bound(places_, position, {}, &inflate_state::position);
        bool const is_near = state_ && state_->position <= position;
        if (next == places_.begin()) {
            if (!is_near)
                state_ = std::make_unique<inflate_state>();
            return;
        }
        if (inflate_state const& last = *std::prev(next);
            !is_near || state_->position < last.position)
            state_ = std::make_unique<inflate_state>(last);
    }

    /// Inflates bytes into `target`, and saves states at regular distances.
    void inflate_to(file_store::file const& file, std::span<std::byte> target) {
        while (!target.empty()) {
            std::uint64_t const to_next = step_ - state_->position % step_;
            auto const part = target.first(
                static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), to_next)));
            inflate_part(file, part);
            target = target.subspan(part.size());
            bool const is_new = places_.empty() || places_.back().position < state_->position;
            if (part.size() == to_next && is_new)
                places_.emplace_back(*state_);
        }
    }

    void inflate_part(file_store::file const& file, std::span<std::byte> target) {
        z_stream& stream = state_->stream();
        std::size_t done = 0;
        while (done < target.size()) {
            stream.next_out = reinterpret_cast<Bytef*>(target.data() + done);
            stream.avail_out = static_cast<uInt>(
                std::min<std::size_t>(target.size() - done, std::numeric_limits<uInt>::max()));
            uInt const asked = stream.avail_out;
            bool const is_over = !step(file);
            done += asked - stream.avail_out;
            if (is_over && done < target.size())
                refuse(words("has ", state_->position + done));
        }
        for (std::size_t i = 0; i < target.size(); i += 1u << 30)
            state_->checksum =
                crc32(state_->checksum, reinterpret_cast<Bytef const*>(target.data() + i),
                      static_cast<uInt>(std::min<std::size_t>(target.size() - i, 1u << 30)));
        state_->position += target.size();
    }

    /// Inflates some bytes; false at the end. Returns unused input, so that the state can be saved.
    bool step(file_store::file const& file) {
        std::array<std::byte, 1 << 14> input;
        auto const count = static_cast<std::size_t>(
            std::min<std::uint64_t>(input.size(), member_.bytes.size() - state_->consumed));
        file.read(member_.bytes.begin + state_->consumed, std::span(input).first(count));
        z_stream& stream = state_->stream();
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
        stream.avail_in = static_cast<uInt>(count);
        uInt const room = stream.avail_out;
        int const result = inflate(&stream, Z_NO_FLUSH);
        std::size_t const used = count - stream.avail_in;
        state_->consumed += used;
        stream.avail_in = 0;
        if (result == Z_DATA_ERROR || result == Z_NEED_DICT || result == Z_MEM_ERROR ||
            result == Z_STREAM_ERROR)
            refuse(words("cannot be inflated after byte ", state_->consumed, " of ",
                         member_.bytes.size(),
                         stream.msg ? std::string(" (") + stream.msg + ")" : ""));
        bool const is_stuck = used == 0 && room == stream.avail_out;
        return result != Z_STREAM_END && !is_stuck;
    }

    /// Checks that the member ends after its last byte.
    void check_end(file_store::file const& file) {
        Bytef more = 0;
        z_stream& stream = state_->stream();
        bool goes_on = true;
        for (stream.next_out = &more, stream.avail_out = 1; goes_on && stream.avail_out > 0;)
            goes_on = step(file);
        if (stream.avail_out == 0)
            refuse("has more");
        if (state_->consumed != member_.bytes.size())
            refuse(words("ends ", member_.bytes.size() - state_->consumed,
                         " bytes before its data in the file does"));
        if (state_->checksum != member_.packing->checksum)
            refuse("their checksum does not match");
        state_.reset();
    }

    zip_member const& member_;
    std::string what_;
    std::uint64_t step_;
    std::unique_ptr<inflate_state> state_;
    std::list<inflate_state> places_;
};

/// The position at which the next deflated member is shown; `end` is the end of the member before
/// it.
inline byte_run shown_bytes(zip_member const& member, std::uint64_t end, std::string_view name) {
    // Deflate makes at most 258 bytes from two bits, so a false size cannot make memory grow.
    constexpr std::uint64_t most_a_byte = 1032;
    std::uint64_t const bytes = member.packing->bytes;
    if (bytes / most_a_byte > member.bytes.size() ||
        bytes > std::numeric_limits<std::uint64_t>::max() - end - 1)
        fail(errc::corrupt_file, name, ": ", member.name, ": the directory states ", bytes,
             " inflated bytes, but ", member.bytes.size(), " deflated bytes cannot contain them");
    return {end, end + bytes};
}

RESHARD_DECL vector<shown_member> shown_members(file_store::file const& file,
                                                std::string_view name) {
    std::uint64_t end = file.facts().bytes;
    vector<shown_member> shown;
    for (zip_member& member : read_zip(file, name, {0, end})) {
        std::optional<byte_run> bytes;
        if (!member.packing)
            bytes = member.bytes;
        else if (!member.packing->is_encrypted && member.packing->method == zip_packing::deflated) {
            bytes = shown_bytes(member, end, name);
            end = bytes->end + (bytes->size() == 0 ? 1 : 0); // each member has a separate position
        }
        shown.push_back({std::move(member), bytes});
    }
    return shown;
}

/// A file, extended by its inflated members after its end. Refers to the store.
class file_with_inflated : public file_store::file {
public:
    file_with_inflated(std::unique_ptr<file_store::file> real, files_with_inflated const& inflated,
                       std::filesystem::path path)
        : real_(std::move(real)), all_(inflated), path_(std::move(path)) {}

    file_store::identity facts() const override { return real_->facts(); }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position < real_->facts().bytes)
            return real_->read(position, target);
        auto const& members = all_.members_of(path_, *real_);
        auto const next = members.upper_bound(position);
        if (next == members.begin())
            return real_->read(position, target);
        shown_member const& shown = std::prev(next)->second;
        std::uint64_t const bytes = shown.bytes->size(), first = position - shown.bytes->begin;
        if (first > bytes || target.size() > bytes - first)
            fail(errc::corrupt_file, path_.string(), ": ", shown.member.name, ": ", target.size(),
                 " bytes are requested at byte ", first, " of ", bytes);
        if (target.empty())
            return;
        std::lock_guard const lock(mutex_);
        reader_of(shown).read(*real_, first, target);
    }

private:
    static constexpr std::size_t most_readers = 8;

    /// Keeps the most recent readers, because several tensors may be read in turn.
    inflated_member& reader_of(shown_member const& shown) const {
        auto const match = std::ranges::find(readers_, shown.bytes->begin, &named_reader::first);
        if (match != readers_.end())
            readers_.splice(readers_.begin(), readers_, match);
        else
            readers_.emplace_front(shown.bytes->begin,
                                   std::make_unique<inflated_member>(
                                       shown.member, path_.string() + ": " + shown.member.name));
        if (readers_.size() > most_readers)
            readers_.pop_back();
        return *readers_.front().second;
    }

    using named_reader = std::pair<std::uint64_t, std::unique_ptr<inflated_member>>;

    std::unique_ptr<file_store::file> real_;
    files_with_inflated const& all_;
    std::filesystem::path path_;
    mutable std::mutex mutex_;
    mutable std::list<named_reader> readers_; ///< the last used reader first
};

RESHARD_DECL files_with_inflated::members_by_place const&
files_with_inflated::members_of(std::filesystem::path const& path,
                                file_store::file const& real) const {
    std::lock_guard const lock(mutex_);
    auto const [match, is_new] = members_.try_emplace(path);
    if (is_new)
        for (shown_member& member : shown_members(real, path.string()))
            if (member.is_inflated())
                match->second.emplace(member.bytes->begin, std::move(member));
    return match->second;
}

RESHARD_DECL std::unique_ptr<file_store::file>
files_with_inflated::open(std::filesystem::path const& path) const {
    return std::make_unique<file_with_inflated>(below_->open(path), *this, path);
}

} // namespace reshard::detail

#endif
