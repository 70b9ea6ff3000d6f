// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_PADDLE_IMPL_PADDLE_SAVED_IPP
#define RESHARD_FORMAT_PADDLE_IMPL_PADDLE_SAVED_IPP

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
#include <vector>

namespace reshard::detail {

/// What files of `paddle.save` may name: arrays of NumPy, and containers.
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

/// An array that Paddle cut into flat ones, and these, which are of no other one.
struct cut_array {
    std::string key;
    index_vector shape;
    std::vector<file_tensor> parts;
};

/// Arrays of more than a GiB in files of protocol 2 and 3, each of which is several values of the
/// dict that the file is.
class cut_arrays {
public:
    cut_arrays(pickle const& values, pickled_arrays const& arrays)
        : values_(values), arrays_(arrays) {
        pickle_value const root = values.root();
        if (root.what != pickle_value::kind::dict)
            return;
        auto const list = values.find(root, name, "the file");
        if (!list)
            return;
        pickle_pairs const each = values.pairs(*list, name);
        for (std::size_t i = 0; i < each.size(); ++i)
            add(std::string(values.text(each[i].key, name)), each[i].value);
    }

    std::vector<cut_array> const& all() const { return all_; }

    /// True for a value that is part of another one, or says so.
    bool contain(std::string const& key) const {
        return key.starts_with(name) || parts_.contains(key);
    }

private:
    static constexpr std::string_view name = "UnpackBigParamInfor@@";

    void add(std::string key, pickle_value of) {
        std::string const what = "tensor '" + key + "'";
        cut_array& added = all_.emplace_back();
        added.shape = torch_extents(values_, values_.at(of, "OriginShape", what), what);
        for (pickle_value const slice : values_.elements(values_.at(of, "slices", what), what)) {
            std::string const part(values_.text(slice, what));
            pickle_value const array = values_.at(values_.root(), part, what);
            if (!arrays_.is_array(array))
                values_.refuse(what + ": '" + part + "'", array, "an array");
            if (!parts_.insert(part).second)
                fail(errc::corrupt_file, values_.file(), ": ", what, ": its part '", part,
                     "' is a part that was there before");
            added.parts.push_back(arrays_.array(array, "'" + part + "'"));
        }
        added.key = std::move(key);
        check(added, values_.file() + ": " + what + ": ");
    }

    static void check(cut_array const& array, std::string const& what) {
        index_t const needed = element_count_of(array.shape, [&] { return what; });
        index_t left = needed;
        for (file_tensor const& part : array.parts) {
            if (part.shape.size() != 1 || part.dtype != array.parts.front().dtype ||
                part.shape[0] > left)
                fail(errc::corrupt_file, what, "one of its parts is ", part.dtype, " ", part.shape,
                     ", and the first ", array.parts.front().dtype, ", of ", needed,
                     " elements in all");
            left -= part.shape[0];
        }
        if (left > 0 || array.parts.empty())
            fail(errc::corrupt_file, what, "its ", counted(array.parts.size(), "part"), " have ",
                 needed - left, " elements, and ", array.shape, " has ", needed);
    }

    pickle const& values_;
    pickled_arrays const& arrays_;
    std::vector<cut_array> all_;
    std::set<std::string> parts_;
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
    whole_tensors all(std::move(files), "paddle_params", path);
    all.begin_file(path);
    std::map<std::uint64_t, std::string> firsts; // by the identity of their arrays
    auto const is_array = [&](pickle_value value) { return arrays.is_array(value); };
    for (named_value const& one : named_values(values, *file, is_array)) {
        // Names of Paddle's own, or parts of what is added below.
        if (one.key.starts_with("StructuredToParameterName@@") || cut.contain(one.key))
            continue;
        std::string const key = one.key.empty() ? path.stem().string() : one.key;
        if (!is_array(one.value)) {
            all.add_object(key);
            continue;
        }
        auto const [known, is_new] = firsts.try_emplace(arrays.identity(one.value), key);
        if (is_new)
            all.add(key, arrays.array(one.value, "tensor '" + key + "'"));
        else
            all.add_alias(key, known->second);
    }
    for (cut_array const& one : cut.all())
        all.add(one.key, one.shape, one.parts);
    return all.take();
}

} // namespace reshard::detail

#endif
