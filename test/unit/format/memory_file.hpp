// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_FORMAT_MEMORY_FILE_HPP
#define RESHARD_TEST_UNIT_FORMAT_MEMORY_FILE_HPP

#include <reshard/core/error.hpp>
#include <reshard/os/file_store.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace reshard::test {

/// A file that is a text.
class memory_file : public file_store::file {
public:
    explicit memory_file(std::string bytes) : bytes_(std::move(bytes)) {}

    file_store::identity facts() const override { return {.bytes = bytes_.size()}; }

    void read(std::uint64_t position, std::span<std::byte> target) const override {
        if (position > bytes_.size() || target.size() > bytes_.size() - position)
            fail(errc::corrupt_file, "read beyond the end");
        std::memcpy(target.data(), bytes_.data() + position, target.size());
    }

private:
    std::string bytes_;
};

} // namespace reshard::test

#endif
