// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_STATE_DICT_HPP
#define RESHARD_TENSOR_STATE_DICT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/descriptor.hpp>
#include <reshard/layout/holder.hpp>
#include <reshard/tensor/shard_list.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// The shards that one rank holds, and the tensors that store their elements.

namespace reshard {

struct layout;

/// A shard, and its elements, which may be read and written.
using local_shard = detail::basic_local_shard<tensor_view>;
/// A shard, and its elements, which may only be read.
using const_local_shard = detail::basic_local_shard<const_tensor_view>;

namespace detail {

/// \throws error with errc::shape_mismatch if the shapes of tensor and shard differ
RESHARD_DECL void check_shape(shard_descriptor const& shard, const_tensor_view const& elements);

/// \throws error with errc::usage for a null address, errc::overflow if strides overflow 64 bits
RESHARD_DECL void check_memory(shard_descriptor const& shard, const_tensor_view const& elements);

/// The first shard of a state dict that has elements in the memory of a device.
struct device_use {
    memory_space memory;
    std::string key;
    index_t elements = 0;
};

/// \param others the devices that the call has
/// \throws error with errc::unsupported that says how to reach the device
[[noreturn]] RESHARD_DECL void refuse_device(device_use const& shard,
                                             std::span<memory_space const> others = {});

/// \throws error with errc::memory_overlap if elements that will be written share an address
RESHARD_DECL void check_writable(shard_descriptor const& shard, tensor_view const& elements);

/// A shard and the offset of its first element in a local array, in elements.
struct placed_shard {
    shard_descriptor descriptor;
    index_t offset = 0;
};

/// The position of each shard of a tensor that a rank holds in a local array.
///
/// \throws error as `basic_state_dict::add`
RESHARD_DECL vector<placed_shard> placed_shards(std::string_view key, layout const& layout,
                                                index_t rank, const_tensor_view const& local);

/// Elements that are only read may share addresses.
inline void check_writable(shard_descriptor const&, const_tensor_view const&) {}

/// Throws if a tensor does not match the descriptor.
///
/// \throws error with errc::bad_layout (see `check(shard_descriptor)`), errc::shape_mismatch or
///         errc::dtype_mismatch if descriptor and tensor differ, errc::usage for a null address,
///         errc::memory_overlap if elements of a writable tensor share addresses (see
///         `self_overlap`)
template <class View>
void check_in_any_memory(basic_local_shard<View> const& shard) {
    check(shard.descriptor);
    check_shape(shard.descriptor, shard.tensor);
    if (shard.descriptor.dtype != shard.tensor.dtype)
        fail(errc::dtype_mismatch, "'", shard.descriptor.key, "': a shard of ",
             shard.descriptor.dtype, " does not fit a tensor of ", shard.tensor.dtype);
    check_memory(shard.descriptor, shard.tensor);
    check_writable(shard.descriptor, shard.tensor);
}

/// The same. Refuses memory other than the host's, too.
///
/// \throws error as above, and errc::unsupported for elements on a device
template <class View>
void check(basic_local_shard<View> const& shard) {
    check_in_any_memory(shard);
    if (memory_space const memory = shard.tensor.memory; !memory.is_host())
        refuse_device({memory, shard.descriptor.key, element_count(shard.tensor.shape)});
}

/// The shards that one rank holds, in the order in which they were added.
///
/// A rank may hold several shards of a key, or none. An empty state dict is legal. Keys are those
/// of the descriptors, so the caller's own containers may use any names.
///
/// `add` does not throw for bad input, because an error on one rank must not leave the other ranks
/// waiting. It omits the shard and keeps the first error, also in copies. An exception of the
/// traits that is not an `error` becomes errc::unsupported with its text. Every function that takes
/// a state dict throws the kept error, on all ranks if there is a group. `check` throws it at once.
/// A shard on a device is kept; functions refuse it unless their options have the device.
///
/// Tensors must outlive the state dict, except handles such as `at::Tensor`: the state dict keeps
/// copies of handles.
///
/// \invariant every shard in it passes `check_in_any_memory`, except in the result of
///            `joined_for_plan`
/// \par Source sharded state dicts of PaddlePaddle Flex Checkpoint and Megatron-Core
template <class View>
class basic_state_dict {
public:
    using value_type = basic_local_shard<View>;

