// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_ENCODED_BYTES_HPP
#define RESHARD_FORMAT_PICKLE_ENCODED_BYTES_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Bytes that a pickle of protocol 2 has as a text, whose characters are their numbers.

namespace reshard::detail {

/// The numbers of the characters of a text in UTF-8, which are the bytes that Python encodes it to
/// in Latin-1; empty if one is above 255.
RESHARD_DECL std::optional<std::string> latin1_bytes(std::string_view text);

/// Bytes that are a text in UTF-8: those from 128 on have two bytes there.
///
/// Each part of the text is read when its bytes are wanted. So that it is found, the characters of
/// the text are counted up to there, and 8 bytes kept for each `step` of it.
class encoded_bytes {
public:
    static constexpr std::uint64_t step = 1 << 16;

    /// \param text  the position of the text in its file
    /// \param bytes how many there should be
    /// \param noun  names them in messages: "m.pdparams: tensor 'w'"
    RESHARD_DECL encoded_bytes(byte_run text, std::uint64_t bytes, std::string noun);

    std::uint64_t bytes() const { return bytes_; }

    /// Fills `target` with the bytes from `position` on.
    ///
    /// \pre    `position + target.size() <= bytes()`
    /// \throws error with errc::corrupt_file if the text has fewer bytes, or more, as far as that
    ///         was seen, or other characters
    RESHARD_DECL void read(file_store::file const& file, std::uint64_t position,
                           std::span<std::byte> target) const;

private:
    /// The last step that does not begin after a character.
    std::size_t step_of(file_store::file const& file, std::uint64_t position) const;
    std::uint64_t characters_before(std::size_t number) const;
    std::string part(file_store::file const& file, std::uint64_t begin) const;
    [[noreturn]] void refuse(std::string_view problem) const;

    byte_run text_;
    std::uint64_t bytes_;
    std::string what_;
    mutable std::mutex mutex_;
    mutable std::vector<std::uint64_t> before_{0}; ///< characters that begin before each step
};

/// Files of a store, one of which is extended after its end: by bytes that it has as texts.
class files_with_encoded_bytes : public file_store {
public:
    RESHARD_DECL files_with_encoded_bytes(std::shared_ptr<file_store const> below,
                                          std::filesystem::path path);

    /// Adds the bytes of a text of a pickle, which is that file, and returns their position. Each
    /// text is added once.
    ///
    /// \param bytes how many there should be
    /// \param noun  names them in messages: "tensor 'w'"
    /// \throws error with errc::corrupt_file for a text that is too short; it names the file
    RESHARD_DECL std::uint64_t add(pickle const& values, pickle_value text, std::uint64_t bytes,
                                   std::string const& noun);

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    std::vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    /// \pre the file does not outlive this, and nothing is added meanwhile
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

private:
    friend class file_with_encoded_bytes;

    std::shared_ptr<file_store const> below_;
    std::filesystem::path path_;
    std::uint64_t real_bytes_;                       ///< of the file
    std::map<std::uint64_t, encoded_bytes> in_file_; ///< by their shown positions
    std::map<std::uint64_t, std::string> here_;      ///< the bytes of short texts, likewise
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/encoded_bytes.ipp>
#endif

#endif
