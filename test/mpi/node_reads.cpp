// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/remote_reach.hpp>

#include "support/matrix_part.hpp"

#include <reshard/mpi/redistribute.hpp>

#include <boost/mpi/collectives/all_gather.hpp>
#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#if defined(__linux__)
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace reshard;
using reshard::test::matrix_part;

namespace {

/// No other process may read this one's memory, for as long as it lives: the system says so itself.
class unreadable {
public:
    unreadable() { set(0); }
    ~unreadable() { set(1); }
    unreadable(unreadable const&) = delete;

private:
    static void set(int readable) {
#if defined(__linux__)
        ::prctl(PR_SET_DUMPABLE, readable, 0, 0, 0);
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct rights[2] = {};
        ::syscall(SYS_capget, &header, rights);
        auto const tracing = 1U << CAP_SYS_PTRACE;
        rights[0].effective = readable ? rights[0].effective | (tracing & rights[0].permitted)
                                       : rights[0].effective & ~tracing;
        ::syscall(SYS_capset, &header, rights);
#endif
    }
};

/// A matrix of long rows: rows over all ranks become columns, in runs of some 17 KB on 7 ranks.
struct reads_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    int size = world.size();
    index_vector shape{5, 30'100};

    box part(std::size_t axis) const {
        index_t const extent = shape[axis];
        box one = whole(shape);
        one.offset[axis] = extent * rank / size;
        one.shape[axis] = extent * (rank + 1) / size - one.offset[axis];
        return one;
    }

    process_cost move(node_exchange how, index_t gap) {
        matrix_part source(shape, part(0), gap), target(shape, part(1), gap);
        source.number();
        prepared moving =
            prepare(world, source.views(), target.views(), std::nullopt, {.on_node = how});
        for (int i = 0; i < 3; ++i)
            run(moving);
        BOOST_TEST(target.wrong() == 0u);
        return moving.cost();
    }

    /// The bytes that this rank reads of others, where the system answers like that.
    index_t bytes_read(system_calls const& calls) {
        matrix_part source(shape, part(0)), target(shape, part(1));
        mpi_group const group(world);
        detail::prepared_state all;
        laid_out<const_tensor_view> have{source.views()};
        laid_out<tensor_view> want{target.views()};
        all.planned = detail::plan_job(group, have, want, std::nullopt, {});
        detail::bind_tensors(all, static_cast<holder_t>(rank), have.held, want.held);
        auto sorted = detail::sort_by_peer(all.planned.whole, rank, size);
        index_t const before = detail::cost_of(all.planned.whole, sorted).bytes_in;
        detail::take_reads(node_of(group, 0), detail::bound_plan_of(all), sorted, calls);
        return before - detail::cost_of(all.planned.whole, sorted).bytes_in;
    }

    /// True where the system lets all ranks read one another, asked without the library.
    bool may_read_neighbours() const {
        bool may = true;
#if defined(__linux__)
        static std::uint64_t const number = 0x5eed;
        std::vector<std::uint64_t> all;
        boost::mpi::all_gather(world, static_cast<std::uint64_t>(::getpid()), all);
        std::vector<std::uint64_t> where;
        boost::mpi::all_gather(
            world, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&number)), where);
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::uint64_t read = 0;
            iovec local{&read, 8};
            iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(where[i])), 8};
            may &= ::process_vm_readv(static_cast<pid_t>(all[i]), &local, 1, &remote, 1, 0) == 8 &&
                   read == number;
        }
#endif
        return boost::mpi::all_reduce(world, may, std::logical_and<bool>());
    }

    index_t bytes_of_others() const { return 4 * part(1).shape[1] * (shape[0] - part(0).shape[0]); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_node_reads, reads_fixture)

BOOST_AUTO_TEST_CASE(long_runs_are_read_where_they_lie) {
    for (index_t const gap : {0, 3}) {
        process_cost const cost = move(node_exchange::reads, gap);
        BOOST_TEST(cost.bytes_node_in == bytes_of_others());
        BOOST_TEST(cost.messages_in == 0);
    }
    if (may_read_neighbours())
        BOOST_TEST(bytes_read({}) == bytes_of_others());
    else
        BOOST_TEST_MESSAGE("the system forbids reading another process's memory: not tested");
}

