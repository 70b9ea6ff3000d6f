// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_COMPARE_IPP
#define RESHARD_STORAGE_IMPL_COMPARE_IPP

#include <reshard/core/vector.hpp>
#include <reshard/storage/compare.hpp>

#include <reshard/copy/copy_elements.hpp>
#include <reshard/format/torch/torch_save.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::map<std::string, const_state_dict, std::less<>>
shards_by_key(const_state_dict const& shards) {
    std::map<std::string, const_state_dict, std::less<>> by_key;
    for (const_local_shard const& shard : shards)
        by_key[shard.descriptor.key].add(shard.descriptor, shard.tensor);
    return by_key;
}

RESHARD_DECL whole_tensor::whole_tensor(shard_descriptor whole_shard)
    : bytes_(static_cast<std::size_t>(
          byte_count(element_count(whole_shard.global_shape), whole_shard.dtype))),
      descriptor_(std::move(whole_shard)) {}

RESHARD_DECL tensor_view whole_tensor::view() {
    return {bytes_.data(), descriptor_.dtype, descriptor_.global_shape,
            row_major_strides(descriptor_.global_shape)};
}

inline std::string kind_text(stored_tensor const& stored) {
    return std::string(code(stored.tensor().dtype)) + " " + to_string(stored.shape());
}

RESHARD_DECL std::optional<tensor_difference>
difference_of(stored_tensor const& a, stored_tensor const& b, progress_count* count) {
    tensor_layout const &x = a.tensor(), &y = b.tensor();
    if (a.shape() != b.shape() || x.dtype != y.dtype)
        return tensor_difference{x.key, {}, kind_text(a), kind_text(b)};
    auto const index = first_difference(a, b, count);
    if (!index)
        return std::nullopt;
    tensor_difference difference{x.key, index, a.element(*index, element_text),
                                 b.element(*index, element_text)};
    if (difference.a == difference.b) {
        difference.a += " " + a.element(*index, element_bits_text);
        difference.b += " " + b.element(*index, element_bits_text);
    }
    return difference;
}

/// A shard of a tensor, and the digests of its copies in a checkpoint.
struct digested_shard {
    box region;
    std::optional<flat_range> flat;
    axis_cycles cycles;
    digest_list const* digests = nullptr; ///< of the first copy
    std::uint64_t chunk_bytes = 0;        ///< 0: no digests, or different sizes in the copies
    bool has_equal_copies = true;

    auto location() const { return std::tie(region, flat, cycles); }
};

/// The different shards of a tensor, sorted. Shards without bytes are omitted.
inline vector<digested_shard> digested_shards(checkpoint_metadata const& source,
                                              std::size_t number) {
    vector<digested_shard> shards;
    for (checkpoint_shard const& shard : source.tensors[number].shards)
        if (shard.end > shard.begin)
            shards.push_back({shard.region, shard.flat, shard.cycles, &shard.digests,
                              source.files[shard.file].chunk_bytes, true});
    std::sort(shards.begin(), shards.end(), [](digested_shard const& a, digested_shard const& b) {
        return a.location() < b.location();
    });
    std::size_t different = 0;
    for (digested_shard& shard : shards) {
        if (different == 0 || shards[different - 1].location() != shard.location()) {
            shards[different++] = shard;
            continue;
        }
        digested_shard& first = shards[different - 1];
        first.has_equal_copies = first.has_equal_copies && *first.digests == *shard.digests;
        first.chunk_bytes = first.chunk_bytes == shard.chunk_bytes ? first.chunk_bytes : 0;
    }
    shards.resize(different);
    return shards;
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
    if (!are_all([](shard in_a, shard in_b) { return in_a.location() == in_b.location(); }))
        return digest_verdict::other_shards;
    if (of_a.empty())
        return digest_verdict::empty;
    if (!are_all([](shard in_a, shard in_b) {
            return in_a.chunk_bytes != 0 && in_a.chunk_bytes == in_b.chunk_bytes;
        }))
        return digest_verdict::no_digests;
    if (!are_all(
            [](shard in_a, shard in_b) { return in_a.has_equal_copies && in_b.has_equal_copies; }))
        return digest_verdict::unknown;
    return are_all([](shard in_a, shard in_b) { return *in_a.digests == *in_b.digests; })
               ? digest_verdict::equal
               : digest_verdict::unequal;
}