    basic_state_dict() = default;

    /// \pre every shard is in host memory and passes `check`, or was joined from such shards
    explicit basic_state_dict(shard_list<View> shards) : shards_(std::move(shards)) {}

    /// The same shards, for reading.
    template <class Other>
        requires(!std::same_as<Other, View> && std::convertible_to<Other, View>)
    basic_state_dict(basic_state_dict<Other> const& tensors)
        : shards_(tensors.shards()),
          handles_(tensors.handles()),
          devices_(tensors.devices()),
          first_error_(tensors.first_error()) {}

    /// Adds a shard with the elements of a view. Their memory must outlive this state dict. If
    /// `check` refuses the shard, the state dict keeps the error.
    void add(shard_descriptor descriptor, View const& tensor) {
        keep_error([&] {
            shards_.add(std::move(descriptor), tensor, [&](value_type const& added) {
                check_in_any_memory(added);
                note_device(added);
            });
        });
    }

    /// Adds a shard with the elements of `t`, which must outlive this state dict. If `t` is a
    /// handle, even a temporary one, the state dict keeps a copy.
    template <class T>
        requires(!std::convertible_to<T, View>)
    void add(shard_descriptor descriptor, T&& t) {
        if constexpr (addable<T, View>)
            keep_error([&] {
                View const value = keep(descriptor.key, std::forward<T>(t));
                add(std::move(descriptor), value);
            });
        else
            refuse_to_add<T, View>();
    }

    /// Adds the shard that `describe()` returns. Also keeps an error that `describe` throws.
    template <class Describe, class T>
        requires std::is_invocable_r_v<shard_descriptor, Describe&>
    void add(Describe&& describe, T&& t) {
        keep_error([&] { add(shard_descriptor(describe()), std::forward<T>(t)); });
    }

    /// \param reachable the memory of devices whose shards are accepted
    /// \throws error the first error that `add` kept; errc::unsupported for a shard on another
    ///         device
    void check(std::span<memory_space const> reachable = {}) const {
        if (first_error_)
            throw error(*first_error_);
        for (device_use const& shard : devices_)
            if (std::find(reachable.begin(), reachable.end(), shard.memory) == reachable.end())
                refuse_device(shard, reachable);
    }

    /// The error that `add` kept, if any.
    std::optional<error> const& first_error() const { return first_error_; }

    /// The first shard with elements on each device.
    vector<device_use> const& devices() const { return devices_; }

    /// Adds all elements of a tensor that a rank holds according to a layout. `local` is the rank's
    /// array: the box that the placements assign to it, or its cyclic blocks next to each other.
    ///
    /// If a rank has several shards, they fill the array one after the other along one axis.
    ///
    /// Keeps these errors: errc::unknown_key if the layout lacks the tensor, errc::shape_mismatch
    /// with key, axis and both extents if the array has another shape, and the errors of `check`.
    /// After an error, it adds no shard.
    void add(std::string_view key, layout const& layout, index_t rank, View const& local) {
        keep_error([&] {
            vector<value_type> added;
            for (placed_shard& shard : placed_shards(key, layout, rank, local)) {
                View part = local;
                using byte =
                    std::conditional_t<std::same_as<View, tensor_view>, std::byte, std::byte const>;
                part.shape = local_shape(shard.descriptor);
                if (local.data != nullptr)
                    part.data = static_cast<byte*>(local.data) +
                                byte_place_of(shard.offset, local.dtype).bytes;
                added.push_back({std::move(shard.descriptor), part});
                check_in_any_memory(added.back());
            }
            for (value_type& shard : added)
                shards_.add(std::move(shard.descriptor), shard.tensor,
                            [&](value_type const& checked) { note_device(checked); });
        });
    }

    /// The same for a tensor `t`, which must outlive this state dict or be a handle.
    template <class T>
        requires(!std::convertible_to<T, View>)
    void add(std::string_view key, layout const& layout, index_t rank, T&& t) {
        if constexpr (addable<T, View>)
            keep_error([&] { add(key, layout, rank, keep(key, std::forward<T>(t))); });
        else
            refuse_to_add<T, View>();
    }