BOOST_AUTO_TEST_CASE(short_runs_pass_through_rings) {
    shape = {30'100, 5}; // runs of a few bytes
    BOOST_TEST(move(node_exchange::reads, 0).messages_in == 0);
    BOOST_TEST(bytes_read({}) == 0);
}

BOOST_AUTO_TEST_CASE(a_node_of_which_one_rank_is_refused_reads_nothing) {
    system_calls calls;
    if (rank == size - 1)
        calls.read_process = [](pid_t, iovec const*, std::size_t, iovec const*,
                                std::size_t) -> ssize_t {
            errno = EPERM;
            return -1;
        };
    BOOST_TEST(bytes_read(calls) == 0);
}

BOOST_AUTO_TEST_CASE(another_process_of_the_same_number_is_not_read) {
    // What is read is not what the neighbour says that it has.
    system_calls calls;
    calls.read_process = [](pid_t, iovec const* local, std::size_t, iovec const*,
                            std::size_t) -> ssize_t {
        return static_cast<ssize_t>(local->iov_len);
    };
    BOOST_TEST(bytes_read(calls) == 0);
}

BOOST_AUTO_TEST_CASE(where_the_system_refuses_rings_take_over) {
    unreadable const me;
    BOOST_TEST(bytes_read({}) == 0);
    process_cost const cost = move(node_exchange::reads, 1);
    BOOST_TEST(cost.messages_in == 0);
    BOOST_TEST(cost.bytes_node_in == bytes_of_others());
}

BOOST_AUTO_TEST_CASE(runs_of_a_loop_are_read_in_any_order_of_axes) {
    // 3 x 4 x 2 elements: the source has the axes 1, 0, 2, the target 0, 1, 2 with gaps; runs of two.
    std::vector<int> source(24), target(60, -1), expected(60, -1);
    std::iota(source.begin(), source.end(), 0);
    remote_transfer one{0, ::getpid(), {}};
    one.ends.source.data = source.data();
    one.ends.target.data = target.data();
    remote_runs runs({{3, 4, 2}, 0, {2, 6, 1}, 1, {20, 5, 1}}, one, 4);
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 4; ++k)
            for (int l = 0; l < 2; ++l)
                expected[static_cast<std::size_t>(1 + 20 * i + 5 * k + l)] = 2 * i + 6 * k + l;
    for (int again = 0; again < 2; ++again) {
        std::ranges::fill(target, -1);
        runs.rewind();
        while (!runs.is_done())
            runs.advance({});
        BOOST_TEST(target == expected);
    }
}

BOOST_AUTO_TEST_CASE(long_runs_are_read_in_pieces_and_single_elements_as_runs) {
    std::vector<short> source(3'000'000), target(source.size());
    std::iota(source.begin(), source.end(), short{0});
    remote_transfer one{0, ::getpid(), {}};
    one.ends.source.data = source.data();
    one.ends.target.data = target.data();
    auto const count = static_cast<index_t>(source.size());
    int calls = 0;
    for (remote_runs runs({{count}, 0, {1}, 0, {1}}, one, 2); !runs.is_done(); ++calls)
        runs.advance({});
    BOOST_TEST(calls == 6); // of 1 MiB, 6,000,000 bytes in all
    BOOST_TEST((target == source));
    // Backwards, element by element; a scalar; nothing.
    std::ranges::fill(target, short{-1});
    for (remote_runs runs({{5}, 4, {-1}, 0, {1}}, one, 2); !runs.is_done();)
        runs.advance({});
    BOOST_TEST((std::vector<short>(target.begin(), target.begin() + 6) ==
                std::vector<short>{4, 3, 2, 1, 0, -1}));
    for (remote_runs runs({{}, 7, {}, 5, {}}, one, 2); !runs.is_done();)
        runs.advance({});
    BOOST_TEST(target[5] == 7);
    BOOST_TEST(remote_runs({{3, 0}, 0, {1, 1}, 0, {1, 1}}, one, 2).is_done());
}

BOOST_AUTO_TEST_SUITE_END()
