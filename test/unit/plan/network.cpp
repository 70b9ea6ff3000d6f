// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/network.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/bytes.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <limits>
#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(network_)

namespace {

/// The error of a wrong network.
std::string complaint_about(std::function<void(network&)> const& spoil) {
    network network;
    spoil(network);
    try {
        validate(network);
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::bad_layout));
        return problem.what();
    }
    return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(processes_stand_on_nodes_and_nodes_in_racks) {
    network network;
    network.ranks_per_node = 4;
    BOOST_TEST(network.node_of(0) == 0u);
    BOOST_TEST(network.node_of(11) == 2u);
    BOOST_TEST(network.rack_of(11) == 0u); // there are none
    network.rack.nodes = 2;
    BOOST_TEST(network.rack_of(7) == 0u);
    BOOST_TEST(network.rack_of(11) == 1u);
}

BOOST_AUTO_TEST_CASE(the_network_by_default_is_a_valid_one) {
    BOOST_CHECK_NO_THROW(validate(network()));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_the_field_and_its_number) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    BOOST_TEST(complaint_about([](network& network) { network.ranks_per_node = 0; }) ==
               "ranks_per_node is 0; a node has at least 1 rank");
    BOOST_TEST(
        complaint_about([](network& network) { network.copy.rank_bytes_per_second = -2.5; }) ==
        "copy.rank_bytes_per_second is -2.5; it must be 0, or from 1 to 1e18 bytes per second");
    BOOST_TEST(complaint_about([](network& network) { network.link.latency_seconds = infinite; }) ==
               "link.latency_seconds is inf; it must be from 0 to 1e6 seconds");
    BOOST_TEST(complaint_about([](network& network) {
                   network.memory.node_bytes_per_second = std::numeric_limits<double>::quiet_NaN();
               }).starts_with("memory.node_bytes_per_second is nan; "));
    BOOST_TEST(
        complaint_about([](network& network) { network.link.node_bytes_per_second = 1e-320; }) ==
        "link.node_bytes_per_second is 1e-320; it must be 0, or from 1 to 1e18 bytes per second");
    BOOST_TEST(complaint_about([](network& network) {
                   network.rack.bytes_per_second = 1e300;
               }).starts_with("rack.bytes_per_second is 1e+300; "));
    BOOST_TEST(complaint_about([](network& network) { network.copy.latency_seconds = 1e300; }) ==
               "copy.latency_seconds is 1e+300; it must be from 0 to 1e6 seconds");
    BOOST_TEST(complaint_about([](network& network) { network.link = {1, 1e18, 1e6}; }).empty());
    BOOST_TEST(complaint_about([](network& network) {
                   network.copy = {1, 1e18, 1e6, 1e6};
               }).empty());
    BOOST_TEST(complaint_about([](network& network) { network.copy.run_seconds = -1e-9; }) ==
               "copy.run_seconds is -1e-09; it must be from 0 to 1e6 seconds");
    BOOST_TEST(complaint_about([](network& network) { network.memory.run_seconds = 1.5e6; }) ==
               "memory.run_seconds is 1500000; it must be from 0 to 1e6 seconds");
    BOOST_TEST(complaint_about([](network& network) {
                   network.memory.run_seconds = std::numeric_limits<double>::quiet_NaN();
               }).starts_with("memory.run_seconds is nan; "));
    BOOST_TEST(complaint_about([](network& network) { network.link.run_seconds = 1e-8; }) ==
               "link.run_seconds is 1e-08; it must be 0: runs are counted in the memory of ranks");
    BOOST_TEST(complaint_about([](network& network) {
                   network.link = {0, 0, 1};
               }) ==
               "link.rank_bytes_per_second and link.node_bytes_per_second are 0; one of them must "
               "be greater than 0");
    BOOST_TEST(complaint_about([](network& network) {
                   network.rack = {2, 0, 0};
               }) == "rack.bytes_per_second is 0, but a rack has 2 nodes; set it, or set "
                     "rack.nodes to 0");
    BOOST_TEST(complaint_about([](network& network) {
                   network.rack.latency_seconds = -1;
               }).starts_with("rack.latency_seconds is -1; "));
}

BOOST_AUTO_TEST_CASE(a_network_is_sent_as_bytes_and_those_are_judged) {
    network current_network;
    current_network.copy.rank_bytes_per_second = 1.5e9;
    current_network.memory.run_seconds = 2.5e-8;
    current_network.rack = {3, 2e10, 1e-7};
    BOOST_TEST((from_bytes<network>(to_bytes(current_network)) == current_network));
    BOOST_TEST(digest_of_all(current_network) != digest_of_all(network()));
    current_network.copy.rank_bytes_per_second = -1;
    BOOST_CHECK_EXCEPTION(
        from_bytes<network>(to_bytes(current_network)), error, [](error const& problem) {
            return problem.code() == errc::corrupt_file &&
                   std::string(problem.what()).find("copy.rank_bytes_per_second is -1") !=
                       std::string::npos;
        });
}

BOOST_AUTO_TEST_SUITE_END()
