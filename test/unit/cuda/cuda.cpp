// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/cuda.hpp>

#include <reshard/cuda/cuda_functions.hpp>
#include <reshard/testing/check_device.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace reshard;

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

BOOST_AUTO_TEST_SUITE_END()
