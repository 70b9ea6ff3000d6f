// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_VARIABLE_NAMES_HPP
#define RESHARD_FORMAT_NAMES_VARIABLE_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Converts PaddlePaddle's names of optimizer variables, from any code path, to keys. Also makes
/// weights from the master weights of a Unified Checkpoint, and master weights from weights.

namespace reshard::model {

/// A wanted key, and the name under which its tensor is stored.
struct renamed_key {
    std::string wanted;
    std::string stored;

    bool operator==(renamed_key const&) const = default;
};

/// Defines each wanted key as the tensor that is stored under the other name.
///
/// \throws error with errc::unknown_key for a stored name that the catalog does not have
RESHARD_DECL void define_renamed(mapping& program, vector<renamed_key> const& renamed,
                                 catalog const& stored);

/// Names that different frameworks, or their versions, use for one tensor.
struct name_table {
    std::string_view name;
    std::string_view description;
    /// The other names of a key; empty if the table does not know the key.
    vector<std::string> (*others)(std::string_view key);
};

/// All tables: `master-weights`, `slices`, `separators`, `wrappers`.
///
/// \par Source the loader of PaddlePaddle Flex Checkpoint, which silently tries other names of
///             master weights for missing keys
RESHARD_DECL vector<name_table> const& name_tables();

/// \throws error with errc::usage for the name of an unknown table; it lists all names
RESHARD_DECL name_table const& find_name_table(std::string_view name);

/// The wanted keys that `stored` has only under another name of this table, in their order. A key
/// with several stored names is omitted, because the right name is unknown.
RESHARD_DECL vector<renamed_key>
renamed_by(name_table const& table, vector<std::string> const& wanted, catalog const& stored);

/// A program, for `options::program`, that fills each wanted tensor by its name. If that name is
/// not stored, the program uses the first of these tables that finds the tensor. The program
/// reports renamings on every rank.
///
/// \throws error with errc::usage as `find_name_table`
RESHARD_DECL std::function<mapping(catalog const&, catalog const*)>
program_by_names(vector<std::string> const& tables,
                 std::function<void(name_table const&, renamed_key const&)> tell = {});

} // namespace reshard::model

namespace reshard::detail {

/// Says which tables would find keys that are not stored:
/// `'a.b' is called 'a/b' in the name table 'separators'`, and the number of other keys. Empty if
/// no table finds any.
RESHARD_DECL std::string hint_of_names(vector<std::string> const& wanted, catalog const& stored);

inline constexpr std::string_view master_suffix = "_fp32_master";
inline constexpr std::string_view master_segment = "master_weights.";

/// The part of a name before `ending`; std::nullopt for another ending.
RESHARD_DECL std::optional<std::string_view> without_ending(std::string_view name,
                                                            std::string_view ending);

/// Removes the segment `master_weights` from a name; returns whether the name had it.
RESHARD_DECL bool take_master_segment(std::string& name);

} // namespace reshard::detail

namespace reshard::model {

/// The kind of a variable: the parameter itself, or one of its states.
struct variable_name {
    std::string parameter;   ///< the parameter's variable: `linear_0.w_0`
    std::string suffix = {}; ///< suffix of the state's key: `.moment1_0`; empty for the parameter

    bool operator==(variable_name const&) const = default;
};

/// Parses the name of a variable.
///
/// Marks of the variable's origin are removed: `slice@` before a slice of stage 3, `_fp32_master_0`
/// after a master weight and in its accumulators, or the segment `master_weights`, which older
/// checkpoints have instead.
///
/// \throws     error with errc::unknown_key for a name that leaves no parameter
/// \par Source GroupShardedStage3 and the optimizers of PaddlePaddle: there, master weights lack
///             `slice@`, and each code path removes marks in its own way
RESHARD_DECL variable_name parse_variable(std::string_view name,
                                          vector<state_kind> const& kinds = paddle_states());

/// The key of each parameter, by the name of its variable.
using variable_keys = std::map<std::string, std::string, std::less<>>;

/// The key of a variable: its parameter's key, and its state.
///
/// \throws error with errc::unknown_key for a variable of a parameter that does not exist
RESHARD_DECL std::string key_of_variable(std::string_view name, variable_keys const& parameters,
                                         vector<state_kind> const& kinds = paddle_states());

/// The properties of a parameter that determine the names of its state variables.
struct variable_form {
    bool is_slice = false;   ///< stage 3 cut the parameter
    bool has_master = false; ///< the parameter has fewer than 32 bits

    bool operator==(variable_form const&) const = default;
};

/// The names of a parameter's variables, in the order in which an optimizer makes them. In mixed
/// precision, the master weight is first, and its name is part of the accumulators' names.
///
/// \post `parse_variable` of each name returns `parameter` and the suffix of the state's kind
RESHARD_DECL vector<std::string> state_variables(std::string_view parameter, variable_form form,
                                                 vector<state_kind> const& kinds = paddle_states());

/// The permitted substitutes for a tensor that a checkpoint does not have.
struct master_rule {
    bool weights_of_masters = false; ///< a weight may be made from its master weight
    bool masters_of_weights = false; ///< a master weight may be made from its weight
};

/// Defines each wanted key that a rule permits to be made from another tensor, as a cast to the
/// wanted data type.
///
/// A weight that is stored only as its master weight, in the same data type, is made from the
/// master weight too.
///
/// \return the list of substitutes, in the order of the keys: report it, so that they are not used
/// silently
/// \par Source `skip_save_model_weight` and `master_weight_compatible` of PaddleNLP
RESHARD_DECL vector<renamed_key> define_masters(mapping& program, catalog const& wanted,
                                                catalog const& stored, master_rule rule);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/master_weights.ipp>
#include <reshard/format/names/impl/variable_names.ipp>
#endif

#endif
