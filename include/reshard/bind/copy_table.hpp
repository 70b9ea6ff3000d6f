// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_COPY_TABLE_HPP
#define RESHARD_BIND_COPY_TABLE_HPP

#include <reshard/copy/copy_elements.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Copies that are prepared once for all places that have the same shape.

namespace reshard::detail {

/// Prepared copies, each different one once.
///
/// A block-cyclic array has a hundred thousand transfers of a few hundred shapes; fusing axes and
/// choosing a kernel takes as long as moving a small one.
class copy_table {
public:
    /// The number of the copy, which is prepared if it is new.
    ///
    /// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
    std::uint32_t add(affine_copy const& copy, element_conversion const& conversion, stores how);

    /// \pre `add` gave that number
    prepared_copy const& operator[](std::uint32_t number) const { return copies_[number]; }

    std::size_t size() const { return copies_.size(); }

private:
    struct description {
        affine_copy copy;
        element_conversion conversion;
        stores how;

        bool operator==(description const&) const = default;
    };

    struct hash {
        std::size_t operator()(description const& one) const;
    };

    boost::unordered_flat_map<description, std::uint32_t, hash> numbers_;
    std::vector<prepared_copy> copies_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/copy_table.ipp>
#endif

#endif
