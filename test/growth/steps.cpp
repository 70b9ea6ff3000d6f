// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "growth/steps.hpp"

#include <cstdlib>
#include <new>

// The compiler calls the first function at every basic block of the other sources of this program;
// this one is compiled without that.

namespace {

std::uint64_t steps = 0;
std::uint64_t allocations = 0;

} // namespace

extern "C" void __sanitizer_cov_trace_pc() { ++steps; }

std::uint64_t reshard::test::steps_so_far() { return steps; }
std::uint64_t reshard::test::allocations_so_far() { return allocations; }

void* operator new(std::size_t bytes) {
    steps += bytes / 16;
    ++allocations;
    if (void* const found = std::malloc(bytes == 0 ? 1 : bytes))
        return found;
    throw std::bad_alloc();
}

// The one that sorting asks for a buffer.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
    steps += bytes / 16;
    ++allocations;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
