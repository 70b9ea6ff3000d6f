// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#define BOOST_TEST_MODULE reshard over MPI
#include <boost/test/unit_test.hpp>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/test/results_reporter.hpp>

namespace {

namespace unit_test = boost::unit_test;

/// Ends all ranks when a test ends early on one of them: the others wait in a collective.
class abort_together : public unit_test::test_observer {
public:
    void test_unit_aborted(unit_test::test_unit const&) override {
        boost::mpi::environment::abort(1);
    }
};

/// Owns MPI from before the first test until after the last one.
class mpi_fixture {
public:
    mpi_fixture()
        : environment_(unit_test::framework::master_test_suite().argc,
                       unit_test::framework::master_test_suite().argv) {
        unit_test::framework::register_observer(together_);
        if (boost::mpi::communicator().rank() != 0)
            unit_test::results_reporter::set_level(unit_test::NO_REPORT);
    }
    ~mpi_fixture() { unit_test::framework::deregister_observer(together_); }

    mpi_fixture(mpi_fixture const&) = delete;
    mpi_fixture& operator=(mpi_fixture const&) = delete;

private:
    boost::mpi::environment environment_;
    abort_together together_;
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(mpi_fixture);
