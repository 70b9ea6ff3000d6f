// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_MAPPING_HPP
#define RESHARD_SERIALIZATION_MAPPING_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/serialization/catalog.hpp>
#include <reshard/serialization/expression.hpp>
#include <reshard/layout/cover.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Mappings in archives: sources, outputs, what is removed, and the table of relations.

namespace reshard {

template <>
inline constexpr stored_form form_of<mapping_output>{"output"};
template <>
inline constexpr stored_form form_of<relation>{"relation"};
template <>
inline constexpr stored_form form_of<mapping>{"mapping", 3, 1};

/// Key, expression, and whether the tensor is only added.
template <class Archive>
void write_to(Archive& archive, mapping_output const& output) {
    detail::write_text(archive, output.key);
    archive << output.value << static_cast<std::uint8_t>(output.added);
}

/// \throws error where there can be no such tensor
template <class Archive>
void read_from(Archive& archive, mapping_output& output) {
    output.key = detail::read_text(archive);
    archive >> output.value;
    output.added = detail::read_bool(archive);
    detail::check_tensor(output.key, output.value.dtype, output.value.shape);
}

/// Kind, key, companion.
template <class Archive>
void write_to(Archive& archive, relation const& entry) {
    archive << static_cast<std::uint8_t>(entry.what);
    detail::write_text(archive, entry.key);
    detail::write_text(archive, entry.companion);
}

/// \throws error with errc::corrupt_file for a kind that there is not
template <class Archive>
void read_from(Archive& archive, relation& entry) {
    constexpr auto kinds = static_cast<std::size_t>(relation::kind::alias) + 1;
    entry.what = static_cast<relation::kind>(
        detail::read_below<std::uint8_t>(archive, kinds, "the kind of relation"));
    entry.key = detail::read_text(archive);
    entry.companion = detail::read_text(archive);
}

namespace detail {

/// What keeps `part` from being a piece of `output`, or nothing.
inline char const* stored_piece_fault(piece const& part, expression const& output,
                                      source_list const& sources) {
    if (!contains(whole(output.shape), part.target_box()))
        return "leaves the tensor";
    if (result(part.stored, part.casts) != output.dtype)
        return "has another data type than the tensor";
    if (part.source == zero_source)
        return nullptr;
    if (part.source >= sources.size())
        return "is of a source that there is not";
    mapping_source const source = sources[part.source];
    if (source.dtype != part.stored)
        return "has another data type than its source";
    if (source.shape.size() != part.source_offset.size() ||
        !contains(whole(source.shape), part.source_box()))
        return "leaves its source";
    return nullptr;
}

/// \throws error where the pieces are not those of a tensor: in its bounds, and each element once
inline void check_stored(mapping_output const& output, source_list const& sources) {
    piece_list const& pieces = output.value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (char const* const fault = stored_piece_fault(pieces[i], output.value, sources))
            refuse_archive("has a piece " + to_string(pieces[i].target_box()) + " of '" +
                           output.key + "' that " + fault);
    box const all = whole(output.value.shape);
    if (auto const fault = find_cover_fault(all, box_index(pieces.target_boxes())))
        refuse_archive("has pieces of '" + output.key + "' that have the elements " +
                       to_string(fault->where) + " not exactly once");
    if (output.added && output.value != zeros(output.value.shape, output.value.dtype))
        refuse_archive("has '" + output.key + "' as a tensor that is added, with a source");
}

/// Of each source: key, data type, shape.
template <class Archive>
void write_sources(Archive& archive, source_list const& sources) {
    write_count(archive, sources.size());
    for (mapping_source const& tensor : sources) {
        write_text(archive, tensor.key);
        write_dtype(archive, tensor.dtype);
        archive << tensor.shape;
    }
}

/// \throws error where there can be no such tensor
template <class Archive>
std::vector<catalog_entry> read_sources(Archive& archive) {
    std::vector<catalog_entry> sources;
    for (auto left = read_number<std::uint64_t>(archive); left > 0; --left) {
        catalog_entry tensor;
        tensor.key = read_text(archive);
        tensor.dtype = read_dtype(archive);
        archive >> tensor.shape;
        check_tensor(tensor.key, tensor.dtype, tensor.shape);
        sources.push_back(std::move(tensor));
    }
    return sources;
}

/// A mapping that has these sources, in this order.
///
/// \throws error with errc::bad_layout where a key stands twice
inline mapping mapping_over(std::vector<catalog_entry> const& sources) {
    catalog const sorted(sources); // refuses a key that stands twice
    if (std::ranges::is_sorted(sources, {}, &catalog_entry::key))
        return mapping(sorted);
    mapping result;
    for (catalog_entry const& one : sources)
        result.source(one.key, one.shape, one.dtype);
    return result;
}

} // namespace detail

/// Sources, outputs, removed keys, relations.
template <class Archive>
void write_to(Archive& archive, mapping const& program) {
    detail::write_sources(archive, program.sources());
    detail::write_list(archive, program.outputs());
    detail::write_count(archive, program.removed().size());
    for (std::string const& key : program.removed())
        detail::write_text(archive, key);
    detail::write_list(archive, program.relations());
}

/// \throws error where an output is not made of the sources, each of its elements once
template <class Archive>
void read_from(Archive& archive, mapping& program) {
    program = detail::mapping_over(detail::read_sources(archive));
    auto outputs = detail::read_list<mapping_output>(archive);
    detail::check_sorted(outputs);
    for (mapping_output& output : outputs) {
        detail::check_stored(output, program.sources());
        if (output.added)
            program.add(output.key, output.value.shape, output.value.dtype);
        else
            program.define(output.key, std::move(output.value));
    }
    for (auto left = detail::read_number<std::uint64_t>(archive); left > 0; --left)
        program.remove(detail::read_text(archive));
    for (relation& entry : detail::read_list<relation>(archive))
        program.relate(std::move(entry));
}

} // namespace reshard

#endif
