// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_COMPARE_IPP
#define RESHARD_STORAGE_IMPL_COMPARE_IPP

#include <reshard/storage/compare.hpp>

#include <reshard/copy/copy_elements.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace reshard::detail {

RESHARD_DECL std::map<std::string, const_state_dict, std::less<>>
shards_by_key(const_state_dict const& shards) {
    std::map<std::string, const_state_dict, std::less<>> found;
    for (const_local_shard const& shard : shards)
        found[shard.descriptor.key].add(shard.descriptor, shard.tensor);
    return found;
}

RESHARD_DECL whole_tensor::whole_tensor(shard_descriptor whole_shard)
    : bytes_(static_cast<std::size_t>(
          byte_count(element_count(whole_shard.global_shape), whole_shard.dtype))),
      descriptor_(std::move(whole_shard)) {}

RESHARD_DECL tensor_view whole_tensor::view() {
    return {bytes_.data(), descriptor_.dtype, descriptor_.global_shape,
            row_major_strides(descriptor_.global_shape)};
}

/// Element `place` of a tensor in memory, converted to `T`.
template <class T>
T element_as(const_tensor_view const& elements, index_t place) {
    T value{};
    data_type const wanted = data_type_of<T>;
    copy_elements({{}, place, {}, 0, {}}, {elements.dtype, then({}, elements.dtype, wanted)},
                  elements.data, &value);
    return value;
}

std::string number_text(auto value) {
    std::array<char, 32> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return {digits.data(), end};
}

/// The element that lies `place` elements behind the first one: the shortest digits that mean it.
///
/// \par Shape any; strides do not matter
inline std::string element_text(const_tensor_view const& elements, index_t place) {
    data_type const dtype = elements.dtype;
    if (dtype == data_type::c64) {
        auto const value = element_as<std::complex<float>>(elements, place);
        return "(" + number_text(value.real()) + ", " + number_text(value.imag()) + ")";
    }
    if (is_integer(dtype))
        return number_text(element_as<std::int64_t>(elements, place));
    if (dtype == data_type::u64)
        return number_text(element_as<std::uint64_t>(elements, place));
    if (dtype == data_type::f64)
        return number_text(element_as<double>(elements, place));
    return number_text(element_as<float>(elements, place));
}

/// The bits of the same element, in hexadecimal: tells two NaN apart.
inline std::string element_bits_text(const_tensor_view const& elements, index_t place) {
    std::array<unsigned char, 8> element{};
    copy_elements({{}, place, {}, 0, {}}, {elements.dtype, {}}, elements.data, element.data());
    std::string text = "0x";
    for (int i = (bits(elements.dtype) + 7) / 8; i-- > 0;) {
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] >> 4];
        text += "0123456789abcdef"[element[static_cast<std::size_t>(i)] & 15];
    }
    return text;
}

inline std::string kind_text(stored_tensor const& stored) {
    return std::string(code(stored.tensor().dtype)) + " " + to_string(stored.shape());
}

RESHARD_DECL std::optional<tensor_difference> difference_of(stored_tensor const& a,
                                                            stored_tensor const& b) {
    tensor_layout const &x = a.tensor(), &y = b.tensor();
    if (a.shape() != b.shape() || x.dtype != y.dtype)
        return tensor_difference{x.key, {}, kind_text(a), kind_text(b)};
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

/// Equal shards of a tensor in a checkpoint, and what digests they have.
struct digested_shard {
    box region;
    std::optional<flat_range> flat;
    digest_list const* digests = nullptr; ///< of the first one
    std::uint64_t chunk_bytes = 0;        ///< 0: they have none, or of chunks of several sizes
    bool has_equal_copies = true;

    auto place() const { return std::tie(region, flat); }
};

/// The different shards of a tensor that have bytes, sorted.
inline std::vector<digested_shard> digested_shards(checkpoint_metadata const& source,
                                                   std::size_t number) {
    std::vector<digested_shard> all;
    for (checkpoint_shard const& shard : source.tensors[number].shards)
        if (shard.end > shard.begin)
            all.push_back({shard.region, shard.flat, &shard.digests,
                           source.files[shard.file].chunk_bytes, true});
    std::sort(all.begin(), all.end(), [](digested_shard const& a, digested_shard const& b) {
        return a.place() < b.place();
    });
    std::size_t different = 0;
    for (digested_shard& shard : all) {
        if (different == 0 || all[different - 1].place() != shard.place()) {
            all[different++] = shard;
            continue;
        }
        digested_shard& first = all[different - 1];
        first.has_equal_copies = first.has_equal_copies && *first.digests == *shard.digests;
        first.chunk_bytes = first.chunk_bytes == shard.chunk_bytes ? first.chunk_bytes : 0;
    }
    all.resize(different);
    return all;
}

RESHARD_DECL digest_verdict compare_digests(checkpoint_metadata const& a, std::size_t number_in_a,
                                            checkpoint_metadata const& b, std::size_t number_in_b) {
    checkpoint_tensor const &x = a.tensors[number_in_a], &y = b.tensors[number_in_b];
    if (x.dtype != y.dtype || x.shape != y.shape)
        return digest_verdict::unknown;
    auto const of_a = digested_shards(a, number_in_a), of_b = digested_shards(b, number_in_b);
    auto const are_all = [&](auto&& test) {
        return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), test);
    };
    using shard = digested_shard const&;
    if (!are_all([](shard one, shard other) { return one.place() == other.place(); }))
        return digest_verdict::other_shards;
    if (!are_all([](shard one, shard other) {
            return one.chunk_bytes != 0 && one.chunk_bytes == other.chunk_bytes;
        }))
        return digest_verdict::no_digests;
    if (!are_all(
            [](shard one, shard other) { return one.has_equal_copies && other.has_equal_copies; }))
        return digest_verdict::unknown;
    return are_all([](shard one, shard other) { return *one.digests == *other.digests; })
               ? digest_verdict::equal
               : digest_verdict::unequal;
}

RESHARD_DECL bool differ(checkpoint const& a, checkpoint const& b,
                         common_tensors::value_type const& pair, compare_options const& how,
                         bool matters, comparison& counts) {
    stored_tensor const x(a, pair.first), y(b, pair.second);
    x.check_cover();
    y.check_cover();
    auto const verdict = how.data
                             ? digest_verdict::unknown
                             : compare_digests(a.metadata(), pair.first, b.metadata(), pair.second);
    counts.by_digests += verdict == digest_verdict::equal;
    counts.other_shards += verdict == digest_verdict::other_shards;
    counts.no_digests += verdict == digest_verdict::no_digests;
    if (verdict == digest_verdict::equal)
        return false;
    if (verdict != digest_verdict::unequal) {
        x.check_replicas();
        y.check_replicas();
    }
    return matters && difference_of(x, y).has_value();
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
    return digest_of_all(digest_of(a.metadata()), digest_of(b.metadata()));
}

} // namespace reshard::detail

#endif
