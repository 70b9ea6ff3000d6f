// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/wire.hpp>

#include <reshard/layout/layout.hpp>

#include "support/archives.hpp"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>

#include <sstream>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

static_assert(storable<box> && !storable_alone<box>);
static_assert(storable_alone<layout> && storable_alone<layout const>);
static_assert(!storable<int> && !storable<std::string>);

BOOST_AUTO_TEST_SUITE(serialization_archive)

BOOST_AUTO_TEST_CASE(values_stand_in_archives_of_others_one_behind_the_other) {
    std::stringstream stream;
    {
        boost::archive::text_oarchive archive(stream);
        archive << layout{5, {}, {}} << 17 << layout{6, {}, {}} << box{{1}, {2}};
    }
    boost::archive::text_iarchive archive(stream);
    layout first, second;
    int between = 0;
    box region;
    archive >> first >> between >> second >> region;
    BOOST_TEST(first.holders == 5u);
    BOOST_TEST(between == 17);
    BOOST_TEST(second.holders == 6u);
    BOOST_TEST((region == box{{1}, {2}}));
}

BOOST_AUTO_TEST_CASE(a_value_is_left_alone_where_reading_fails) {
    std::istringstream stream("25 100 104 115 114 1 3 7");
    boost::archive::text_iarchive archive(stream, boost::archive::no_header);
    layout kept{5, {}, {}};
    BOOST_CHECK_THROW(archive >> kept, error);
    BOOST_TEST((kept == layout{5, {}, {}}));
}

BOOST_AUTO_TEST_CASE(texts_of_any_length_and_bytes_come_back) {
    for (std::size_t const size : {1u, 255u, 256u, 257u, 5000u}) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i)
            text += static_cast<char>(i * 7);
        std::stringstream stream;
        {
            boost::archive::binary_oarchive archive(stream);
            archive << layout{2, {{}}, {{text, data_type::u8, 0}}};
        }
        boost::archive::binary_iarchive archive(stream);
        layout back;
        archive >> back;
        BOOST_TEST((back.tensors.at(0).key == text));
    }
}

BOOST_AUTO_TEST_SUITE_END()
