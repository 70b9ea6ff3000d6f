// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_COMPARE_HPP
#define RESHARD_STORAGE_COMPARE_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/stored_tensor.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Compares the tensors of two checkpoints. The two may be sharded in different ways.

namespace reshard {

namespace detail {

/// Groups shards by key.
RESHARD_DECL std::map<std::string, const_state_dict, std::less<>>
shards_by_key(const_state_dict const& shards);

/// A tensor that owns the memory of all its elements.
class whole_tensor {
public:
    /// \throws std::bad_alloc, error with errc::overflow
    explicit whole_tensor(shard_descriptor whole_shard);

    tensor_view view();
    shard_descriptor const& descriptor() const { return descriptor_; }

private:
    vector<std::byte> bytes_;
    shard_descriptor descriptor_;
};

/// Calls `visit(key, tensor)` on rank `reader` for each tensor of the ranks, in the order of keys.
/// Each tensor is whole and row-major.
///
/// Only the reader has a whole tensor in memory, and only one at a time. Padding of flat slices is
/// not visited, since no rank holds it.
///
/// \par Collective every rank of the group, in the same order
/// \throws     error on every rank: as `gather_layout`, `redistribute` and `visit`, after earlier
///             tensors have been visited; errc::usage for a reader that is not a rank
/// \par Source GroupShardedStage3 of PaddlePaddle gathers `fw_storage` of all parameters before it
///             writes the first parameter; Flex Checkpoint streams the tensors, as here
template <group Group, class Visit>
void for_each_whole(Group const& world, const_state_dict const& source, Visit const& visit,
                    int reader = 0) {
    agree_to_run(world, "for_each_whole", {"reader", reader}, attempt([&] {
                     source.check();
                     if (reader < 0 || reader >= world.size())
                         fail(errc::usage, "there is no rank ", reader, " among ", world.size(),
                              " to read whole tensors");
                 }));
    layout const layout = layout_of_all(world, source.descriptors());
    auto const shards = shards_by_key(source);
    for (tensor_layout const& tensor : layout.tensors) {
        std::optional<whole_tensor> whole_tensor;
        state_dict target;
        agree_on(world, [&] {
            if (world.rank() != reader)
                return;
            index_vector const& shape = layout.shape_of(tensor);
            whole_tensor.emplace(
                shard_descriptor{tensor.key, tensor.dtype, shape, whole(shape), {}});
            target.add(whole_tensor->descriptor(), whole_tensor->view());
        });
        auto const match = shards.find(tensor.key);
        redistribute(world, match == shards.end() ? const_state_dict() : match->second, target);
        agree_on(world, [&] {
            if (whole_tensor)
                visit(std::string_view(tensor.key), const_tensor_view(whole_tensor->view()));
        });
    }
}

/// A difference between two checkpoints: in one element, or in the shape or data type of a tensor.
struct tensor_difference {
    std::string key;
    std::optional<index_vector> index; ///< global; empty if shape or type differs
    std::string a;                     ///< the first checkpoint's element, as text
    std::string b;

    bool operator==(tensor_difference const&) const = default;
};

/// A difference between two values that are not tensors.
struct object_difference {
    std::string key;
    std::string a; ///< the first checkpoint's value, or the text around the difference
    std::string b;

    bool operator==(object_difference const&) const = default;
};

/// The differences of values that are not tensors.
struct object_comparison {
    index_t in_a = 0; ///< the number of such values
    index_t in_b = 0;
    /// True if the values were compared: both checkpoints have one format, or both let values be
    /// read.
    bool are_identical = true;
    vector<std::string> only_a; ///< keys of the first checkpoint alone, sorted
    vector<std::string> only_b;
    vector<object_difference> different; ///< by key
    /// Keys of both checkpoints whose values could not be read.
    vector<std::string> unread;
    std::string why_unread; ///< the reason for the first of them

    bool equal() const { return only_a.empty() && only_b.empty() && different.empty(); }
};

} // namespace detail

/// The options of a comparison.
struct compare_options {
    /// If true, all data is read, even if digests are equal. This also finds changes since the
    /// save.
    bool data = false;
    detail::progress_function progress = {};

    static constexpr void members(auto& self, auto&& visit) { visit(self.data); }
    static constexpr std::string_view member_names[] = {"data"};
};

/// The result of `compare`.
struct comparison {
    /// The first difference of the first tensor that differs: tensors in the order of keys,
    /// elements in row-major order.
    std::optional<detail::tensor_difference> first;
    vector<std::string> only_a; ///< keys of the first checkpoint alone, sorted
    vector<std::string> only_b;
    /// Keys of both checkpoints whose data cannot be read in one of the checkpoints, sorted.
    vector<std::string> not_compared;
    /// The number of tensors with equal digests; they were not read.
    index_t by_digests = 0;
    /// The number of tensors that were read because the two checkpoints shard them differently.
    index_t other_shards = 0;
    /// The number of tensors that were read because digests are missing, or have other chunk sizes.
    index_t no_digests = 0;
    /// The comparison of the values that are not tensors.
    detail::object_comparison objects = {};

