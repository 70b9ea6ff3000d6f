// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_PACKED_HPP
#define RESHARD_GROUP_PACKED_HPP

#include <reshard/core/index_vector.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Numbers and texts in one text, for what ranks tell one another.

namespace reshard {

/// Appends a number as eight bytes, lowest first.
inline void pack(std::string& bytes, std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8)
        bytes += static_cast<char>(number & 0xff);
}

/// Appends a text, its length first.
inline void pack(std::string& bytes, std::string_view text) {
    pack(bytes, std::uint64_t{text.size()});
    bytes += text;
}

/// Appends a shape or an index, its length first.
inline void pack(std::string& bytes, index_vector const& numbers) {
    pack(bytes, std::uint64_t{numbers.size()});
    for (index_t const number : numbers)
        pack(bytes, static_cast<std::uint64_t>(number));
}

/// Takes apart what `pack` made on another rank of the same program.
///
/// \pre it is asked for what was packed, in the same order, and the bytes live as long
class unpacker {
public:
    explicit unpacker(std::string_view bytes) : rest_(bytes) {}

    bool empty() const { return rest_.empty(); }

    std::uint64_t number() {
        std::uint64_t result = 0;
        std::string_view const bytes = take(8);
        for (std::size_t i = 8; i-- > 0;)
            result = result << 8 | static_cast<unsigned char>(bytes[i]);
        return result;
    }

    std::string_view text() { return take(static_cast<std::size_t>(number())); }

    index_vector numbers() {
        index_vector result;
        for (std::uint64_t left = number(); left > 0; --left)
            result.push_back(static_cast<index_t>(number()));
        return result;
    }

private:
    std::string_view take(std::size_t bytes) {
        BOOST_ASSERT(bytes <= rest_.size());
        std::string_view const taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }

    std::string_view rest_;
};

} // namespace reshard

#endif
