// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#define BOOST_TEST_MODULE storage
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>

/// \file
/// The tests own MPI, and no rank waits for one that has given up.

namespace {

struct give_up_together : boost::unit_test::test_observer {
    void test_unit_aborted(boost::unit_test::test_unit const&) override {
        if (boost::mpi::communicator().size() > 1)
            boost::mpi::environment::abort(1);
    }
    int priority() override { return 10; } // after the log
};

struct with_mpi {
    with_mpi() { boost::unit_test::framework::register_observer(observer); }
    ~with_mpi() { boost::unit_test::framework::deregister_observer(observer); }

    boost::mpi::environment environment;
    give_up_together observer;
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(with_mpi);
