// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/cuda.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/testing/check_device.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;

struct CUgraph_st;
struct CUgraphExec_st;

extern "C" {
int cudaStreamCreate(CUstream_st** stream);
int cudaStreamBeginCapture(CUstream_st* stream, int mode);
int cudaStreamEndCapture(CUstream_st* stream, CUgraph_st** graph);
int cudaGraphInstantiate(CUgraphExec_st** ready, CUgraph_st* graph, unsigned long long flags);
int cudaGraphLaunch(CUgraphExec_st* ready, CUstream_st* stream);
}

BOOST_AUTO_TEST_SUITE(cuda_cuda)

namespace {

int gpus() {
    int count = 0;
    return reshard_cuda_count(&count) == 0 ? count : 0;
}

boost::test_tools::assertion_result has_gpu(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(gpus() > 0);
    result.message() << "this machine has no GPU";
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_gpu_that_is_not_there_is_refused) {
    for (int const number : {-1, gpus()})
        BOOST_CHECK_EXCEPTION(cuda(number), error, [](error const& problem) {
            return problem.code() == errc::unsupported;
        });
}

BOOST_AUTO_TEST_CASE(a_gpu_copies_as_the_processor_does, *boost::unit_test::precondition(has_gpu)) {
    auto const device = cuda();
    auto const move = [](void* to, void const* from, std::size_t bytes) {
        BOOST_TEST(reshard_cuda_copy(0, nullptr, to, from, bytes) == 0);
        BOOST_TEST(reshard_cuda_wait(0, nullptr) == 0);
    };
    testing::check_device(*device, {[](std::size_t bytes) {
                                        void* memory = nullptr;
                                        BOOST_TEST(reshard_cuda_allocate(0, bytes, &memory) == 0);
                                        return memory;
                                    },
                                    reshard_cuda_free, move, move});
}

BOOST_AUTO_TEST_CASE(messages_are_on_the_gpu_if_mpi_reads_it_or_the_caller_says_so,
                     *boost::unit_test::precondition(has_gpu)) {
    struct {
        std::optional<bool> messages_on_gpu;
        bool mpi_reads_it, is_on_gpu;
    } const cases[] = {{std::nullopt, false, false},
                       {std::nullopt, true, true},
                       {true, false, true},
                       {true, true, true},
                       {false, true, false}};
    for (auto const& [messages_on_gpu, mpi_reads_it, is_on_gpu] : cases) {
        auto const memory = cuda(0, nullptr, messages_on_gpu)->message_memory(64, mpi_reads_it);
        BOOST_TEST((memory != nullptr) == is_on_gpu);
    }
    constexpr std::size_t too_much = std::size_t{1} << 44;
    BOOST_TEST(!cuda()->message_memory(too_much, true));
    BOOST_CHECK_EXCEPTION(
        cuda(0, nullptr, true)->message_memory(too_much, false), error,
        [](error const& problem) { return problem.code() == errc::limit_exceeded; });
}

namespace {

/// Twelve floats in the memory of a GPU, or in pinned host memory.
class gpu_floats {
public:
    explicit gpu_floats(bool is_pinned = false) : is_pinned_(is_pinned) {
        void* memory = nullptr;
        BOOST_TEST((is_pinned ? reshard_cuda_allocate_host
                              : reshard_cuda_allocate)(0, 12 * sizeof(float), &memory) == 0);
        data_ = static_cast<float*>(memory);
    }
    gpu_floats(gpu_floats const&) = delete;
    gpu_floats& operator=(gpu_floats const&) = delete;
    ~gpu_floats() { (is_pinned_ ? reshard_cuda_free_host : reshard_cuda_free)(data_); }

    /// Starts to copy from host memory.
    void put(std::vector<float> const& values, CUstream_st* stream) {
        BOOST_TEST(reshard_cuda_copy(0, stream, data_, values.data(), 12 * sizeof(float)) == 0);
    }
    std::vector<float> values() const {
        std::vector<float> copied(12);
        BOOST_TEST(reshard_cuda_copy(0, nullptr, copied.data(), data_, 12 * sizeof(float)) == 0);
        BOOST_TEST(reshard_cuda_wait(0, nullptr) == 0);
        return copied;
    }

