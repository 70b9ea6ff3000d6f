// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_COMPARE_IPP
#define RESHARD_STORAGE_IMPL_COMPARE_IPP

#include <reshard/storage/compare.hpp>

#include <reshard/storage/element_text.hpp>

namespace reshard::detail {

inline std::string kind_text(tensor_layout const& tensor) {
    return std::string(code(tensor.dtype)) + " " + to_string(tensor.shape);
}

RESHARD_DECL std::optional<tensor_difference> difference_of(stored_tensor const& a,
                                                            stored_tensor const& b) {
    tensor_layout const &x = a.tensor(), &y = b.tensor();
    if (x.shape != y.shape || x.dtype != y.dtype)
        return tensor_difference{x.key, {}, kind_text(x), kind_text(y)};
    auto const index = first_difference(a, b);
    if (!index)
        return std::nullopt;
    tensor_difference found{x.key, index, a.element(*index, element_text),
                            b.element(*index, element_text)};
    if (found.a == found.b) {
        found.a += " " + a.element(*index, element_bits_text);
        found.b += " " + b.element(*index, element_bits_text);
    }
    return found;
}

RESHARD_DECL void check(stored_tensor const& tensor) {
    tensor.check_cover();
    tensor.check_replicas();
}

RESHARD_DECL common_tensors match_keys(layout const& a, layout const& b, comparison& result) {
    common_tensors common;
    std::size_t i = 0, j = 0;
    while (i < a.tensors.size() || j < b.tensors.size()) {
        bool const a_ended = i == a.tensors.size(), b_ended = j == b.tensors.size();
        if (b_ended || (!a_ended && a.tensors[i].key < b.tensors[j].key))
            result.only_a.push_back(a.tensors[i++].key);
        else if (a_ended || b.tensors[j].key < a.tensors[i].key)
            result.only_b.push_back(b.tensors[j++].key);
        else
            common.emplace_back(i++, j++);
    }
    return common;
}

RESHARD_DECL std::uint64_t digest_of_pair(checkpoint const& a, checkpoint const& b) {
    hasher digest;
    digest.add(digest_of(a.metadata()));
    digest.add(digest_of(b.metadata()));
    return digest.value();
}

} // namespace reshard::detail

#endif
