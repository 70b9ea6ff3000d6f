// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_MAPPED_FILE_IPP
#define RESHARD_OS_IMPL_MAPPED_FILE_IPP

#include <reshard/os/mapped_file.hpp>

#include <reshard/core/config.hpp>
#include <reshard/os/file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

namespace reshard::detail {

RESHARD_DECL mapped_input::mapped_input(std::filesystem::path const& path) {
    file_descriptor const file = file_descriptor::open(path, O_RDONLY);
    struct stat facts {};
    if (::fstat(file.number(), &facts) != 0)
        fail_io(path, "cannot be examined");
    memory_ = mapping_handle(file, static_cast<std::size_t>(facts.st_size), PROT_READ, path);
}

RESHARD_DECL mapped_output::mapped_output(std::filesystem::path path, std::size_t bytes)
    : path_(std::move(path)) {
    file_descriptor const file = file_descriptor::open(path_, O_RDWR | O_CREAT | O_EXCL);
    reserve(file, bytes);
    memory_ = mapping_handle(file, bytes, PROT_READ | PROT_WRITE, path_);
}

RESHARD_DECL void mapped_output::sync() {
    if (memory_.bytes() != 0 && ::msync(memory_.data(), memory_.bytes(), MS_SYNC) != 0)
        fail_io(path_, "cannot be written");
}

RESHARD_DECL void mapped_output::reserve(file_descriptor const& file, std::size_t bytes) const {
    file_size_signal_held const held;
    int const problem = bytes ? ::posix_fallocate(file.number(), 0, static_cast<off_t>(bytes)) : 0;
    if (problem != 0)
        fail_io(path_, "cannot reserve " + std::to_string(bytes) + " bytes", problem);
}

} // namespace reshard::detail

#endif
