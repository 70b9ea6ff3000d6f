// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_NUMBERED_NAMES_HPP
#define RESHARD_FORMAT_NAMES_NUMBERED_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/model/parallelism.hpp>
#include <reshard/model/pipeline.hpp>

#include <optional>
#include <string>
#include <string_view>

/// \file
/// Names with numbers of a stage or of an expert-parallel rank, and with those of the model.

namespace reshard::model {

/// A number in a name, between two other parts of it.
struct numbered_name {
    std::string_view head; ///< up to the number
    index_t number = 0;
    std::string_view tail; ///< from behind it on
};

} // namespace reshard::model

namespace reshard::detail {

/// The number that stands behind `before` in a name, as a segment of its own: that of
/// `layers.3.mlp.weight` behind `layers.`. Nothing where there is none; an empty `before` means the
/// name's beginning.
///
/// \throws error with errc::overflow for a number that does not fit 64 bits
RESHARD_DECL std::optional<model::numbered_name> number_behind(std::string_view name,
                                                               std::string_view before);

/// The name in which `change` gives the number behind `before` another value; without one, the name
/// as it is.
std::string renumbered(std::string_view name, std::string_view before, auto const& change) {
    auto const found = number_behind(name, before);
    if (!found)
        return std::string(name);
    return std::string(found->head) + std::to_string(change(found->number)) +
           std::string(found->tail);
}

} // namespace reshard::detail

namespace reshard::model {

/// The name in the model of what a chunk of a stage knows by a number of its own.
///
/// No two stages share a name then. Names without a number, an embedding's, stay.
///
/// \throws     error with errc::bad_layout for a layer that the chunk does not have
/// \par Source PipelinePretrainedModel of PaddleNLP, which keeps a table of both names
RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       pipeline const& stages, layer_place chunk);

/// The name by which the stage of a layer knows what has that name in the model.
///
/// \post   `name_in_model` of it, for that stage and chunk, is `name`
/// \throws error with errc::bad_layout for a layer that is not there
RESHARD_DECL std::string name_on_stage(std::string_view name, std::string_view before,
                                       pipeline const& stages);

/// The name in the model of what an expert-parallel rank knows by a number of its own.
///
/// \throws     error with errc::bad_layout for an expert or a rank that is not there
/// \par Source PaddlePaddle's renumbering of experts when a checkpoint is saved
RESHARD_DECL std::string name_in_model(std::string_view name, std::string_view before,
                                       expert_numbers const& experts, index_t rank);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/numbered_names.ipp>
#endif

#endif
