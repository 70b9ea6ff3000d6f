// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_AOA_LANGUAGE_HPP
#define RESHARD_TEST_AOA_LANGUAGE_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>

/// \file
/// What tests of the language share.

namespace reshard::test {

/// `aoa::parse`, compiled once for all tests: the grammar takes seconds.
aoa::program parsed(std::string_view text, std::string_view file = {});

/// A tensor of a catalog; without parts it is not cut.
inline catalog_entry tensor(std::string key, index_vector const& shape,
                            data_type dtype = data_type::f32, index_vector parts = {}) {
    if (parts.empty())
        parts = index_vector::filled(shape.size(), 1);
    return {std::move(key), dtype, shape, parts};
}

/// Whether two programs say the same when each temporary of `a` is read as the name that `b` has in
/// its position.
///
/// A temporary of `a` is one name of `b` from where it is bound until it is bound again.
bool same_up_to_temporaries(aoa::program const& a, aoa::program const& b);

} // namespace reshard::test

#endif