    bool equal() const {
        return !first && only_a.empty() && only_b.empty() && not_compared.empty() &&
               objects.equal();
    }
};

namespace detail {

/// The first difference between the two checkpoints' versions of a tensor; std::nullopt if they are
/// equal.
///
/// \pre the shards of each tensor cover it
RESHARD_DECL std::optional<tensor_difference>
difference_of(stored_tensor const& a, stored_tensor const& b, progress_count* count = nullptr);

/// The result of comparing the digests of two tensors with the same key.
enum class digest_verdict {
    equal,
    unequal,      ///< but copies within each checkpoint are equal
    other_shards, ///< the checkpoints shard the tensor differently
    no_digests,   ///< equal shards; digests are missing or of other chunks
    empty,        ///< equal shards, without bytes
    unknown,      ///< shapes, types or copies differ: compare the data
};

/// Compares the saved digests of two tensors without reading their data.
///
/// Digests cover bytes, but `compare` compares bits. Equal digests mean equal bits. Unequal digests
/// mean different bits, except if only the padding bits of a last byte differ.
RESHARD_DECL digest_verdict compare_digests(checkpoint_metadata const& a, std::size_t number_in_a,
                                            checkpoint_metadata const& b, std::size_t number_in_b);

/// For each key of both checkpoints, the index of its tensor in each checkpoint.
using common_tensors = vector<std::pair<std::size_t, std::size_t>>;

/// Returns the common keys of two layouts, and adds the keys of only one layout to `result`.
RESHARD_DECL common_tensors match_keys(layout const& a, layout const& b, comparison& result);

/// Compares the values that are not tensors, as texts (see `text_of`). If the library cannot read
/// them in one of the formats, it compares only their keys, and only if the formats are equal.
///
/// \throws error as `checkpoint::read_objects`, except for values that cannot be read
RESHARD_DECL object_comparison compare_objects(checkpoint const& a, checkpoint const& b);

RESHARD_DECL std::uint64_t digest_of_pair(checkpoint const& a, checkpoint const& b);

/// One process's share of a comparison of two checkpoints.
class compared_tensors {
public:
    /// \param counts gets the number of tensors for each kind of comparison
    /// \pre   all arguments outlive this object
    RESHARD_DECL compared_tensors(checkpoint const& a, checkpoint const& b,
                                  compare_options const& options, comparison& counts);

    /// Compares the digests of a pair. If its data has to be read, keeps the pair for `read`.
    ///
    /// \throws error if the shards of a tensor do not tile it
    RESHARD_DECL void judge(std::size_t number, common_tensors::value_type const& pair);

    /// Reads the kept pairs. Returns the lowest number of a pair that differs, or `none`.
    ///
    /// \throws error if a tensor has copies that differ
    RESHARD_DECL std::size_t read(std::size_t none);

private:
    struct kept_pair {
        std::size_t number = 0;
        common_tensors::value_type pair;
        bool has_equal_copies = false; ///< known from digests
        index_t bytes = 0;             ///< to compare
    };

    checkpoint const& a_;
    checkpoint const& b_;
    compare_options const& how_;
    comparison& counts_;
    vector<kept_pair> kept_;
};

/// The counts of a comparison, in the order of its members.
inline vector<index_t> counts_of(comparison const& comparison) {
    return {comparison.by_digests, comparison.other_shards, comparison.no_digests};
}

inline void add_counts(comparison& result, vector<vector<index_t>> const& by_rank) {
    for (vector<index_t> const& counts : by_rank) {
        result.by_digests += counts[0];
        result.other_shards += counts[1];
        result.no_digests += counts[2];
    }
}

} // namespace detail

/// Compares all tensors bit by bit, and other values as texts. Each rank compares every `size`-th
/// tensor.
///
/// If both checkpoints have digests of a tensor, and shard it in the same way, the digests are
/// compared; the data is read only if they differ. All other tensors are read. Equal digests do not
/// show that data has changed since it was saved (see `verify` and `compare_options::data`).
///
/// \par Collective every rank of the group, with the same two checkpoints
/// \throws error on every rank, about tensors of both checkpoints: errc::not_covered or
///         errc::overlap if the shards do not tile a tensor, naming checkpoint, key and elements;
///         errc::overlap if replicas differ, naming the files. Or errc::ranks_disagree
comparison compare(group auto const& world, checkpoint const& a, checkpoint const& b,
                   compare_options const& options = {}) {
    detail::compared_values fingerprint("options", options);
    fingerprint.add_digest("checkpoint of that name", detail::digest_of_pair(a, b));
    detail::agree_to_run(
        world, "compare " + a.metadata().path.string() + " with " + b.metadata().path.string(),
        fingerprint);
    comparison result;
    auto const common = detail::match_keys(a.files_layout(), b.files_layout(), result);
    std::size_t first = common.size();
    comparison comparison;
    agree_on(world, [&] {
        detail::compared_tensors own(a, b, options, comparison);
        auto const step = static_cast<std::size_t>(world.size());
        for (auto i = static_cast<std::size_t>(world.rank()); i < common.size(); i += step)
            own.judge(i, common[i]);
        first = own.read(common.size());
        result.objects = detail::compare_objects(a, b);
    });
    if (a.can_read_objects() && b.can_read_objects())
        result.not_compared.insert(result.not_compared.end(), result.objects.unread.begin(),
                                   result.objects.unread.end());
    detail::add_counts(result, detail::gather_values(world, detail::counts_of(comparison)));
    first = std::ranges::min(detail::gather_values(world, first));
    if (first < common.size())
        result.first = detail::difference_of(detail::stored_tensor(a, common[first].first),
                                             detail::stored_tensor(b, common[first].second));
    return result;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/compare.ipp>
#endif

#endif
