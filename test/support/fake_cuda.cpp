// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// CUDA's functions without a GPU. The memory of a GPU has addresses that the processor cannot use.
/// A stream does its work when somebody waits for it, so that a missing wait is a wrong value. Work
/// on other memory than the GPU's own and pinned memory is an error, as on a GPU.

#include "support/run_kernel.hpp"

#include <reshard/cuda/cuda_functions.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace reshard::detail;

constexpr int none = 0, invalid_value = 1, out_of_memory = 2, no_gpu = 100, invalid_gpu = 101,
              illegal_address = 700, misaligned_address = 716, capture_unsupported = 900,
              capture_invalidated = 901;

/// By first address, the number of bytes.
class allocations {
public:
    void add(std::uintptr_t first, std::size_t bytes) { bytes_[first] = bytes; }
    bool remove(std::uintptr_t first) { return bytes_.erase(first) == 1; }
    bool is_empty() const { return bytes_.empty(); }
    bool has(std::uintptr_t first, std::size_t bytes) const {
        auto const next = bytes_.upper_bound(first);
        return next != bytes_.begin() &&
               first + bytes <= std::prev(next)->first + std::prev(next)->second;
    }

private:
    std::map<std::uintptr_t, std::size_t> bytes_;
};

using stream_work = std::vector<std::function<int()>>;

/// The memory of a GPU, mapped twice.
class gpu {
public:
    gpu() {
        int const file = ::memfd_create("fake_cuda", MFD_CLOEXEC);
        if (file < 0 || ::ftruncate(file, capacity) != 0)
            std::abort();
        seen_ = map(file, PROT_NONE);
        own_ = map(file, PROT_READ | PROT_WRITE);
        ::close(file);
    }

    void* allocate(std::size_t bytes) {
        std::size_t const first = (used_ + 255) / 256 * 256;
        if (first + bytes > capacity)
            return nullptr;
        used_ = first + std::max<std::size_t>(bytes, 1); // a new address for nothing, too
        held_.add(seen_ + first, bytes);
        return reinterpret_cast<void*>(seen_ + first);
    }
    bool free(void* memory) {
        bool const was_held = held_.remove(reinterpret_cast<std::uintptr_t>(memory));
        if (held_.is_empty())
            used_ = 0;
        return was_held;
    }

    bool has(void const* memory) const {
        return reinterpret_cast<std::uintptr_t>(memory) - seen_ < capacity;
    }
    /// The processor's address of bytes, or null if they are not in an allocation.
    void* own(void const* memory, std::size_t bytes) const {
        auto const first = reinterpret_cast<std::uintptr_t>(memory);
        return held_.has(first, bytes) ? reinterpret_cast<void*>(own_ + (first - seen_)) : nullptr;
    }

    /// By stream, what it has to do.
    std::map<CUstream_st*, stream_work> streams;
    /// The streams that are being captured, and the work since then. A wait makes a capture fail.
    std::map<CUstream_st*, stream_work> captured;
    std::set<CUstream_st*> failed_captures;
    bool may_allocate = true;

    stream_work& end_of(CUstream_st* stream) {
        auto const capture = captured.find(stream);
        return capture == captured.end() ? streams[stream] : capture->second;
    }

private:
    static constexpr std::size_t capacity = std::size_t{1} << 28;

    static std::uintptr_t map(int file, int access) {
        void* const memory = ::mmap(nullptr, capacity, access, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED)
            std::abort();
        return reinterpret_cast<std::uintptr_t>(memory);
    }

    std::uintptr_t seen_ = 0;
    std::uintptr_t own_ = 0;
    std::size_t used_ = 0;
    allocations held_;
};

std::size_t number_of_gpus() {
    char const* const text = std::getenv("RESHARD_FAKE_GPUS");
    return text ? std::strtoul(text, nullptr, 10) : 2;
}

struct machine {
    std::recursive_mutex mutex;
    std::vector<gpu> gpus = std::vector<gpu>(number_of_gpus());
    allocations pinned;

    bool has_gpu(int number) const {
        return number >= 0 && static_cast<std::size_t>(number) < gpus.size();
    }
    gpu* owner(void const* memory) {
        for (gpu& each : gpus)
            if (each.has(memory))
                return &each;
        return nullptr;
    }
};

machine& all() {
    static machine only;
    return only;
}

using lock = std::lock_guard<std::recursive_mutex>;

