// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PICKLE_ENCODED_BYTES_HPP
#define RESHARD_FORMAT_PICKLE_ENCODED_BYTES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
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

/// \file
/// Bytes that a pickle of protocol 2 stores as a text. The number of each character is a byte.

namespace reshard::detail {

/// The bytes that a text in UTF-8 encodes: the number of each character is a byte (Latin-1, as in
/// Python). std::nullopt if a number is above 255.
RESHARD_DECL std::optional<std::string> latin1_bytes(std::string_view text);

/// Bytes that are stored as a text in UTF-8. Each byte from 128 on takes two bytes in the text.
///
/// A part of the text is read when its bytes are needed. To find the part, the characters before it
/// are counted. This keeps 8 bytes for each `step` of the text.
class encoded_bytes {
public:
    static constexpr std::uint64_t step = 1 << 16;

    /// \param text  the position of the text in its file
    /// \param bytes the expected number of bytes
    /// \param noun  names the bytes in messages: "m.pdparams: tensor 'w'"
    RESHARD_DECL encoded_bytes(byte_run text, std::uint64_t bytes, std::string noun);

    std::uint64_t bytes() const { return bytes_; }

    /// Fills `target` with the bytes from `position` on.
    ///
    /// \pre    `position + target.size() <= bytes()`
    /// \throws error with errc::corrupt_file if the part that was read shows that the text has too
    ///         few bytes, too many bytes, or characters above 255
    RESHARD_DECL void read(file_store::file const& file, std::uint64_t position,
                           std::span<std::byte> target) const;

private:
    /// The last step that begins at or before the character at `position`.
    std::size_t step_of(file_store::file const& file, std::uint64_t position) const;
    std::uint64_t characters_before(std::size_t number) const;
    std::string part(file_store::file const& file, std::uint64_t begin) const;
    [[noreturn]] void refuse(std::string_view problem) const;

    byte_run text_;
    std::uint64_t bytes_;
    std::string what_;
    mutable std::mutex mutex_;
    mutable vector<std::uint64_t> before_{0}; ///< characters that begin before each step
};

/// The files of a store. One file is extended beyond its end by the bytes that it stores as texts.
class files_with_encoded_bytes : public file_store {
public:
    RESHARD_DECL files_with_encoded_bytes(std::shared_ptr<file_store const> below,
                                          std::filesystem::path path);

    /// Adds the bytes of a text in the file's pickle, and returns their position. Each text is
    /// added once.
    ///
    /// \param bytes the expected number of bytes
    /// \param noun  names the bytes in messages: "tensor 'w'"
    /// \throws error with errc::corrupt_file for a text that is too short; it names the file
    RESHARD_DECL std::uint64_t add(pickle const& values, pickle_value text, std::uint64_t bytes,
                                   std::string const& noun);

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    /// \pre the file does not outlive this, and nothing is added meanwhile
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;

private:
    friend class file_with_encoded_bytes;

    std::shared_ptr<file_store const> below_;
    std::filesystem::path path_;
    std::uint64_t real_bytes_; ///< the bytes of the file without the extension
    std::map<std::uint64_t, encoded_bytes> in_file_; ///< by shown positions
    std::map<std::uint64_t, std::string> here_; ///< the bytes of short texts, by shown positions
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/pickle/impl/encoded_bytes.ipp>
#endif

#endif