    /// Keeps copies of the handles of `tensors`.
    template <class Other>
    void keep_handles(basic_state_dict<Other> const& tensors) {
        handles_.insert(handles_.end(), tensors.handles().begin(), tensors.handles().end());
    }

    /// The copies of handles, which keep the elements alive.
    vector<std::shared_ptr<void const>> const& handles() const { return handles_; }

    std::size_t size() const { return shards_.size(); }
    bool empty() const { return size() == 0; }
    auto begin() const { return shards_.listed().begin(); }
    auto end() const { return shards_.listed().end(); }
    value_type const& operator[](std::size_t i) const { return shards_.listed()[i]; }

    /// The same shards. Blocks of one array take the memory of one shard, and so do equal tiles at
    /// equal distances.
    shard_list<View> const& shards() const { return shards_; }

    /// The same elements in fewer shards: neighbours in the tensor and in memory are one shard.
    /// Without handles and errors.
    basic_state_dict joined() const {
        basic_state_dict shards(shards_.joined());
        shards.devices_ = devices_;
        return shards;
    }

    /// The descriptors of the shards, in order.
    vector<shard_descriptor> descriptors() const {
        vector<shard_descriptor> result;
        result.reserve(size());
        shards_.for_each([&](value_type const& shard) { result.push_back(shard.descriptor); });
        return result;
    }

    /// Compares the shards, but not errors and handles.
    bool operator==(basic_state_dict const& tensors) const { return shards_ == tensors.shards_; }

private:
    void note_device(value_type const& shard) {
        memory_space const memory = shard.tensor.memory;
        if (!memory.is_host() && element_count(shard.tensor.shape) > 0 &&
            std::none_of(devices_.begin(), devices_.end(),
                         [&](device_use const& use) { return use.memory == memory; }))
            devices_.push_back({memory, shard.descriptor.key, element_count(shard.tensor.shape)});
    }

    void keep_error(auto&& work) {
        try {
            work();
        } catch (error const& problem) {
            if (!first_error_)
                first_error_ = problem;
        } catch (std::exception const& problem) {
            if (!first_error_)
                first_error_ = error(errc::unsupported, problem.what());
        }
    }

    /// Views a tensor. If the tensor is a handle, keeps a copy. Errors of its traits name the key.
    template <class T>
    View keep(std::string_view key, T&& t) try {
        using given = std::remove_reference_t<T>;
        if constexpr (tensor_handle<std::remove_cv_t<given>>) {
            auto const kept = std::make_shared<given>(std::forward<T>(t));
            View const value = see(*kept);
            handles_.push_back(kept);
            return value;
        } else
            return see(t);
    } catch (error const& problem) {
        throw error(problem.code(), words("'", key, "': ", problem.what()));
    } catch (std::exception const& problem) {
        throw error(errc::unsupported, words("'", key, "': ", problem.what()));
    }

    /// Views a tensor as const if it is only read: a tensor may be read-only although its type is
    /// not const.
    template <class T>
    static View see(T& t) {
        if constexpr (std::same_as<View, const_tensor_view>)
            return reshard::view(std::as_const(t));
        else
            return reshard::view(t);
    }

    shard_list<View> shards_;
    vector<std::shared_ptr<void const>> handles_;
    vector<device_use> devices_;
    std::optional<error> first_error_;
};

} // namespace detail

/// The target shards of a rank, or its source shards. Elements may be written.
using state_dict = detail::basic_state_dict<tensor_view>;
/// The source shards of a rank. Elements are only read. A `state_dict` converts to it.
using const_state_dict = detail::basic_state_dict<const_tensor_view>;

/// One line per shard: its descriptor, then its shape and strides in memory. Prints no elements.
template <class View>
std::string to_string(detail::basic_state_dict<View> const& shards) {
    std::string text;
    for (auto const& [descriptor, tensor] : shards)
        text += to_string(descriptor) + " in " + to_string(const_tensor_view(tensor)) + "\n";
    return text;
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/state_dict.ipp>
#endif

#endif
