// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_IMPL_TORCH_ARCHIVE_IPP
#define RESHARD_FORMAT_TORCH_IMPL_TORCH_ARCHIVE_IPP

#include <reshard/format/torch/torch_archive.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/file_reader.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/format/zip/stored_zip.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <utility>

namespace reshard::detail {

/// The names that a file of torch may use in addition to `carried_makers`: functions that make
/// tensors, and enumerations in the arguments of a Megatron-LM job.
inline constexpr std::string_view tensor_names[] = {
    "torch.*",
    "torch.storage.UntypedStorage",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._tensor._rebuild_from_type_v2",
    "torch._utils._rebuild_wrapper_subclass", // DTensor, and its members
    "torch.serialization._get_layout",
    "torch.distributed.tensor.*",
    "torch.distributed.tensor._dtensor_spec.*",
    "torch.distributed.tensor.placement_types.*",
    "torch.distributed.device_mesh.*",
    "torch.distributed._mesh_layout.*",
    "torch.distributed._tensor.api.*", // before torch 2.5
    "torch.distributed._tensor._dtensor_spec.*",
    "torch.distributed._tensor.placement_types.*",
    "torch.nn.parameter.*",
    "megatron.core.enums.*",
    "megatron.core.transformer.enums.*",
};

/// All names that a file of torch may use.
inline constexpr auto torch_names = [] {
    std::array<std::string_view, std::size(tensor_names) + std::size(carried_makers)> all;
    std::ranges::copy(carried_makers, std::ranges::copy(tensor_names, all.begin()).out);
    return all;
}();

RESHARD_DECL std::optional<data_type> torch_data_type(std::string_view name) {
    constexpr std::pair<std::string_view, data_type> others[] = {
        {"half", data_type::f16},     {"float", data_type::f32},
        {"double", data_type::f64},   {"cfloat", data_type::c64},
        {"cdouble", data_type::c128}, {"float8_e8m0fnu", data_type::f8_e8m0},
    };
    for (auto const& [other, dtype] : others)
        if (name == other)
            return dtype;
    return name == "float4_e2m1" ? std::nullopt : data_type_from_name(name);
}

/// The data type in the name of a class of storages, such as `torch.FloatStorage`.
inline std::optional<data_type> storage_data_type(std::string_view name) {
    if (!name.starts_with("torch."))
        return std::nullopt;
    for (auto const& [torch_storage, dtype] : torch_storages)
        if (name.substr(6) == torch_storage)
            return dtype;
    return std::nullopt;
}

/// The directory in an archive that has the pickle.
inline std::string_view root_of(vector<shown_member> const& members, std::string const& name) {
    std::optional<std::string_view> match;
    for (shown_member const& shown_member : members) {
        std::string_view const member = shown_member.member.name;
        if (member != "data.pkl" && !member.ends_with("/data.pkl"))
            continue;
        if (match)
            fail(errc::corrupt_file, name, ": the archive has a pickle as '", *match,
                 "data.pkl', and another one as '", member, "'");
        match = member.substr(0, member.size() - 8);
    }
    return match.value_or("");
}

RESHARD_DECL torch_archive::torch_archive(file_store::file const& file, std::string const& name,
                                          byte_run where)
    : name_(name) {
    file_in_blocks const blocks(file, where);
    vector<shown_member> members;
    for (zip_member& member : read_zip(blocks, name, where)) {
        check_stored(member, name);
        members.push_back({std::move(member), member.bytes});
    }
    read(blocks, members);
}

RESHARD_DECL torch_archive::torch_archive(file_store::file const& file, std::string const& name)
    : name_(name) {
    read(file, shown_members(file, name));
}

RESHARD_DECL void torch_archive::read(file_store::file const& file,
                                      vector<shown_member> const& members) {
    std::string const& name = name_;
    std::string_view const root = root_of(members, name);
    for (shown_member const& member : members) {
        if (!member.bytes)
            check_stored(member.member, name);
        is_inflated_ = is_inflated_ || member.is_inflated();
        if (member.member.name.starts_with(root))
            members_.emplace(member.member.name.substr(root.size()), *member.bytes);
    }
    if (members_.contains("constants.pkl"))
        fail(errc::unsupported, name,
             ": is a TorchScript archive, which has a program with its tensors; load it with "
             "torch.jit.load, and save its state_dict() with torch.save");
    if (!members_.contains("data.pkl"))
        fail(errc::corrupt_file, name,
             ": the archive has no member data.pkl, which every file of "
             "torch.save has");
    if (auto const order = members_.find("byteorder"); order != members_.end()) {
        std::string text(std::min<std::uint64_t>(order->second.size(), 16), ' ');
        file.read(order->second.begin, std::as_writable_bytes(std::span(text)));
        if (text != "little")
            fail(errc::unsupported, name, ": its byte order is '", text,
                 "', but only 'little' is supported");
    }
    values_.emplace(file, name, members_.at("data.pkl"), torch_names);
    check_storages();
}

/// Refuses a file that is not an archive.
inline void check_is_archive(file_store::file const& file, std::string const& path) {
    std::string first(8, ' ');
    if (std::uint64_t const bytes = file.facts().bytes; bytes < first.size())
        fail(errc::corrupt_file, path, ": the file has ", counted(bytes, "byte"),
             ", but a file of torch.save has more; was it cut short?");
    file.read(0, std::as_writable_bytes(std::span(first)));
    if (first.starts_with("PK"))
        return;
    if (first.starts_with('\x80'))
        fail(errc::unsupported, path,
             ": is a pickle without an archive, as torch.save wrote before torch 1.6; load it in "
             "torch and save it again");
    fail(errc::corrupt_file, path, ": does not begin like a file of torch.save",
         pointer_hint(first));
}

RESHARD_DECL torch_file_archive::torch_file_archive(file_store const& files,
                                                    std::filesystem::path const& path)
    : files_(std::shared_ptr<file_store const>(std::shared_ptr<void>(), &files)),
      file_(files_.open(path)),
      archive_((check_is_archive(*file_, path.string()), *file_), path.string()) {}

/// A persistent id of a storage: ('storage', class, name, device, elements).
struct said_storage {
    std::string_view type;
    std::string name;
    index_t elements = 0;
};

inline said_storage storage_of(pickle const& values, pickle_value id, std::string const& noun) {
    auto const parts = values.elements(id, noun);
    if (parts.size() != 5)
        values.refuse(noun, id, "a storage with a class, a name, a device and a size");
    return {values.global(parts[1], noun), "data/" + std::string(values.text(parts[2], noun)),
            values.integer(parts[4], noun)};
}

/// True for the id of a storage. Other values may be outside the pickle too.
inline bool is_storage(pickle const& values, pickle_value id) {
    if (id.type != pickle_value::kind::tuple || id.count != 5)
        return false;
    pickle_value const first = values.elements(id, {})[0];
    return first.type == pickle_value::kind::text && values.text(first, {}) == "storage";
}

/// The bytes per unit of a storage's size: 1, or the bytes of an element. std::nullopt for unknown
/// classes.
inline std::optional<std::uint64_t> storage_element_bytes(std::string_view type) {
    if (type == "torch.storage.UntypedStorage")
        return 1;
    auto const dtype = storage_data_type(type);
    return dtype ? std::optional(static_cast<std::uint64_t>(bits(*dtype)) / 8) : std::nullopt;
}

/// Compares the storages in the archive with the storages in the pickle.
RESHARD_DECL void torch_archive::check_storages() const {
    std::set<std::string> said;
    for (pickle_value const id : values_->persistent_ids()) {
        if (!is_storage(*values_, id))
            continue;
        said_storage const storage = storage_of(*values_, id, "a storage");
        std::uint64_t const bytes = member(storage.name).size();
        auto const size = storage_element_bytes(storage.type);
        if (said.insert(storage.name).second && size &&
            (storage.elements < 0 || bytes / *size != static_cast<std::uint64_t>(storage.elements)))
            fail(errc::corrupt_file, name_, ": the pickle says that ", storage.name, " has ",
                 counted(storage.elements, "element"), " of ", storage.type, ", but ",
                 bytes / *size, " are present; is the file damaged?");
    }
    for (auto const& [name, bytes] : members_)
        if (name.starts_with("data/") && !said.contains(name))
            fail(errc::corrupt_file, name_, ": no value of the pickle uses the member ", name,
                 ", so a value is lost; is the file damaged?");
}

inline constexpr std::string_view rebuild_of_type = "torch._tensor._rebuild_from_type_v2";
inline constexpr std::string_view rebuild_of_parameter = "torch._utils._rebuild_parameter";

/// True for functions that make tensors of strided elements.
inline bool is_plain_rebuild(std::string_view function) {
    return function == "torch._utils._rebuild_tensor_v2" ||
           function == "torch._utils._rebuild_tensor_v3";
}

RESHARD_DECL torch_archive::call torch_archive::call_in(pickle_value object) const {
    using kind = pickle_value::kind;
    pickle_object const& pickle_object = values_->object(object, {});
    call const outer{values_->global(pickle_object.callable, {}),
                     values_->elements(pickle_object.arguments, {})};
    bool const is_of_type = outer.function == rebuild_of_type && outer.arguments.size() == 4 &&
                            outer.arguments[0].type == kind::global &&
                            outer.arguments[1].type == kind::global &&
                            outer.arguments[2].type == kind::tuple; // function, class, arguments
    return is_of_type ? call{values_->global(outer.arguments[0], {}),
                             values_->elements(outer.arguments[2], {})}
                      : outer;
}

RESHARD_DECL pickle_value torch_archive::without_parameter(pickle_value value) const {
    constexpr int most = 8; // parameters may be nested
    for (int depth = 0; depth < most && value.type == pickle_value::kind::object; ++depth) {
        call const new_call = call_in(value);
        if (!new_call.function.starts_with(rebuild_of_parameter) || new_call.arguments.empty())
            break;
        value = new_call.arguments[0];
    }
    return value;
}

RESHARD_DECL std::optional<torch_archive::call> torch_archive::call_of(pickle_value value) const {
    value = without_parameter(value);
    if (value.type != pickle_value::kind::object)
        return std::nullopt;
    call const new_call = call_in(value);
    bool const is_tensor = !new_call.function.starts_with(rebuild_of_parameter) &&
                           (new_call.function == rebuild_of_type ||
                            new_call.function.starts_with("torch._utils._rebuild"));
    return is_tensor ? std::optional(new_call) : std::nullopt;
}

RESHARD_DECL bool torch_archive::is_tensor(pickle_value value) const {
    return call_of(value).has_value();
}

RESHARD_DECL byte_run torch_archive::member(std::string const& name) const {
    auto const match = members_.find(name);
    if (match == members_.end())
        fail(errc::corrupt_file, name_, ": the archive has no member ", name,
             ", but a tensor is stored in it");
    return match->second;
}

/// Refuses a tensor with elements outside its storage. Extents and strides may be 0.
inline void check_in_storage(index_vector const& shape, index_vector const& strides, index_t first,
                             index_t elements, std::string const& noun) {
    if (element_count_of(shape, [&] { return noun + ": "; }) == 0)
        return;
    index_t last = first;
    bool fits = first >= 0 && first < elements;
    for (std::size_t axis = 0; axis < shape.size() && fits; ++axis) {
        index_t const steps = shape[axis] - 1;
        fits = strides[axis] >= 0 && (steps == 0 || strides[axis] <= (elements - 1 - last) / steps);
        if (fits)
            last += steps * strides[axis];
    }
    if (!fits)
        fail(errc::corrupt_file, noun, ": shape ", shape, " with strides ", strides,
             " from element ", first, " onwards exceeds its storage of ",
             counted(elements, "element"));
}

/// Refuses a tensor that repeats the elements of its storage far too often (strides of 0). Expanded
/// tensors are usually small, and reading one needs memory for its whole shape.
inline void check_repeated(index_vector const& shape, data_type dtype, std::uint64_t storage,
                           std::string const& noun) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    std::uint64_t const bytes = byte_count_of(shape, dtype, [&] { return noun + ": "; });
    if (bytes > std::max(most, storage))
        fail(errc::limit_exceeded, noun, ": ", shape, " of ", dtype, " has ", bytes,
             " bytes, and repeats a storage of ", storage, "; repeated elements may take at most ",
             most, " bytes; save it as t.contiguous()");
}

