// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_WRITTEN_FORMATS_IPP
#define RESHARD_FORMAT_IMPL_WRITTEN_FORMATS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/written_formats.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/dcp/dcp.hpp>
#include <reshard/format/gguf/gguf.hpp>
#include <reshard/format/numpy/npy.hpp>
#include <reshard/format/paddle/paddle.hpp>
#include <reshard/format/paddle/unified.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <string>
#include <string_view>

namespace reshard::detail {

inline constexpr written_format written_formats[] = {
    {"gguf", ".gguf", false, false, plan_gguf},
    {"huggingface", "", false, false, nullptr, true},
    {"megatron_torch_dist", "", true, true, plan_torch_dist},
    {"npy", ".npy", false, false, plan_npy},
    {"npz", ".npz", false, false, plan_npz},
    {"paddle_flex", "", false, false, plan_paddle_flex},
    {"safetensors", ".safetensors", false, false, nullptr},
    {"sharded_safetensors", "", false, false, nullptr},
    {"torch_dcp", "", true, true, plan_dcp},
    {"torch_save", ".pt", true, false, plan_torch_file, false, {".pth", ".bin", ".ckpt"}},
    {unified_format, "", false, false, plan_unified, true},
};

RESHARD_DECL written_format const& written_format_of(std::string_view name) {
    std::string text;
    for (written_format const& format : written_formats) {
        if (format.name == name)
            return format;
        text += (text.empty() ? "" : ", ") + std::string(format.name);
    }
    fail(errc::usage, "cannot write format '", name, "'; choose one of ", text);
}

RESHARD_DECL bool is_other_format(std::string_view name) {
    return !name.empty() && written_format_of(name).plan;
}

RESHARD_DECL written_format const* format_of_file(std::string_view path) {
    for (written_format const& format : written_formats)
        if (format.is_file() && path.ends_with(format.ending))
            return &format;
    return nullptr;
}

RESHARD_DECL vector<std::string> names_of_written_formats() {
    vector<std::string> names;
    for (written_format const& format : written_formats)
        names.emplace_back(format.name);
    return names;
}

} // namespace reshard::detail

#endif