/// The bytes of all shards of a tensor.
inline index_t bytes_of_shards(checkpoint_tensor const& tensor) {
    index_t bytes = 0;
    for (checkpoint_shard const& shard : tensor.shards)
        bytes += static_cast<index_t>(shard.end - shard.begin);
    return bytes;
}

/// The number of bytes to compare: each copy of `x` and `y` with the first copy, unless digests
/// show that copies are equal; and `x` with `y`, if they have the same shape and type.
inline index_t bytes_to_compare(checkpoint_tensor const& x, checkpoint_tensor const& y,
                                bool has_equal_copies) {
    index_t const in_x = byte_count(element_count(x.shape), x.dtype);
    index_t const in_y = byte_count(element_count(y.shape), y.dtype);
    index_t const copies = bytes_of_shards(x) - in_x + bytes_of_shards(y) - in_y;
    bool const are_identical = x.dtype == y.dtype && x.shape == y.shape;
    return (has_equal_copies ? 0 : copies) + (are_identical ? in_x : 0);
}

RESHARD_DECL compared_tensors::compared_tensors(checkpoint const& a, checkpoint const& b,
                                                compare_options const& options, comparison& counts)
    : a_(a), b_(b), how_(options), counts_(counts) {}

RESHARD_DECL void compared_tensors::judge(std::size_t number,
                                          common_tensors::value_type const& pair) {
    stored_tensor(a_, pair.first).check_cover();
    stored_tensor(b_, pair.second).check_cover();
    checkpoint_metadata const &a = a_.metadata(), &b = b_.metadata();
    auto const verdict =
        how_.data ? digest_verdict::unknown : compare_digests(a, pair.first, b, pair.second);
    counts_.by_digests += verdict == digest_verdict::equal;
    counts_.other_shards += verdict == digest_verdict::other_shards;
    counts_.no_digests += verdict == digest_verdict::no_digests;
    bool const has_equal_copies = verdict == digest_verdict::unequal;
    if (verdict != digest_verdict::equal && verdict != digest_verdict::empty)
        kept_.push_back(
            {number, pair, has_equal_copies,
             bytes_to_compare(a.tensors[pair.first], b.tensors[pair.second], has_equal_copies)});
}

RESHARD_DECL std::size_t compared_tensors::read(std::size_t none) {
    index_t to_read = 0, done = 0;
    for (kept_pair const& kept : kept_)
        to_read += kept.bytes;
    progress_count count(how_.progress, to_read);
    std::size_t first = none;
    for (kept_pair const& kept : kept_) {
        stored_tensor const x(a_, kept.pair.first), y(b_, kept.pair.second);
        if (!kept.has_equal_copies) {
            x.check_replicas(&count);
            y.check_replicas(&count);
        }
        if (first == none && difference_of(x, y, &count))
            first = kept.number;
        count.reach(done += kept.bytes); // a difference ends the comparison early
    }
    return first;
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
        else if (a.unread.contains(a.tensors[i].key) || b.unread.contains(b.tensors[j].key))
            result.not_compared.push_back(a.tensors[i++].key), ++j;
        else
            common.emplace_back(i++, j++);
    }
    return common;
}

/// The keys of values that are not tensors, sorted.
inline vector<std::string> object_keys(checkpoint const& source) {
    vector<std::string> keys;
    for (checkpoint_object const& object : source.metadata().objects)
        keys.push_back(object.key);
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
}

/// Values by their keys.
using object_map = std::map<std::string, saved_object>;

inline object_map objects_by_key(checkpoint const& source) {
    object_map objects;
    for (saved_object& object : source.read_objects())
        if (!object.is_whole) // it has all other values in one
            objects.insert_or_assign(object.key, std::move(object));
    return objects;
}