/// An address that the processor can use: of any GPU, or of host memory as it is; null for bytes of
/// a GPU that are not in an allocation.
void* reached(void const* memory, std::size_t bytes) {
    gpu* const owner = all().owner(memory);
    return owner ? owner->own(memory, bytes) : const_cast<void*>(memory);
}

int run_all(gpu& some, CUstream_st* stream) {
    int problem = none;
    for (std::function<int()> const& work : std::exchange(some.streams[stream], {}))
        if (int const next = work(); problem == none)
            problem = next;
    return problem;
}

void run_everything() {
    for (gpu& each : all().gpus)
        for (auto const& [stream, work] : std::map(each.streams))
            static_cast<void>(run_all(each, stream));
}

/// The bytes that one side of a box has, from its lowest address.
std::pair<std::int64_t, std::size_t> reach_of(unit_box const& box, std::int64_t const* strides,
                                              std::size_t word) {
    std::int64_t first = 0, last = 0;
    for (std::uint32_t axis = 0; axis < box.ndim; ++axis)
        (strides[axis] < 0 ? first : last) += (box.extent[axis] - 1) * strides[axis];
    return {first, static_cast<std::size_t>(last - first) + word};
}

/// The address of one side of a box for the processor; null if a kernel of `some` cannot use it.
template <class Byte>
Byte* side_of(gpu const& some, Byte* memory, unit_box const& box, std::int64_t const* strides,
              std::size_t word) {
    auto const [first, bytes] = reach_of(box, strides, word);
    Byte* const lowest = memory + first;
    if (all().pinned.has(reinterpret_cast<std::uintptr_t>(lowest), bytes))
        return memory;
    auto* const own = static_cast<Byte*>(some.own(lowest, bytes));
    return own ? own - first : nullptr;
}

int launch(gpu const& some, std::size_t kernel, std::size_t count, void const* boxes,
           void const* programs, void const* pieces) {
    auto const* const parts =
        static_cast<unit_piece const*>(some.own(pieces, count * sizeof(unit_piece)));
    if (!parts)
        return illegal_address;
    std::size_t last = 0;
    for (std::size_t i = 0; i < count; ++i)
        last = std::max<std::size_t>(last, parts[i].box);
    auto const* const listed =
        static_cast<unit_box const*>(some.own(boxes, (last + 1) * sizeof(unit_box)));
    auto const* const steps = static_cast<unit_program const*>(some.own(programs, 0));
    if (!listed)
        return illegal_address;
    std::vector<unit_box> own(listed, listed + last + 1);
    std::size_t const word = unit_kernel::of(kernel).word_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        unit_box& box = own[parts[i].box];
        unit_box const& given = listed[parts[i].box];
        bool const casts = box.program != unit_box::no_program;
        box.source = side_of(some, given.source, given, given.source_stride,
                             casts ? given.source_bytes : word);
        box.target = side_of(some, given.target, given, given.target_stride, word);
        if (!box.source || !box.target)
            return illegal_address;
        if (reshard::test::is_misaligned(given, word))
            return misaligned_address;
    }
    reshard::test::run_kernel(kernel, count, own.data(), steps, parts);
    return none;
}

} // namespace

/// Graphs of CUDA: lists of work.
struct CUgraph_st {
    stream_work work;
};
struct CUgraphExec_st {
    stream_work work;
};

extern "C" {

/// For tests; of CUDA's runtime.
int cudaStreamCreate(CUstream_st** stream) {
    static char streams[64];
    static std::size_t used = 0;
    *stream = reinterpret_cast<CUstream_st*>(streams + used++ % sizeof streams);
    return none;
}

int cudaStreamBeginCapture(CUstream_st* stream, int mode) {
    lock const held(all().mutex);
    constexpr int global = 0;
    all().gpus[0].may_allocate = mode != global;
    return all().gpus[0].captured.try_emplace(stream).second ? none : invalid_value;
}

int cudaStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
    lock const held(all().mutex);
    auto const capture = all().gpus[0].captured.extract(stream);
    all().gpus[0].may_allocate = true;
    if (all().gpus[0].failed_captures.erase(stream) != 0)
        return capture_invalidated;
    if (capture.empty())
        return invalid_value;
    static std::list<CUgraph_st> graphs;
    *graph = &graphs.emplace_back(CUgraph_st{capture.mapped()});
    return none;
}

