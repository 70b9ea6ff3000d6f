// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_VARIABLE_NAMES_HPP
#define RESHARD_FORMAT_NAMES_VARIABLE_NAMES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/catalog.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// PaddlePaddle's names of an optimizer's variables, from any code path, and their keys; master
/// weights beside weights in a Unified Checkpoint.

namespace reshard::model {

/// A key that is wanted, and the name under which the tensor is stored.
struct renamed_key {
    std::string wanted;
    std::string stored;

    bool operator==(renamed_key const&) const = default;
};

/// Defines each of these keys as the tensor that is stored under its other name.
///
/// \throws error with errc::unknown_key for a stored name that the catalog does not have
RESHARD_DECL void define_renamed(mapping& program, std::vector<renamed_key> const& renamed,
                                 catalog const& stored);

/// Names that frameworks, or their versions, give the same tensor.
struct name_table {
    std::string_view name;
    std::string_view description;
    /// The other names of a key; none if the table does not know it.
    std::vector<std::string> (*others)(std::string_view key);
};

/// All tables: `master-weights`, `slices`, `separators`, `wrappers`.
///
/// \par Source the loader of PaddlePaddle Flex Checkpoint, which tries other names of master
///             weights for keys that are missing, without a word
RESHARD_DECL std::vector<name_table> const& name_tables();

/// \throws error with errc::usage for a name that no table has, with all that there are
RESHARD_DECL name_table const& find_name_table(std::string_view name);

/// The wanted keys that `stored` has under another name of this table only, in their order. A key
/// with several other names is omitted, because the right one is unknown.
RESHARD_DECL std::vector<renamed_key>
renamed_by(name_table const& table, std::vector<std::string> const& wanted, catalog const& stored);

/// A program, for `options::program`, that fills each wanted tensor by its name, or if that is not
/// stored, by the name of the first of these tables that finds it. Renamings are reported, on every
/// rank.
///
/// \throws error with errc::usage as `find_name_table`
RESHARD_DECL std::function<mapping(catalog const&, catalog const*)>
program_by_names(std::vector<std::string> const& tables,
                 std::function<void(name_table const&, renamed_key const&)> tell = {});

} // namespace reshard::model

namespace reshard::detail {

/// `'a/b' by the names of 'separators'`, and how many more: which tables would find keys that are
/// not stored. Empty if none would.
RESHARD_DECL std::string hint_of_names(std::vector<std::string> const& wanted,
                                       catalog const& stored);

inline constexpr std::string_view master_suffix = "_fp32_master";
inline constexpr std::string_view master_segment = "master_weights.";

/// The part of a name before `ending`; std::nullopt if it does not end so.
RESHARD_DECL std::optional<std::string_view> without_ending(std::string_view name,
                                                            std::string_view ending);

/// Takes the segment `master_weights` out of a name; returns whether there was one.
RESHARD_DECL bool take_master_segment(std::string& name);

} // namespace reshard::detail

namespace reshard::model {

/// The kind of a variable: the parameter itself, or one of its states.
struct variable_name {
    std::string parameter;   ///< the parameter's variable: `linear_0.w_0`
    std::string suffix = {}; ///< of the state's key: `.moment1_0`; none of the parameter itself

    bool operator==(variable_name const&) const = default;
};

/// The variable of that name.
///
/// Marks of its origin are removed: `slice@` before a slice of stage 3, `_fp32_master_0` after a
/// master weight and its accumulators, or the segment `master_weights` that older checkpoints have
/// instead.
///
/// \throws     error with errc::unknown_key for a name that leaves no parameter
/// \par Source GroupShardedStage3 and the optimizers of PaddlePaddle: there master weights lack
///             `slice@`, and each path strips for itself
RESHARD_DECL variable_name parse_variable(std::string_view name,
                                          std::vector<state_kind> const& kinds = paddle_states());

/// The key of each parameter, by the name of its variable.
using variable_keys = std::map<std::string, std::string, std::less<>>;

/// The key of a variable: its parameter's key, and its state.
///
/// \throws error with errc::unknown_key for a variable of a parameter that does not exist
RESHARD_DECL std::string key_of_variable(std::string_view name, variable_keys const& parameters,
                                         std::vector<state_kind> const& kinds = paddle_states());

/// How an optimizer came to the variable of a parameter.
struct variable_form {
    bool is_slice = false;   ///< stage 3 cut it
    bool has_master = false; ///< it is of less than 32 bits

    bool operator==(variable_form const&) const = default;
};

/// The names of a parameter's variables in the order in which an optimizer makes them: in mixed
/// precision the master weight first, then the accumulators, which are named by it.
///
/// \post `parse_variable` of each gives `parameter` and the suffix of its kind
RESHARD_DECL std::vector<std::string>
state_variables(std::string_view parameter, variable_form form,
                std::vector<state_kind> const& kinds = paddle_states());

/// The permitted substitutes for a tensor that a checkpoint does not have.
struct master_rule {
    bool weights_of_masters = false; ///< for a weight, its master weight
    bool masters_of_weights = false; ///< for a master weight, its weight
};

/// Defines the wanted keys that a rule lets be made of others, each as a cast to its data type.
///
/// A weight is made of its master weight also if it is stored only as that, in its data type.
///
/// \return the list of substitutes, in the order of the keys: to be reported, never used silently
/// \par Source `skip_save_model_weight` and `master_weight_compatible` of PaddleNLP
RESHARD_DECL std::vector<renamed_key> define_masters(mapping& program, catalog const& wanted,
                                                     catalog const& stored, master_rule rule);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/master_weights.ipp>
#include <reshard/format/names/impl/variable_names.ipp>
#endif

#endif
