// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#define BOOST_TEST_MODULE reshard
#include <boost/test/unit_test.hpp>