/// \throws error with errc::unsupported for a value that is listed, but was not read
inline saved_object const& object_at(object_map const& objects, std::string const& key,
                                     checkpoint const& source) {
    auto const position = objects.find(key);
    if (position == objects.end())
        fail(errc::unsupported, source.metadata().path.string(), ": '", key,
             "' is listed, but was not read");
    return position->second;
}

/// An excerpt of a text for messages: the bytes around byte `index`.
inline std::string text_around(std::string const& text, std::size_t index) {
    constexpr std::size_t before = 24, most = 72;
    if (text.size() <= most)
        return text;
    std::size_t const first = index > before ? index - before : 0;
    return (first > 0 ? "..." : "") + text.substr(first, most) +
           (first + most < text.size() ? "..." : "");
}

/// \pre `a` and `b` have the same key
/// \throws error as `text_of`
inline void compare_values(object_comparison& result, saved_object const& a, saved_object const& b,
                           std::string const& file_a, std::string const& file_b) {
    if (a.archive == b.archive)
        return;
    std::string const in_a = text_of(a, file_a), in_b = text_of(b, file_b);
    if (in_a == in_b)
        return;
    auto const apart = std::ranges::mismatch(in_a, in_b);
    auto const index = static_cast<std::size_t>(apart.in1 - in_a.begin());
    result.different.push_back({a.key, text_around(in_a, index), text_around(in_b, index)});
}

/// Runs `work`. If it cannot read the values of `keys`, notes them as unread.
inline void note_unread(object_comparison& result, vector<std::string> const& keys, auto&& work) {
    try {
        work();
    } catch (error const& problem) {
        if (problem.code() != errc::unsupported && problem.code() != errc::limit_exceeded)
            throw;
        result.unread.insert(result.unread.end(), keys.begin(), keys.end());
        if (result.why_unread.empty())
            result.why_unread = problem.what();
    }
}

inline void compare_common_objects(object_comparison& result, checkpoint const& a,
                                   checkpoint const& b, vector<std::string> const& keys) {
    for (checkpoint const* const source : {&a, &b})
        if (!source->can_read_objects()) {
            result.unread = keys;
            result.why_unread =
                "values of " + source->metadata().format + " are listed, but not read";
            return;
        }
    object_map of_a, of_b;
    note_unread(result, keys, [&] {
        of_a = objects_by_key(a);
        of_b = objects_by_key(b);
        for (std::string const& key : keys)
            note_unread(result, {key}, [&] {
                auto const& object_of_a = object_at(of_a, key, a); // an error of `a` comes first
                compare_values(result, object_of_a, object_at(of_b, key, b),
                               a.metadata().path.string(), b.metadata().path.string());
            });
    });
}

RESHARD_DECL object_comparison compare_objects(checkpoint const& a, checkpoint const& b) {
    auto const in_a = object_keys(a), in_b = object_keys(b);
    object_comparison result;
    result.in_a = static_cast<index_t>(in_a.size());
    result.in_b = static_cast<index_t>(in_b.size());
    bool const have_readers = a.can_read_objects() && b.can_read_objects();
    bool const have_types = a.metadata().format == "gguf" || b.metadata().format == "gguf";
    result.are_identical =
        (have_readers && !have_types) || a.metadata().format == b.metadata().format;
    if (!result.are_identical)
        return result;
    vector<std::string> both;
    std::ranges::set_difference(in_a, in_b, std::back_inserter(result.only_a));
    std::ranges::set_difference(in_b, in_a, std::back_inserter(result.only_b));
    std::ranges::set_intersection(in_a, in_b, std::back_inserter(both));
    if (!both.empty())
        compare_common_objects(result, a, b, both);
    return result;
}

RESHARD_DECL std::uint64_t digest_of_pair(checkpoint const& a, checkpoint const& b) {
    return digest_of_all(digest_of(a.metadata()), digest_of(b.metadata()));
}

} // namespace reshard::detail

#endif
