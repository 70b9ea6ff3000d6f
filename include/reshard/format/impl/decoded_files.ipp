// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_DECODED_FILES_IPP
#define RESHARD_FORMAT_IMPL_DECODED_FILES_IPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

/// \file
/// Files with tensors that are computed when they are read: the values of quantised tensors.

namespace reshard::detail {

/// Files of a store, each opened once. Several threads may call it.
class open_files_of {
public:
    explicit open_files_of(file_store const& store) : store_(store) {}

    file_store::file const& operator[](std::filesystem::path const& path) const {
        std::lock_guard const lock(mutex_);
        std::unique_ptr<file_store::file>& opened = opened_[path];
        if (!opened)
            opened = store_.open(path);
        return *opened;
    }

private:
    file_store const& store_;
    mutable std::mutex mutex_;
    mutable std::map<std::filesystem::path, std::unique_ptr<file_store::file>> opened_;
};

/// A tensor of f32 whose elements are computed from stored bytes.
class decoded_tensor {
public:
    virtual ~decoded_tensor() = default;

    /// Fills `values` with the elements from `first` on, in row-major order.
    ///
    /// \throws error as `file_store::file::read`
    virtual void read(open_files_of const& files, index_t first, std::span<float> values) const = 0;
};

/// The files of a store, some of them extended after their ends by decoded tensors.
class decoded_files : public file_store {
public:
    explicit decoded_files(std::shared_ptr<file_store const> below) : below_(std::move(below)) {}

    /// Adds a tensor to a file, and returns the bytes at which the file then has it.
    ///
    /// \pre the file is not open; the number of bytes fits 63 bits
    byte_run add(std::filesystem::path const& path, index_t elements,
                 std::shared_ptr<decoded_tensor const> tensor) {
        auto const [match, is_new] = files_.try_emplace(path);
        shown_tensors& shown = match->second;
        if (is_new)
            shown.end = below_->open(path)->facts().bytes;
        byte_run const bytes{shown.end,
                             shown.end + static_cast<std::uint64_t>(elements) * sizeof(float)};
        shown.tensors.emplace(bytes.begin, std::pair(bytes, std::move(tensor)));
        // Each tensor has its own position, also an empty one.
        shown.end = std::max(bytes.end, bytes.begin + 1);
        return bytes;
    }

    /// The number of bytes of a file with its decoded tensors.
    ///
    /// \pre the file has such a tensor
    std::uint64_t bytes_of(std::filesystem::path const& path) const { return files_.at(path).end; }

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    /// \pre the file does not outlive this
    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        auto const match = files_.find(path);
        if (match == files_.end())
            return below_->open(path);
        return std::make_unique<decoded_file>(*below_, path, match->second);
    }

private:
    struct shown_tensors {
        std::uint64_t end = 0;
        std::map<std::uint64_t, std::pair<byte_run, std::shared_ptr<decoded_tensor const>>> tensors;
    };

    class decoded_file : public file {
    public:
        decoded_file(file_store const& below, std::filesystem::path path,
                     shown_tensors const& shown)
            : path_(std::move(path)), shown_(shown), files_(below), real_(files_[path_]) {}

        identity facts() const override {
            identity extended = real_.facts();
            extended.bytes = shown_.end;
            return extended;
        }

        void read(std::uint64_t position, std::span<std::byte> target) const override {
            auto const next = shown_.tensors.upper_bound(position);
            if (next == shown_.tensors.begin())
                return real_.read(position, target);
            auto const& [bytes, tensor] = std::prev(next)->second;
            if (position > bytes.end || target.size() > bytes.end - position)
                fail(errc::corrupt_file, path_.string(), ": ", target.size(),
                     " bytes are requested at byte ", position - bytes.begin, " of a tensor of ",
                     bytes.size(), " bytes");
            std::uint64_t const at = position - bytes.begin;
            constexpr std::uint64_t width = sizeof(float);
            bool const is_aligned =
                at % width == 0 && target.size() % width == 0 &&
                reinterpret_cast<std::uintptr_t>(target.data()) % alignof(float) == 0;
            if (is_aligned)
                return tensor->read(
                    files_, static_cast<index_t>(at / width),
                    {reinterpret_cast<float*>(target.data()), target.size() / width});
            std::uint64_t const first = at / width;
            vector<float> values(
                static_cast<std::size_t>((at + target.size() + width - 1) / width - first));
            tensor->read(files_, static_cast<index_t>(first), values);
            if (!target.empty())
                std::memcpy(target.data(), std::as_bytes(std::span(values)).data() + at % width,
                            target.size());
        }

    private:
        std::filesystem::path path_;
        shown_tensors const& shown_;
        open_files_of files_;
        file_store::file const& real_;
    };

    std::shared_ptr<file_store const> below_;
    std::map<std::filesystem::path, shown_tensors> files_;
};

} // namespace reshard::detail

#endif
