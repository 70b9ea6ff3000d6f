// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_MAPPING_IPP
#define RESHARD_EXPR_IMPL_MAPPING_IPP

#include <reshard/expr/mapping.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/digest.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/expr/cast.hpp>
#include <reshard/layout/cover.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_set>

namespace reshard::detail {

RESHARD_DECL auto source_list::end() const -> iterator {
    return {*this, static_cast<key_id>(size())};
}

RESHARD_DECL mapping_source source_list::operator[](key_id id) const {
    BOOST_ASSERT(id < size());
    facts const& current_facts = facts_[id];
    index_t const* const first = extents_.data() + current_facts.first_extent;
    return {keys_[id], index_vector(first, first + current_facts.ndim), current_facts.dtype};
}

RESHARD_DECL void source_list::reserve(std::size_t tensors, std::size_t characters) {
    keys_.reserve_more(tensors, characters);
    facts_.reserve(tensors);
    extents_.reserve(2 * tensors);
}

RESHARD_DECL void source_list::push_back(mapping_source const& tensor) {
    keys_.push_back(tensor.key);
    facts_.push_back({static_cast<std::uint32_t>(extents_.size()), tensor.dtype,
                      static_cast<std::uint8_t>(tensor.shape.size())});
    extents_.insert(extents_.end(), tensor.shape.begin(), tensor.shape.end());
}

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL void validate(mapping_output const& output) {
    detail::check_tensor(output.key, output.value.dtype, output.value.shape);
}

RESHARD_DECL mapping::mapping() = default;
RESHARD_DECL mapping::mapping(mapping const& copied) = default;
RESHARD_DECL mapping::mapping(mapping&& moved) noexcept = default;
RESHARD_DECL mapping& mapping::operator=(mapping const& copied) = default;
RESHARD_DECL mapping& mapping::operator=(mapping&& moved) noexcept = default;
RESHARD_DECL mapping::~mapping() = default;

RESHARD_DECL mapping::mapping(catalog const& source) {
    std::size_t characters = 0;
    for (catalog_entry const& entry : source)
        characters += entry.key.size();
    sources_.reserve(source.size(), characters);
    for (catalog_entry const& entry : source)
        sources_.push_back({entry.key, entry.shape, entry.dtype});
}

RESHARD_DECL expression mapping::source(std::string_view key, index_vector const& shape,
                                        data_type dtype) {
    if (auto const position = number_of(key))
        return known(*position, shape, dtype);
    sources_.push_back({key, shape, dtype});
    return detail::source_tensor(placed_, shape, dtype);
}

RESHARD_DECL expression mapping::source(detail::key_id id) const {
    BOOST_ASSERT(id < sources_.size());
    detail::mapping_source const tensor = sources_[id];
    return detail::source_tensor(id, tensor.shape, tensor.dtype);
}

RESHARD_DECL expression mapping::dequantized(std::string_view key, std::string_view scales,
                                             index_vector const& block, data_type dtype) {
    auto const id_of = [&](std::string_view wanted) {
        if (auto const id = number_of(wanted))
            return *id;
        fail(errc::unknown_key, "'", wanted, "' is not a source of the program",
             detail::did_you_mean_key(wanted, sources_, &detail::mapping_source::key));
    };
    expression const tensor = source(id_of(key));
    detail::mapping_source const of = sources_[id_of(scales)];
    if (!detail::is_floating(of.dtype) && of.dtype != data_type::u8)
        fail(errc::dtype_mismatch, "the scales '", scales, "' are ", of.dtype,
             ", not floating-point numbers");
    if (block.size() != tensor.ndim())
        fail(errc::shape_mismatch, "'", key, "' has ", detail::counted(tensor.ndim(), "axis"),
             ", and the extents ", block, " of its blocks have ", block.size());
    relate({detail::relation::kind::dequantize, std::string(key), std::string(scales), block});
    return detail::dequantized(tensor, dtype);
}

RESHARD_DECL void mapping::remove(std::string_view key) { removed_.emplace_back(key); }

RESHARD_DECL void mapping::relate(detail::relation entry) {
    relations_.push_back(std::move(entry));
}

RESHARD_DECL void mapping::forget_relations() {
    erase_if(relations_, [](detail::relation const& each) { return !each.is_of_values(); });
}

RESHARD_DECL void mapping::fuse(std::string const& key, detail::fused_tensor tensor) {
    fused_.insert_or_assign(key, std::move(tensor));
}

RESHARD_DECL void mapping::take_apart(std::string const& key,
                                      vector<detail::taken_apart> split_sources) {
    apart_.insert_or_assign(key, std::move(split_sources));
}

RESHARD_DECL void mapping::leave_over(std::string_view key) { left_over_.emplace_back(key); }

RESHARD_DECL void mapping::define(std::string_view key, expression value) {
    outputs_.put({std::string(key), std::move(value), false});
}

RESHARD_DECL void mapping::add(std::string_view key, index_vector const& shape, data_type dtype) {
    outputs_.put({std::string(key), zeros(shape, dtype), true});
}

RESHARD_DECL vector<expression>
mapping::add_quantised(detail::quantised_value added,
                       vector<detail::mapping_source> const& tensors) {
    added.for_each_source([&](detail::key_id id) {
        if (auto const* const from = detail::quantised_from(*this, id))
            fail(errc::unsupported, "'", added.name, "' has elements that are quantised as '",
                 from->scheme, "' already; quantize the values from which they are made");
    });
    added.first = static_cast<detail::key_id>(sources_.size());
    added.count = static_cast<detail::key_id>(tensors.size());
    vector<expression> parts;
    for (detail::mapping_source const& tensor : tensors) {
        if (number_of(tensor.key))
            fail(errc::usage, "the source has a tensor '", tensor.key, "' already");
        sources_.push_back(tensor);
        parts.push_back(detail::source_tensor(static_cast<detail::key_id>(sources_.size() - 1),
                                              tensor.shape, tensor.dtype));
    }
    quantised_.push_back(std::move(added));
    return parts;
}

RESHARD_DECL mapping_output const* mapping::find(std::string_view key) const {
    auto const position = outputs_.find(key);
    return position != outputs_.end() ? &*position : nullptr;
}

RESHARD_DECL bool mapping::operator==(mapping const& other_mapping) const {
    return sources_ == other_mapping.sources_ && outputs_ == other_mapping.outputs_ &&
           removed_ == other_mapping.removed_ && relations_ == other_mapping.relations_ &&
           quantised_ == other_mapping.quantised_;
}

RESHARD_DECL std::optional<detail::key_id> mapping::number_of(std::string_view key) {
    for (; placed_ < sources_.size(); ++placed_)
        source_places_.append(sources_.key(placed_), placed_);
    return source_places_.find(key, [this](detail::key_id i) { return sources_.key(i); });
}

RESHARD_DECL expression mapping::known(detail::key_id i, index_vector const& shape,
                                       data_type dtype) const {
    detail::mapping_source const tensor = sources_[i];
    if (tensor.shape != shape)
        fail(errc::shape_mismatch, "'", tensor.key, "' has the shape ", tensor.shape, ", not ",
             shape);
    if (tensor.dtype != dtype)
        fail(errc::dtype_mismatch, "'", tensor.key, "' is ", tensor.dtype, ", not ", dtype);
    return detail::source_tensor(i, shape, dtype);
}

namespace detail {

RESHARD_DECL bool is_whole_source(expression const& value, source_list const& sources) {
    return is_source_box(value) && value.pieces.is_whole() &&
           sources[value.pieces.source(0)].shape == value.shape;
}

RESHARD_DECL quantised_value const* quantised_from(mapping const& program, key_id id) {
    auto const next =
        std::ranges::upper_bound(program.quantised(), id, {}, &quantised_value::first);
    if (next == program.quantised().begin() ||
        id - std::prev(next)->first >= std::prev(next)->count)
        return nullptr;
    return &*std::prev(next);
}

RESHARD_DECL void refuse_quantised(mapping const& program, std::string_view call) {
    auto const refuse = [&](std::string_view key, std::string_view word) {
        fail(errc::unsupported, "'", key, "': ", call, " cannot ", word,
             "; use load(), convert() or redistribute() for that");
    };
    for (relation const& related : program.relations())
        if (related.dequantizes())
            refuse(related.key, "dequantize");
    for (quantised_value const& value : program.quantised())
        refuse(value.name, "quantize");
}

RESHARD_DECL std::uint64_t digest_of(mapping const& program) {
    std::uint64_t digest = digest_of_all(program.sources(), program.outputs(), program.removed());
    if (!program.quantised().empty())
        digest = digest_of_all(digest, program.quantised());
    vector<relation> copies; // relations that have an effect
    for (relation const& relation : program.relations())
        if (relation.is_compared() || relation.is_of_values())
            copies.push_back(relation);
    return copies.empty() ? digest : digest_of_all(digest, copies);
}

/// The source tensors that have scales.
using scaled_keys = std::unordered_set<std::string_view>;

/// The reason why `part` cannot multiply elements by scales, or null.
inline char const* unfit_scales(piece const& part, std::string_view source,
                                scaled_keys const& scaled) {
    chain_step const first = part.steps.steps()[0];
    bool const is_packed = first.operand != 0;
    if (!scaled.contains(source))
        return "is dequantized, but has no scales";
    if (is_packed ? part.stored != data_type::u8 : !may_be_dequantized(part.stored))
        return "cannot be dequantized";
    return is_floating(first.dtype) && computing_type(part.stored, first.dtype) == data_type::f32
               ? nullptr
               : "cannot be dequantized to that type";
}

/// The reason why `part` cannot be a piece of `output`, or null.
inline char const* unfit_piece(piece const& part, expression const& output,
                               source_list const& sources, scaled_keys const& scaled) {
    if (!contains(whole(output.shape), part.target_box()))
        return "exceeds the tensor";
    if (result(part.stored, part.steps) != output.dtype)
        return "does not have the data type of the tensor";
    if (part.source == zero_source)
        return nullptr;
    if (part.source >= sources.size())
        return "has a source that does not exist";
    mapping_source const source = sources[part.source];
    if (source.dtype != part.stored)
        return "does not have the data type of its source";
    if (source.shape.size() != part.source_offset.size() ||
        !contains(whole(source.shape), part.source_box()))
        return "exceeds its source";
    return part.steps.dequantizes() ? unfit_scales(part, source.key, scaled) : nullptr;
}

/// \throws error with errc::bad_layout unless the pieces cover each element of the tensor once, and
///         stay within its bounds
inline void check_pieces_of(mapping_output const& output, source_list const& sources,
                            scaled_keys const& scaled) {
    piece_list const& pieces = output.value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (char const* const fault = unfit_piece(pieces[i], output.value, sources, scaled))
            fail(errc::bad_layout, "it has a piece ", pieces.target_box(i), " of '", output.key,
                 "' that ", fault);
    if (auto const fault =
            find_cover_fault(whole(output.value.shape), box_index(pieces.target_boxes())))
        fail(errc::bad_layout, "the pieces of '", output.key, "' do not cover elements ",
             fault->where, " exactly once");
    if (output.added && output.value != zeros(output.value.shape, output.value.dtype))
        fail(errc::bad_layout, "'", output.key, "' is declared as added, but has a source");
}

/// \throws error with errc::bad_layout
inline void check_quantised(quantised_value const& value, source_list const& sources,
                            scaled_keys const& scaled) {
    if (value.first > sources.size() || value.count > sources.size() - value.first)
        fail(errc::bad_layout, "it has quantised tensors of '", value.name, "' that do not exist");
    check_pieces_of({value.name, value.value}, sources, scaled);
    for (expression const& scales : value.kept)
        check_pieces_of({value.name, scales}, sources, scaled);
    value.for_each_source([&](key_id id) {
        if (id >= value.first)
            fail(errc::bad_layout, "it quantizes '", value.name, "' from tensors that come later");
    });
}

} // namespace detail

RESHARD_DECL void validate(mapping const& program) {
    vector<std::string_view> keys;
    for (detail::mapping_source const& source : program.sources())
        keys.push_back(source.key);
    detail::sort_by(keys, std::less<>());
    if (auto const twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
        fail(errc::bad_layout, "it has the source '", *twice, "' twice");
    detail::scaled_keys scaled;
    for (detail::relation const& related : program.relations())
        if (related.dequantizes())
            scaled.insert(related.key);
    for (mapping_output const& output : program.outputs())
        detail::check_pieces_of(output, program.sources(), scaled);
    for (detail::quantised_value const& value : program.quantised())
        detail::check_quantised(value, program.sources(), scaled);
}

RESHARD_DECL mapping identity_mapping(catalog const& source, catalog const* target) {
    mapping result(source);
    for (catalog_entry const& wanted : target ? *target : source) {
        catalog_entry const* const entry = source.find(wanted.key);
        if (!entry)
            fail(errc::unknown_key, "'", wanted.key, "' is wanted, but the source does not have it",
                 detail::did_you_mean_key(wanted.key, source, &catalog_entry::key));
        result.define(wanted.key, result.source(static_cast<detail::key_id>(entry - &source[0])));
    }
    return result;
}

} // namespace reshard

#endif
