// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/print.hpp>

#include <map>

bool reshard::test::same_up_to_temporaries(aoa::program const& a, aoa::program const& b) {
    using reshard::aoa::name;
    auto const text_in_b = [&](name const& one) { return aoa::detail::bare_name_text(b, one); };
    std::map<std::uint32_t, std::string> called;
    std::map<std::string, std::uint32_t> holder;
    if (a.statements().size() != b.statements().size())
        return false;
    for (std::size_t s = 0; s < a.statements().size(); ++s) {
        auto const& one = a.statements()[s];
        auto const& other = b.statements()[s];
        if (one.left != other.left || one.right != other.right ||
            a.attributes(one) != b.attributes(other))
            return false;
        for (std::size_t i = 0; i < one.left + one.right; ++i) {
            name const& mine = a.names(one)[i];
            std::string const text = text_in_b(b.names(other)[i]);
            if (mine.kind != name::kind_type::fresh) {
                if (holder.contains(text) || text != aoa::detail::bare_name_text(a, mine) ||
                    mine.transposed != b.names(other)[i].transposed)
                    return false;
            } else if (i >= one.left) {
                called[mine.id] = text;
                holder[text] = mine.id;
            } else if (called[mine.id] != text || holder[text] != mine.id) {
                return false;
            }
        }
    }
    return true;
}
