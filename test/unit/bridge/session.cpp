// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/session.hpp>

#include "support/says.hpp"
#include "unit/bridge/weights.hpp"

#include <reshard/bridge/bridge_source.hpp>

#include <reshard/group/bytes.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

namespace {

/// A rank of a target that wants 'a' whole, in separate memory.
struct one_rank {
    std::vector<float> elements = std::vector<float>(24);
    target_sets wanted;

    one_rank() {
        shard_descriptor const a{"a", data_type::f32, {6, 4}, whole({6, 4})};
        wanted.whole = layout_of({{a}});
        wanted.sets.emplace_back().add(a, adapt::raw_tensor(elements.data(), {6, 4}));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_session_suite)

BOOST_AUTO_TEST_CASE(a_version_is_read_while_it_is_there) {
    port_path const path;
    weights have({"a"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), path);
    one_rank rank;
    bridge_session const session(*read_port(path), rank.wanted, {});
    index_t bytes = 0;
    have.set(1);
    source.publish();
    BOOST_TEST(session.fill({0, 0, 1}, {}, bytes));
    BOOST_TEST(bytes == 96);
    BOOST_TEST(rank.elements[23] == 1023.0f);
    BOOST_TEST(session.fill({0, 1, 1}, {}, bytes)); // it has that
    BOOST_TEST(bytes == 96);
    source.publish();
    source.publish();
    BOOST_TEST(!session.fill({0, 0, 1}, {}, bytes));
    BOOST_TEST(session.fill({0, 1, 3}, {}, bytes));
    BOOST_TEST(session.source_lives());
}

BOOST_AUTO_TEST_CASE(a_source_that_has_gone_is_an_error_of_its_own) {
    port_path const path;
    std::optional<port_bytes> port;
    one_rank rank;
    std::optional<bridge_session> before;
    {
        weights have({"a"}, 6, 4, cut_along::rows);
        bridge_source source(solo(), have.views(), path);
        have.set(1);
        source.publish();
        port = read_port(path);
        before.emplace(*port, rank.wanted, bridge_options());
    }
    BOOST_CHECK_EXCEPTION(bridge_session(*port, rank.wanted, {}), error,
                          [](error const& problem) { return problem.code() == errc::io; });
    BOOST_TEST(!before->source_lives());
    index_t bytes = 0; // who has met it keeps its memory
    BOOST_TEST(before->fill({0, 0, 1}, {}, bytes));
    BOOST_TEST(rank.elements[23] == 1023.0f);
}

BOOST_AUTO_TEST_CASE(what_contradicts_itself_is_refused) {
    port_path const path;
    weights have({"a"}, 6, 4, cut_along::rows);
    bridge_source const source(solo(), have.views(), path);
    one_rank rank;
    port_bytes const port = *read_port(path);
    auto const with = [&](auto change) {
        port_content content = read_content(port);
        change(content);
        return port_bytes{port.head, content_bytes(content)};
    };
    BOOST_CHECK_EXCEPTION(
        bridge_session(with([](port_content& content) { content.ranks.clear(); }), rank.wanted, {}),
        error,
        says(errc::corrupt_file,
             "the port file has a layout for 1 rank, but lists the memory of only 0"));
    BOOST_CHECK_EXCEPTION(
        bridge_session(with([](port_content& content) { content.ranks[0].bytes = 4096; }),
                       rank.wanted, {}),
        error,
        says(errc::corrupt_file,
             "rank 0 of the source has 4096 bytes of shared memory, but its layout needs 12288"));
    port_bytes bytes = port;
    ++bytes.head.token;
    BOOST_CHECK_EXCEPTION(bridge_session(bytes, rank.wanted, {}), error,
                          mentions(errc::io, "does not match its port file"));
    bytes = with([](port_content& content) { content.layout[5] = 99; });
    BOOST_CHECK_EXCEPTION(bridge_session(bytes, rank.wanted, {}), error,
                          mentions(errc::unsupported, "layout of version 99"));
}

BOOST_AUTO_TEST_SUITE_END()
