// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_QUANTISED_JOB_IPP
#define RESHARD_BIND_IMPL_QUANTISED_JOB_IPP

#include <reshard/bind/job_state.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/cut_piece.hpp>
#include <reshard/expr/quantize.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// A redistribution whose program quantizes. A first job brings each rank the values of the blocks
/// of which it wants numbers or scales. The rank quantizes them, and a second job moves the results
/// as it moves source tensors.

namespace reshard::detail {

/// How an axis of a part corresponds to an axis of the value: each `block` elements of the value
/// belong to `count` elements of the part.
struct part_axis {
    index_t block = 1;
    index_t count = 1;
};

/// \pre the part has the axes of the value
inline part_axis axis_of_part(quantiser const& by, index_vector const& value,
                              index_vector const& part, std::size_t axis) {
    if (part[axis] == value[axis])
        return {};
    index_t const block = by.block()[axis];
    if (block == 0)
        return {std::max<index_t>(1, value[axis]), part[axis]};
    return {block, part[axis] / std::max<index_t>(1, (value[axis] + block - 1) / block)};
}

/// The tensors of one value that a rank makes.
class quantised_share {
public:
    quantised_share(mapping const& program, quantised_value const& made)
        : made_(made), whole_(made.scheme, made.value.shape) {
        for (key_id i = 0; i < made.count; ++i)
            keys_.emplace_back(program.sources().key(made.first + i));
    }

    bool needs_maximum() const { return whole_.needs_maximum(); }
    std::string const& name() const { return made_.name; }

    /// Extends the box of the value for a target shard that this rank wants.
    void want(mapping_output const& output, box const& region) {
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i) {
            piece const from = output.value.pieces[i];
            auto const common = intersect(from.target_box(), region);
            if (from.source == zero_source || from.source - made_.first >= made_.count || !common)
                continue;
            std::size_t const number = from.source - made_.first;
            cut_to_target(from, *common, [&](piece const& p) { extend(number, p.source_box()); });
        }
    }

    /// Adds the shards that this rank needs of the value, and of an equal share of it.
    void add_values(state_dict& values, int rank, int ranks) {
        index_vector const& shape = made_.value.shape;
        elements_.resize(static_cast<std::size_t>(element_count(region_)));
        if (!is_empty(region_))
            values.add({made_.name, data_type::f32, shape, region_}, view_of(elements_, region_));
        if (!needs_maximum() || shape.empty())
            return;
        box share = whole(shape);
        share.offset[0] = shape[0] * rank / ranks;
        share.shape[0] = shape[0] * (rank + 1) / ranks - share.offset[0];
        share_.resize(static_cast<std::size_t>(element_count(share)));
        if (!is_empty(share))
            values.add({share_key(), data_type::f32, shape, share}, view_of(share_, share));
    }

    /// The key under which the first job has the elements for the maximum.
    std::string share_key() const { return made_.name + " (maximum)"; }

    float largest() const { return largest_of(share_); }

    /// Adds the tensors that this rank makes.
    void add_parts(const_state_dict& tensors) {
        by_.emplace(made_.scheme, region_.shape);
        for (std::size_t part = 0; part < keys_.size(); ++part) {
            quantised_part const& full = whole_.parts()[part];
            box const made = box_of_part(part);
            auto& bytes = bytes_.emplace_back(
                static_cast<std::size_t>(byte_count(element_count(made), full.dtype)));
            if (!is_empty(made))
                tensors.add({keys_[part], full.dtype, full.shape, made},
                            const_tensor_view{bytes.data(), full.dtype, made.shape,
                                              row_major_strides(made.shape)});
        }
    }

    /// Quantizes the values of the first job.
    ///
    /// \throws error as `quantiser::run`
    void run(float maximum) {
        vector<std::span<std::byte>> numbers, constants;
        for (std::size_t part = 0; part < keys_.size(); ++part) {
            bool const is_constant = whole_.parts()[part].is_constant;
            (is_constant ? numbers : constants).emplace_back();
            (is_constant ? constants : numbers).emplace_back(bytes_[part]);
        }
        auto const all = [](vector<std::span<std::byte>> const& bytes) {
            return std::span<std::span<std::byte> const>(bytes.data(), bytes.size());
        };
        whole_.run(0, {}, maximum, all(constants));
        by_->run(0, elements_, maximum, all(numbers));
    }

    index_t bytes() const {
        std::size_t sum = (elements_.size() + share_.size()) * sizeof(float);
        for (auto const& part : bytes_)
            sum += part.size();
        return static_cast<index_t>(sum);
    }

private:
    static tensor_view view_of(vector<float>& elements, box const& region) {
        return {elements.data(), data_type::f32, region.shape, row_major_strides(region.shape)};
    }

    /// Whether a part is an array over the axes of the value.
    bool has_axes(std::size_t part) const {
        return !whole_.parts()[part].is_constant &&
               whole_.parts()[part].shape.size() == made_.value.ndim() && !is_flat();
    }

    /// Whether blocks are runs of all elements, across rows.
    bool is_flat() const { return whole_.parts()[0].shape.size() != made_.value.ndim(); }