    tensor_view view(index_vector const& shape) const {
        tensor_view view{data_, data_type::f32, shape, row_major_strides(shape)};
        view.memory = is_pinned_ ? memory_space() : memory_space{memory_space::cuda, 0};
        return view;
    }

private:
    bool is_pinned_;
    float* data_ = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(tensors_move_after_the_work_on_the_callers_stream,
                     *boost::unit_test::precondition(has_gpu)) {
    CUstream_st* stream = nullptr;
    BOOST_TEST(cudaStreamCreate(&stream) == 0);
    std::vector<float> const rows{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    std::vector<float> const columns{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
    for (bool const source_is_pinned : {false, true})
        for (bool const target_is_pinned : {false, true}) {
            gpu_floats have(source_is_pinned), want(target_is_pinned);
            have.put(rows, stream); // nobody waits for it
            mapping program;
            program.define("v", transpose(program.source("w", {3, 4}, data_type::f32)));
            const_state_dict from;
            state_dict to;
            from.add(replicated("w", data_type::f32, {3, 4}), have.view({3, 4}));
            to.add(replicated("v", data_type::f32, {4, 3}), want.view({4, 3}));
            if (source_is_pinned) // work of the host, which nothing orders
                BOOST_TEST(reshard_cuda_wait(0, stream) == 0);
            redistribute(solo(), from, to, {.program = program, .devices = {cuda(0, stream)}});
            BOOST_TEST(want.values() == columns, boost::test_tools::per_element());
        }
}

namespace {

/// A job that transposes a matrix in the memory of a GPU, on a stream of its own.
struct transposing_job {
    CUstream_st* stream = new_stream();
    gpu_floats have;
    gpu_floats want;
    job moving = prepared();

    static CUstream_st* new_stream() {
        CUstream_st* made = nullptr;
        BOOST_TEST(cudaStreamCreate(&made) == 0);
        return made;
    }
    job prepared() const {
        mapping program;
        program.define("v", transpose(program.source("w", {3, 4}, data_type::f32)));
        const_state_dict from;
        state_dict to;
        from.add(replicated("w", data_type::f32, {3, 4}), have.view({3, 4}));
        to.add(replicated("v", data_type::f32, {4, 3}), want.view({4, 3}));
        return prepare(solo(), from, to, {.program = program, .devices = {cuda(0, stream)}});
    }

    /// Puts numbers into the source, moves them with `work`, and compares the target.
    void check(float first, std::function<void()> const& work) {
        std::vector<float> const rows{first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        std::vector<float> const columns{first, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
        have.put(rows, stream);
        work();
        BOOST_TEST(want.values() == columns, boost::test_tools::per_element());
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_prepared_job_is_complete_after_each_run,
                     *boost::unit_test::precondition(has_gpu)) {
    transposing_job transposing;
    for (float first = 1; first <= 4; ++first)
        transposing.check(first, [&] { run(transposing.moving); });
}

BOOST_AUTO_TEST_CASE(a_job_that_has_run_twice_is_captured_in_a_graph,
                     *boost::unit_test::precondition(has_gpu)) {
    transposing_job transposing;
    CUstream_st* const stream = transposing.stream;
    job& moving = transposing.moving;
    CUgraph_st* graph = nullptr;
    constexpr int global = 0, relaxed = 2;
    run(moving);
    for (int const mode : {global, relaxed}) { // before the second run
        BOOST_TEST(cudaStreamBeginCapture(stream, mode) == 0);
        BOOST_CHECK_EXCEPTION(run(moving), error, [](error const& problem) {
            return problem.code() == errc::unsupported &&
                   std::string(problem.what()).find("has run twice") != std::string::npos;
        });
        BOOST_TEST(cudaStreamEndCapture(stream, &graph) != 0);
    }
    run(moving);
    BOOST_TEST(cudaStreamBeginCapture(stream, global) == 0);
    run(moving);
    BOOST_TEST(cudaStreamEndCapture(stream, &graph) == 0);
    CUgraphExec_st* ready = nullptr;
    BOOST_TEST(cudaGraphInstantiate(&ready, graph, 0) == 0);
    for (float first = 1; first <= 3; ++first)
        transposing.check(first, [&] {
            BOOST_TEST(cudaGraphLaunch(ready, stream) == 0);
            BOOST_TEST(reshard_cuda_wait(0, stream) == 0);
        });
}

BOOST_AUTO_TEST_CASE(copies_that_a_graph_would_miss_are_refused,
                     *boost::unit_test::precondition(has_gpu)) {
    CUstream_st* const stream = transposing_job::new_stream();
    std::vector<float> source(12), target(12);
    auto const view = [](std::vector<float>& values) {
        return tensor_view{values.data(), data_type::f32, {12}, {1}};
    };
    const_state_dict from;
    state_dict to;
    from.add(replicated("w", data_type::f32, {12}), view(source));
    to.add(replicated("w", data_type::f32, {12}), view(target));
    job moving = prepare(solo(), from, to, {.devices = {cuda(0, stream)}});
    for (int runs = 0; runs < 3; ++runs) {
        CUgraph_st* graph = nullptr;
        BOOST_TEST(cudaStreamBeginCapture(stream, 2) == 0);
        BOOST_CHECK_EXCEPTION(run(moving), error, [](error const& problem) {
            return problem.code() == errc::unsupported;
        });
        BOOST_TEST(cudaStreamEndCapture(stream, &graph) != 0);
        run(moving);
    }
}

BOOST_AUTO_TEST_SUITE_END()