RESHARD_DECL index_vector torch_extents(pickle const& values, pickle_value value,
                                        std::string const& noun) {
    auto const elements = values.elements(value, noun);
    if (elements.size() > max_ndim)
        fail(errc::limit_exceeded, values.file(), ": ", noun, ": ",
             counted(static_cast<index_t>(elements.size()), "axis"), ", but the maximum is ",
             max_ndim);
    index_vector extents;
    for (pickle_value const pickle_value : elements)
        extents.push_back(values.integer(pickle_value, noun));
    for (index_t const extent : extents)
        if (extent < 0)
            fail(errc::corrupt_file, values.file(), ": ", noun, ": ", extents,
                 " has a negative number");
    return extents;
}

/// Refuses a tensor that is the conjugate or the negative of its storage.
inline void check_plain(pickle const& values, pickle_value metadata, std::string const& noun) {
    if (metadata.type != pickle_value::kind::dict)
        return;
    for (auto const& [flag, text] :
         {std::pair{"conj", "the conjugate of its storage: save t.resolve_conj()"},
          std::pair{"neg", "the negative of its storage: save t.resolve_neg()"}})
        if (auto const set = values.find(metadata, flag, noun); set && values.boolean(*set, noun))
            fail(errc::unsupported, values.file(), ": ", noun, ": is ", text);
}