    /// Extends the box of the value by the blocks of a box of a part.
    void extend(std::size_t part, box const& region) {
        index_vector const& shape = made_.value.shape;
        if (whole_.parts()[part].is_constant || is_empty(region))
            return;
        box wanted = whole(shape);
        for (std::size_t axis = 0; axis < shape.size() && has_axes(part); ++axis) {
            auto const [block, count] =
                axis_of_part(whole_, shape, whole_.parts()[part].shape, axis);
            index_t const step = std::lcm(block, std::max<index_t>(1, whole_.block()[axis]));
            if (whole_.block()[axis] == 0)
                continue;
            index_t const first = region.offset[axis] / count * block / step * step;
            index_t const end = ((region.end(axis) + count - 1) / count * block + step - 1) / step;
            wanted.offset[axis] = first;
            wanted.shape[axis] = std::min(end * step, shape[axis]) - first;
        }
        region_ = is_wanted_ ? hull(region_, wanted) : wanted;
        is_wanted_ = true;
    }

    /// The box of a part that this rank makes.
    box box_of_part(std::size_t part) const {
        quantised_part const& full = whole_.parts()[part];
        if (full.is_constant)
            return whole(full.shape);
        if (!has_axes(part))
            return is_empty(region_) ? box{index_vector::filled(full.shape.size(), 0),
                                           index_vector::filled(full.shape.size(), 0)}
                                     : whole(full.shape);
        box made;
        for (std::size_t axis = 0; axis < full.shape.size(); ++axis) {
            auto const [block, count] = axis_of_part(whole_, made_.value.shape, full.shape, axis);
            index_t const first = region_.offset[axis] / block * count;
            made.offset.push_back(first);
            made.shape.push_back(
                std::min((region_.end(axis) + block - 1) / block * count, full.shape[axis]) -
                first);
        }
        return made;
    }

    quantised_value const& made_;
    quantiser whole_;
    vector<std::string> keys_; ///< of the parts
    box region_ = {index_vector::filled(made_.value.ndim(), 0),
                   index_vector::filled(made_.value.ndim(), 0)};
    bool is_wanted_ = false;
    vector<float> elements_; ///< of the value in `region_`
    vector<float> share_;    ///< of an equal share of the value
    std::optional<quantiser> by_;
    vector<vector<std::byte>> bytes_; ///< of the parts
};

/// A job that quantizes.
class quantised_job final : public job_state {
public:
    quantised_job(any_group ranks, mapping program)
        : job_state(nullptr), ranks_(std::move(ranks)), program_(std::move(program)) {}

    /// Prepares both jobs.
    ///
    /// \par Collective every rank of the group, in the same order
    void prepare_jobs(source_tensors have, target_tensors want, options const& options,
                      call_preparer const& prepare) {
        mapping values;
        state_dict staged;
        agree_on(ranks_, [&] {
            if (options.memory)
                refuse_quantised(program_, "a redistribution in rounds");
            for (quantised_value const& made : program_.quantised())
                shares_.emplace_back(program_, made);
            for (shard_descriptor const& shard : want.tensors.descriptors())
                if (mapping_output const* const output = program_.find(shard.key))
                    for (quantised_share& share : shares_)
                        share.want(*output, shard.region);
            for (std::size_t i = 0; i < shares_.size(); ++i) {
                add_value(values, program_, program_.quantised()[i]);
                if (shares_[i].needs_maximum())
                    values.define(shares_[i].share_key(), values.find(shares_[i].name())->value);
                shares_[i].add_values(staged, ranks_.rank(), ranks_.size());
            }
        });
        reshard::options first = options, rest = options;
        first.program = std::move(values);
        first.strict = {};
        first.shape_mismatch = {};
        first.cache = nullptr;
        first_ = prepare(have, staged, first);
        agree_on(ranks_, [&] {
            for (quantised_share& share : shares_)
                share.add_parts(have.tensors);
            have.layout.reset(); // it lacks the new tensors
        });
        mapping moved = program_;
        moved.forget_quantised();
        rest.program = std::move(moved);
        second_ = prepare(std::move(have), std::move(want), rest);
        planned = second_->planned;
        was_kept = second_->was_kept;
        (cost = first_->cost) += second_->cost;
    }

    void run() override {
        first_->run();
        vector<std::uint32_t> largest; // the bits of floats without sign are in their order
        for (quantised_share const& share : shares_)
            if (share.needs_maximum())
                largest.push_back(std::bit_cast<std::uint32_t>(share.largest()));
        if (!largest.empty())
            for (auto const& of_rank : gather_values(ranks_, largest))
                for (std::size_t i = 0; i < largest.size(); ++i)
                    largest[i] = std::max(largest[i], of_rank[i]);
        agree_on(ranks_, [&] {
            auto next = largest.begin();
            for (quantised_share& share : shares_)
                try {
                    share.run(share.needs_maximum() ? std::bit_cast<float>(*next++) : 0.0F);
                } catch (error const& problem) {
                    fail(problem.code(), "'", share.name(), "': ", problem.what());
                }
        });
        second_->run();
    }

    index_t staging_bytes() const override {
        index_t sum = first_->staging_bytes() + second_->staging_bytes();
        for (quantised_share const& share : shares_)
            sum += share.bytes();
        return sum;
    }

private:
    any_group ranks_;
    mapping program_;
    std::deque<quantised_share> shares_; ///< they stay in place
    std::unique_ptr<job_state> first_;   ///< moves the values
    std::unique_ptr<job_state> second_;  ///< moves all tensors
};

inline std::unique_ptr<job_state> prepare_quantised(any_group const& ranks, mapping program,
                                                    source_tensors have, target_tensors want,
                                                    options const& options,
                                                    call_preparer const& prepare) {
    auto state = std::make_unique<quantised_job>(ranks, std::move(program));
    state->prepare_jobs(std::move(have), std::move(want), options, prepare);
    return state;
}

} // namespace reshard::detail

#endif