int cudaGraphInstantiate(CUgraphExec_st** ready, CUgraph_st* graph, unsigned long long) {
    lock const held(all().mutex);
    static std::list<CUgraphExec_st> graphs;
    *ready = &graphs.emplace_back(CUgraphExec_st{graph->work});
    return none;
}

int cudaGraphLaunch(CUgraphExec_st* ready, CUstream_st* stream) {
    lock const held(all().mutex);
    auto& work = all().gpus[0].streams[stream];
    work.insert(work.end(), ready->work.begin(), ready->work.end());
    return none;
}

int reshard_cuda_count(int* count) {
    *count = static_cast<int>(all().gpus.size());
    return *count == 0 ? no_gpu : none;
}

char const* reshard_cuda_error_text(int error) {
    switch (error) {
    case no_gpu: return "no CUDA-capable device is detected";
    case out_of_memory: return "out of memory";
    case capture_unsupported: return "operation not permitted when stream is capturing";
    case capture_invalidated: return "operation failed due to a previous error during capture";
    case misaligned_address: return "misaligned address";
    case illegal_address: return "an illegal memory access was encountered";
    default: return "invalid argument";
    }
}

int reshard_cuda_allocate(int gpu, std::size_t bytes, void** memory) {
    lock const held(all().mutex);
    if (!all().has_gpu(gpu))
        return invalid_gpu;
    if (auto& some = all().gpus[static_cast<std::size_t>(gpu)]; !some.may_allocate) {
        for (auto const& [stream, work] : some.captured)
            some.failed_captures.insert(stream);
        return capture_unsupported;
    }
    *memory = all().gpus[static_cast<std::size_t>(gpu)].allocate(bytes);
    return *memory ? none : out_of_memory;
}

void reshard_cuda_free(void* memory) {
    lock const held(all().mutex);
    run_everything();
    if (gpu* const owner = all().owner(memory); memory && !(owner && owner->free(memory)))
        std::abort();
}

int reshard_cuda_allocate_host(int gpu, std::size_t bytes, void** memory) {
    lock const held(all().mutex);
    if (!all().has_gpu(gpu))
        return invalid_gpu;
    *memory = std::malloc(bytes);
    all().pinned.add(reinterpret_cast<std::uintptr_t>(*memory), bytes);
    return none;
}

void reshard_cuda_free_host(void* memory) {
    lock const held(all().mutex);
    run_everything();
    if (memory && !all().pinned.remove(reinterpret_cast<std::uintptr_t>(memory)))
        std::abort();
    std::free(memory);
}

int reshard_cuda_can_use(void const* host) {
    lock const held(all().mutex);
    return all().pinned.has(reinterpret_cast<std::uintptr_t>(host), 1);
}

int reshard_cuda_copy(int gpu, CUstream_st* stream, void* to, void const* from, std::size_t bytes) {
    lock const held(all().mutex);
    if (!all().has_gpu(gpu))
        return invalid_gpu;
    all().gpus[static_cast<std::size_t>(gpu)].end_of(stream).push_back([=] {
        void* const target = reached(to, bytes);
        void const* const source = reached(from, bytes);
        if (!target || !source)
            return invalid_value;
        std::memcpy(target, source, bytes);
        return none;
    });
    return none;
}

int reshard_cuda_launch(int gpu, CUstream_st* stream, std::size_t kernel, std::size_t count,
                        void const* boxes, void const* programs, void const* pieces) {
    lock const held(all().mutex);
    if (!all().has_gpu(gpu))
        return invalid_gpu;
    auto& used = all().gpus[static_cast<std::size_t>(gpu)];
    used.end_of(stream).push_back(
        [=, &used] { return launch(used, kernel, count, boxes, programs, pieces); });
    return none;
}

int reshard_cuda_wait(int gpu, CUstream_st* stream) {
    lock const held(all().mutex);
    if (!all().has_gpu(gpu))
        return invalid_gpu;
    auto& some = all().gpus[static_cast<std::size_t>(gpu)];
    if (!some.captured.contains(stream))
        return run_all(some, stream);
    return some.failed_captures.insert(stream).second ? capture_unsupported : capture_invalidated;
}

int reshard_cuda_is_captured(int gpu, CUstream_st* stream) {
    lock const held(all().mutex);
    return all().has_gpu(gpu) &&
           all().gpus[static_cast<std::size_t>(gpu)].captured.contains(stream);
}

} // extern "C"
