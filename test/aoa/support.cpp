// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/print.hpp>

#include <map>

bool reshard::test::same_up_to_temporaries(aoa::program const& a, aoa::program const& b) {
    using reshard::aoa::name;
    auto const text_in_b = [&](name const& name) { return aoa::detail::bare_name_text(b, name); };
    std::map<std::uint32_t, std::string> called;
    std::map<std::string, std::uint32_t> holder;
    if (a.statements().size() != b.statements().size())
        return false;
    for (std::size_t s = 0; s < a.statements().size(); ++s) {
        auto const& element = a.statements()[s];
        auto const& other = b.statements()[s];
        if (element.left != other.left || element.right != other.right ||
            a.attributes(element) != b.attributes(other))
            return false;
        for (std::size_t i = 0; i < element.left + element.right; ++i) {
            name const& name = a.names(element)[i];
            std::string const text = text_in_b(b.names(other)[i]);
            if (name.kind != name::kind_type::fresh) {
                if (holder.contains(text) || text != aoa::detail::bare_name_text(a, name) ||
                    name.transposed != b.names(other)[i].transposed)
                    return false;
            } else if (i >= element.left) {
                called[name.id] = text;
                holder[text] = name.id;
            } else if (called[name.id] != text || holder[text] != name.id) {
                return false;
            }
        }
    }
    return true;
}
