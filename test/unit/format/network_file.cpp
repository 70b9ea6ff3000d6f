// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/network_file.hpp>

#include "temporary_directory.hpp"

#include <reshard/core/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

BOOST_AUTO_TEST_SUITE(format_network_file)

namespace {

using namespace reshard;
using namespace reshard::detail;

std::string refusal(std::string const& text, errc code = errc::bad_layout) {
    try {
        parse_network(text, "n.json");
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code), thrown.what());
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(all_fields_are_read) {
    network const found_network = parse_network(
        R"({"ranks_per_node": 4,
            "copy": {"rank_bytes_per_second": 9e9, "node_bytes_per_second": 30000000000,
                     "run_seconds": 2.5e-8},
            "memory": {"rank_bytes_per_second": 0, "node_bytes_per_second": 2.5e10,
                       "latency_seconds": 1e-6, "run_seconds": 5e-8},
            "link": {"rank_bytes_per_second": 5e9, "node_bytes_per_second": 50e9,
                     "latency_seconds": 0.00001},
            "rack": {"nodes": 16, "bytes_per_second": 2e11, "latency_seconds": 2e-6}})",
        "n.json");
    network wanted;
    wanted.ranks_per_node = 4;
    wanted.copy = {9e9, 30e9, 0, 2.5e-8};
    wanted.memory = {0, 25e9, 1e-6, 5e-8};
    wanted.link = {5e9, 50e9, 1e-5};
    wanted.rack = {16, 2e11, 2e-6};
    BOOST_TEST((found_network == wanted));
    BOOST_TEST((parse_network(to_json(wanted), "again") == wanted));
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_as_by_default) {
    BOOST_TEST((parse_network("{}", "n.json") == network()));
    network wanted;
    wanted.link.node_bytes_per_second = 1e9;
    BOOST_TEST((parse_network(R"({"link": {"node_bytes_per_second": 1e9}})", "n.json") == wanted));
}

BOOST_AUTO_TEST_CASE(what_was_measured_may_be_said) {
    BOOST_TEST(
        (parse_network(R"({"ranks_per_node": 8, "measured": ["copy"]})", "n.json") == network()));
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_the_field_and_what_it_may_be) {
    BOOST_TEST(refusal("{", errc::syntax).starts_with("n.json:1:2: "));
    BOOST_TEST(refusal("[]") == "n.json: expected an object, found a list");
    BOOST_TEST(refusal(R"({"nodes": 3})") ==
               "n.json: 'nodes' is unknown; it must be one of 'ranks_per_node', 'copy', 'memory', "
               "'link', 'rack', 'measured'");
    BOOST_TEST(refusal(R"({"link": {"bandwidth": 3}})") ==
               "n.json: link: 'bandwidth' is unknown; it must be one of 'rank_bytes_per_second', "
               "'node_bytes_per_second', 'latency_seconds'");
    BOOST_TEST(refusal(R"({"link": {"run_seconds": 1e-8}})") ==
               "n.json: link: 'run_seconds' is unknown; it must be one of 'rank_bytes_per_second', "
               "'node_bytes_per_second', 'latency_seconds'");
    BOOST_TEST(refusal(R"({"copy": {"runs": 3}})") ==
               "n.json: copy: 'runs' is unknown; it must be one of 'rank_bytes_per_second', "
               "'node_bytes_per_second', 'latency_seconds', 'run_seconds'");
    BOOST_TEST(refusal(R"({"copy": {"run_seconds": -1}})") ==
               "n.json: copy.run_seconds is -1; it must be from 0 to 1e6 seconds");
    BOOST_TEST(refusal(R"({"memory": {"run_seconds": 1e7}})") ==
               "n.json: memory.run_seconds is 1e+07; it must be from 0 to 1e6 seconds");
    BOOST_TEST(refusal(R"({"memory": {"run_seconds": null}})") ==
               "n.json: memory.run_seconds: expected a number, found null");
    BOOST_TEST(refusal(R"({"rack": {"racks": 3}})") ==
               "n.json: rack: 'racks' is unknown; it must be one of 'nodes', 'bytes_per_second', "
               "'latency_seconds'");
    BOOST_TEST(refusal(R"({"copy": {"rank_bytes_per_second": "25 GB/s"}})") ==
               "n.json: copy.rank_bytes_per_second: expected a number, found the string '25 GB/s'");
    BOOST_TEST(refusal(R"({"copy": {"rank_bytes_per_second": -1}})") ==
               "n.json: copy.rank_bytes_per_second is -1; it must be 0, or from 1 to 1e18 bytes "
               "per second");
    BOOST_TEST(refusal(R"({"link": {"latency_seconds": null}})") ==
               "n.json: link.latency_seconds: expected a number, found null");
    BOOST_TEST(refusal(R"({"ranks_per_node": 0})") ==
               "n.json: ranks_per_node is 0; a node has at least 1 rank");
    BOOST_TEST(refusal(R"({"ranks_per_node": 1.5})") ==
               "n.json: ranks_per_node: expected an integer from 1 to 4194304, found 1.500000");
    BOOST_TEST(refusal(R"({"ranks_per_node": 4294967296})") ==
               "n.json: ranks_per_node: expected an integer from 1 to 4194304, found "
               "4294967296");
    BOOST_TEST(refusal(R"({"rack": {"nodes": 4194305}})") ==
               "n.json: rack.nodes: expected an integer from 0 to 4194304, found 4194305");
}

BOOST_AUTO_TEST_CASE(a_file_is_read) {
    test::temporary_directory const directory;
    network wanted;
    wanted.ranks_per_node = 3;
    BOOST_TEST((read_network(directory.write("n.json", to_json(wanted))) == wanted));
    BOOST_CHECK_EXCEPTION(read_network(directory.path() / "none"), error,
                          [](error const& thrown) { return thrown.code() == errc::missing_file; });
}

BOOST_AUTO_TEST_SUITE_END()
