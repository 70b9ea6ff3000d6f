// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/kokkos.hpp>

#include "support/says.hpp"

#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

namespace {

struct host_space {
    static constexpr char const* name() { return "Host"; }
};
struct pinned_space {
    static constexpr char const* name() { return "CudaHostPinned"; }
};
struct device_space {
    static constexpr char const* name() { return "Cuda"; }
};
struct shared_space {
    static constexpr char const* name() { return "CudaUVM"; }
};

/// A view as the documentation of Kokkos describes `Kokkos::View`, as far as the adapter looks at
/// it. Kokkos itself is not among the packages that the tests install.
template <class Element, std::size_t Rank, class Space = host_space>
struct stand_in_view {
    using value_type = Element;
    using memory_space = Space;
    using execution_space = void;
    using array_layout = void;
    static constexpr std::size_t rank = Rank;

    std::shared_ptr<std::vector<std::remove_const_t<Element>>> storage;
    std::size_t first = 0;
    std::array<std::size_t, 8> extents{};
    std::array<std::size_t, 8> steps{};

    /// As `LayoutLeft`: the first axis is contiguous, if `gap` is 1.
    explicit stand_in_view(index_vector const& shape, std::size_t gap = 1) {
        std::size_t step = gap;
        for (std::size_t axis = 0; axis < Rank; ++axis) {
            extents[axis] = static_cast<std::size_t>(shape[axis]);
            steps[axis] = step;
            step *= extents[axis];
        }
        storage = std::make_shared<std::vector<std::remove_const_t<Element>>>(step);
    }

    std::size_t extent(std::size_t axis) const { return axis < Rank ? extents[axis] : 1; }
    std::size_t stride(std::size_t axis) const { return steps[axis]; }
    Element* data() const { return storage->data() + first; }
    Element& at(index_vector const& index) const {
        std::size_t offset = 0;
        for (std::size_t axis = 0; axis < Rank; ++axis)
            offset += steps[axis] * static_cast<std::size_t>(index[axis]);
        return data()[offset];
    }
};

template <std::size_t Rank>
void check_view(std::size_t gap) {
    using view_type = stand_in_view<double, Rank>;
    testing::check_adapter<view_type>(
        {.make = [=](index_vector const& shape, data_type) { return view_type(shape, gap); },
         .write = [](view_type& t, index_vector const& i, int number) { t.at(i) = number; },
         .read = [](view_type const& t,
                    index_vector const& i) { return static_cast<int>(t.at(i)); },
         .ndims = {Rank}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_kokkos)

BOOST_AUTO_TEST_CASE(a_view_keeps_the_laws) {
    check_view<0>(1);
    check_view<1>(1);
    check_view<3>(1);
    check_view<8>(1);
    check_view<3>(2);
    static_assert(tensor_handle<stand_in_view<double, 2>>);
    static_assert(tensor<stand_in_view<double const, 2>>);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(memory_that_a_kernel_may_use_is_the_devices) {
    stand_in_view<float, 1> host({2});
    BOOST_TEST((view(host).memory == memory_space::host));
    stand_in_view<float, 1, pinned_space> pinned({2});
    BOOST_TEST((view(pinned).memory == memory_space::host));
    stand_in_view<float, 1, shared_space> shared({2});
    BOOST_TEST((view(shared).memory == memory_space::cuda));
    const_state_dict have;
    have.add(replicated("w", data_type::f32, {2}), stand_in_view<float, 1, device_space>({2}));
    BOOST_CHECK_EXCEPTION(have.check(), error,
                          says(errc::unsupported,
                               "'w': 2 elements in the memory of cuda:0; give the call its device "
                               "(options.devices, see doc/devices.md), or copy them to the host"));
}

BOOST_AUTO_TEST_CASE(a_view_is_a_target) {
    using view_2d =
        stand_in_view<float, 2>; // with Kokkos: Kokkos::View<float**, Kokkos::HostSpace>
    view_2d source({4, 6}), left({4, 3});
    source.at({3, 2}) = 7;
    state_dict have, want;
    have.add(replicated("w", data_type::f32, {4, 6}), source);
    want.add(equal_shares("w", data_type::f32, {4, 3}, {{1, 0, 2}}), left);
    redistribute(solo{}, have, want);
    BOOST_TEST(left.at({3, 2}) == 7);
}

BOOST_AUTO_TEST_CASE(a_temporary_view_is_kept) {
    std::weak_ptr<std::vector<float>> storage;
    {
        state_dict want;
        stand_in_view<float, 1> row({3});
        storage = row.storage;
        want.add(replicated("w", data_type::f32, {3}), std::move(row));
        want.check();
        BOOST_TEST(storage.use_count() == 1);
    }
    BOOST_TEST(storage.expired());
}

BOOST_AUTO_TEST_SUITE_END()