RESHARD_DECL file_tensor torch_archive::tensor(pickle_value value, std::string const& noun) const {
    pickle const& pickle = *values_;
    auto const [function, arguments] = *call_of(value);
    std::string const named = name_ + ": " + noun;
    if (!is_plain_rebuild(function))
        fail(errc::unsupported, named, ": is a tensor that ", function, " makes",
             arguments.size() > 1 && pickle.unknown_class(arguments[1])
                 ? " of the class " + std::string(*pickle.unknown_class(arguments[1]))
                 : "",
             ", which is not supported");
    bool const is_untyped = function.ends_with("_v3");
    std::size_t const needed = is_untyped ? 7 : 6;
    if (arguments.size() < needed)
        pickle.refuse(noun, value, "a tensor with storage, offset, shape and strides");
    if (arguments.size() > needed)
        check_plain(pickle, arguments[needed], noun);
    said_storage const said =
        storage_of(pickle, pickle.persistent_id(arguments[0], noun + ": the storage"), noun);
    std::string_view const type = is_untyped ? pickle.global(arguments[6], noun) : said.type;
    auto const dtype = is_untyped && type.starts_with("torch.") ? torch_data_type(type.substr(6))
                                                                : storage_data_type(type);
    if (!dtype)
        fail(errc::unsupported, named, ": elements of type ", type, " are not supported");
    byte_run const storage = member(said.name);
    file_tensor result{
        *dtype,
        torch_extents(pickle, arguments[2], noun + ": the shape"),
        {storage.begin, torch_extents(pickle, arguments[3], noun + ": the strides")}};
    if (result.shape.size() != result.elements.strides.size())
        fail(errc::corrupt_file, named, ": ", counted(result.shape.size(), "extent"), ", but ",
             counted(result.elements.strides.size(), "stride"));
    auto const element_bytes = static_cast<std::uint64_t>(bits(*dtype)) / 8;
    index_t const first = pickle.integer(arguments[1], noun + ": the offset");
    check_in_storage(result.shape, result.elements.strides, first,
                     static_cast<index_t>(storage.size() / element_bytes), named);
    check_repeated(result.shape, *dtype, storage.size(), named);
    if (element_count(result.shape) > 0)
        result.elements.begin += static_cast<std::uint64_t>(first) * element_bytes;
    return result;
}

} // namespace reshard::detail

#endif
