// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_PADDLE_SAVED_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_PADDLE_SAVED_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/paddle/paddle.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/numpy/pickled_arrays.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/pickle/encoded_bytes.hpp>
#include <reshard/format/pickle/named_values.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// The classes and functions that files of `paddle.save` may use: NumPy arrays, and containers.
inline constexpr std::string_view paddle_saved_names[] = {
    "numpy._core.multiarray._reconstruct",
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.core.multiarray.scalar",
    "numpy._core.numeric._frombuffer",
    "numpy.core.numeric._frombuffer",
    "numpy.ndarray",
    "numpy.dtype",
    "_codecs.encode",
    "__builtin__.bytes",
    "builtins.tuple",
    "__builtin__.tuple",
    "collections.OrderedDict",
};

/// An array that Paddle cut into flat slices, and these slices. No other array has them.
struct cut_array {
    std::string key;
    index_vector shape;
    vector<file_tensor> slices;
};

/// Arrays of more than a GiB in files of protocol 2 and 3. The file is a dict, in which each such
/// array is stored as several values.
class cut_arrays {
public:
    cut_arrays(pickle const& values, pickled_arrays const& pickled)
        : values_(values), pickled_(pickled) {
        pickle_value const root = values.root();
        if (root.type != pickle_value::kind::dict)
            return;
        auto const list = values.find(root, name, "the file");
        if (!list)
            return;
        pickle_pairs const described = values.pairs(*list, name);
        for (std::size_t i = 0; i < described.size(); ++i)
            add(std::string(values.text(described[i].key, name)), described[i].value);
    }

    vector<cut_array> const& arrays() const { return arrays_; }

    /// True for the key of a slice, and for Paddle's list of slices.
    bool contain(std::string const& key) const {
        return key.starts_with(name) || slices_.contains(key);
    }

private:
    static constexpr std::string_view name = "UnpackBigParamInfor@@";

    void add(std::string key, pickle_value of) {
        std::string const noun = "tensor '" + key + "'";
        cut_array& array = arrays_.emplace_back();
        array.shape = torch_extents(values_, values_.at(of, "OriginShape", noun), noun);
        for (pickle_value const slice : values_.elements(values_.at(of, "slices", noun), noun))
            array.slices.push_back(add_slice(std::string(values_.text(slice, noun)), noun));
        array.key = std::move(key);
        check(array, values_.file() + ": " + noun + ": ");
    }

    /// \param noun names the array in messages
    file_tensor add_slice(std::string const& key, std::string const& noun) {
        pickle_value const slice = values_.at(values_.root(), key, noun);
        if (!pickled_.is_array(slice))
            values_.refuse(noun + ": '" + key + "'", slice, "an array");
        if (!slices_.insert(key).second)
            fail(errc::corrupt_file, values_.file(), ": ", noun, ": its slice '", key,
                 "' occurs twice");
        return pickled_.array(slice, "'" + key + "'");
    }

    static void check(cut_array const& array, std::string const& noun) {
        index_t const needed = element_count_of(array.shape, [&] { return noun; });
        index_t left = needed;
        for (file_tensor const& slice : array.slices) {
            if (slice.shape.size() != 1 || slice.dtype != array.slices.front().dtype ||
                slice.shape[0] > left)
                fail(errc::corrupt_file, noun, "one of its slices is ", slice.dtype, " ",
                     slice.shape, ", but the first is ", array.slices.front().dtype,
                     ", and all should have ", needed, " elements in total");
            left -= slice.shape[0];
        }
        if (left > 0 || array.slices.empty())
            fail(errc::corrupt_file, noun, "its ", counted(array.slices.size(), "slice"), " have ",
                 needed - left, " elements, but shape ", array.shape, " has ", needed);
    }

    pickle const& values_;
    pickled_arrays const& pickled_;
    vector<cut_array> arrays_;
    std::set<std::string> slices_;
};

RESHARD_DECL opened_checkpoint open_paddle_file(std::shared_ptr<file_store const> files,
                                                std::filesystem::path const& path) {
    auto const file = files->open(path);
    pickle const values(*file, path.string(), {0, file->facts().bytes}, paddle_saved_names);
    std::shared_ptr<files_with_encoded_bytes> encoded;
    if (values.protocol() == 2)
        encoded = std::make_shared<files_with_encoded_bytes>(files, path);
    pickled_arrays const arrays(values, encoded.get());
    if (encoded)
        files = encoded;
    cut_arrays const cut(values, arrays);
    whole_tensors tensors(std::move(files), "paddle_params", path);
    tensors.begin_file(path);
    std::map<std::uint64_t, std::string> firsts; // keys by the identity of their arrays
    auto const is_array = [&](pickle_value value) { return arrays.is_array(value); };
    opaque_search opaque(values);
    for (named_value const& named : named_values(values, *file, is_array)) {
        // Skips Paddle's own entries, and the slices of tensors that are added below.
        if (named.key.starts_with("StructuredToParameterName@@") || cut.contain(named.key))
            continue;
        std::string const key = named.key.empty() ? path.stem().string() : named.key;
        if (!is_array(named.value)) {
            std::string reason = opaque.reason(named.value);
            reason.empty() ? tensors.add_object(key) : tensors.add_opaque(key, std::move(reason));
            continue;
        }
        std::string const noun = "tensor '" + key + "'";
        auto const array =
            tensors.readable(key, noun, [&] { return arrays.array(named.value, noun); });
        if (!array)
            continue;
        auto const [match, is_new] = firsts.try_emplace(arrays.identity(named.value), key);
        if (is_new)
            tensors.add(key, *array);
        else
            tensors.add_alias(key, match->second);
    }
    for (cut_array const& array : cut.arrays())
        tensors.add(array.key, array.shape, array.slices);
    return tensors.take();
}

} // namespace reshard::detail

#endif
