// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_PACKED_TENSORS_IPP
#define RESHARD_FORMAT_IMPL_PACKED_TENSORS_IPP

#include <reshard/core/error.hpp>
#include <reshard/format/impl/packed_values.ipp>
#include <reshard/format/impl/quantisation.ipp>
#include <reshard/format/opened_checkpoint.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Replaces packed tensors of a checkpoint by their values in f32, and removes what belongs to
/// them.
///
/// Each has the key of the packed numbers. Values of AWQ and GPTQ are `[in, out]`, as their numbers
/// are. Packed tensors of other schemes stay as they are.
///
/// \par Source AutoAWQ 0.2.9 (`dequantize_gemm`), gptqmodel 7.7 (`_shift_gptq_qzeros`),
///             compressed-tensors 0.20 (`unpack_from_int32`, `nvfp4`, `mxfp4`), bitsandbytes 0.50
///             (`QuantState`), gpt-oss in transformers 5.24. Products are computed in f32, where
///             compressed-tensors and AutoAWQ compute in the type of the scales: the results are
///             equal if they are rounded to that type
class packed_model {
public:
    explicit packed_model(opened_checkpoint& opened)
        : opened_(opened), files_(*opened.files), config_(read_config()) {}

    void show_values() {
        auto decoded = std::make_shared<decoded_files>(opened_.files);
        checkpoint_metadata& metadata = opened_.metadata;
        vector<std::pair<std::size_t, values_of>> all;
        for (std::size_t i = 0; i < metadata.tensors.size(); ++i)
            try {
                if (auto values = values_in(metadata.tensors[i]))
                    all.emplace_back(i, std::move(*values));
            } catch (error const& problem) {
                if (problem.code() != errc::unsupported)
                    throw;
                set_unread(metadata.tensors[i], problem.what());
            }
        if (all.empty())
            return;
        for (auto& [i, values] : all) {
            checkpoint_tensor& tensor = metadata.tensors[i];
            checkpoint_shard& shard = tensor.shards.front();
            checkpoint_file& file = metadata.files[shard.file];
            byte_run const bytes =
                decoded->add(file.path, element_count(values.shape), std::move(values.tensor));
            file.bytes = decoded->bytes_of(file.path);
            shard = {shard.file, box(whole(values.shape)), {}, bytes.begin, bytes.end};
            tensor.dtype = data_type::f32;
            tensor.shape = values.shape;
            metadata.quantised.decoded.push_back({tensor.key, values.scheme});
        }
        erase_if(metadata.tensors,
                 [&](checkpoint_tensor const& tensor) { return used_.contains(tensor.key); });
        erase_if(metadata.aliases, [&](auto const& alias) { return used_.contains(alias.first); });
        opened_.files = std::move(decoded);
    }

private:
    /// Lists a tensor as one that cannot be read, and drops nothing else.
    static void set_unread(checkpoint_tensor& tensor, std::string_view why) {
        tensor.shards.clear();
        tensor.dtype = data_type::u8;
        tensor.unread = why;
    }

    struct values_of {
        std::string scheme;
        index_vector shape;
        std::shared_ptr<decoded_tensor const> tensor;
    };

    /// The description of the quantisation beside the checkpoint; null if there is none.
    boost::json::value read_config() const {
        std::filesystem::path const around =
            directory_around(*opened_.files, opened_.metadata.path);
        boost::json::value const config = document_beside(*opened_.files, around / "config.json");
        if (auto const* const own = member_in(config, "quantization_config"))
            return *own;
        if (auto const* const text = member_in(config, "text_config"))
            if (auto const* const nested = member_in(*text, "quantization_config"))
                return *nested;
        return document_beside(*opened_.files, around / "quantize_config.json");
    }

    /// A text of the description, in lower case; empty if it has none.
    std::string config_text(std::string_view name) const {
        auto const* const value = member_in(config_, name);
        std::string text;
        if (value && value->is_string())
            text = std::string_view(value->get_string());
        else if (value && !value->is_null())
            text = boost::json::serialize(*value);
        std::ranges::transform(text, text.begin(), to_lower);
        return text;
    }

    /// A number of the description, in it or in objects within it; 0 if it has none.
    index_t config_number(std::string_view name) const { return number_within(config_, name); }

    static index_t number_within(boost::json::value const& value, std::string_view name) {
        index_t number = 0;
        if (auto const* const object = value.if_object())
            for (auto const& [key, member] : *object)
                if (number == 0)
                    number = key == name && member.is_int64() ? member.get_int64()
                                                              : number_within(member, name);
        return number;
    }

    bool is_reordered() const {
        auto const* const value = member_in(config_, "desc_act");
        return value && value->is_bool() && value->get_bool();
    }

    /// Says why the values of a tensor cannot be computed.
    [[noreturn]] static void refuse(auto const&... problem) {
        fail(errc::unsupported, "it cannot be dequantized: ", problem...);
    }

    /// A tensor that is stored as one row-major array; nullopt if there is none with that key.
    std::optional<stored_array> find(std::string_view key) const {
        auto const& tensors = opened_.metadata.tensors;
        auto const match = std::ranges::lower_bound(tensors, key, {}, &checkpoint_tensor::key);
        if (match == tensors.end() || match->key != key || !match->is_read())
            return std::nullopt;
        return array_of(*match);
    }

    std::optional<stored_array> array_of(checkpoint_tensor const& tensor) const {
        constexpr index_t most = index_t{1} << 40; // so that no product of two extents overflows
        if (tensor.shards.size() != 1 ||
            std::ranges::any_of(tensor.shape, [](index_t i) { return i > most; }))
            return std::nullopt;
        checkpoint_shard const& shard = tensor.shards.front();
        if (shard.flat || !shard.cycles.empty() || shard.region.shape != tensor.shape)
            return std::nullopt;
        return stored_array{tensor.key, tensor.dtype, tensor.shape,
                            opened_.metadata.files[shard.file].path, shard.begin};
    }

    /// The same, for a tensor that is not needed once the values are computed.
    std::optional<stored_array> use(std::string const& key) {
        auto array = find(key);
        if (array)
            used_.insert(key);
        return array;
    }

    std::optional<values_of> values_in(checkpoint_tensor const& tensor) {
        std::string const& key = tensor.key;
        auto const array = tensor.is_read() ? array_of(tensor) : std::nullopt;
        if (!array || array->shape.empty())
            return std::nullopt;
        if (bits(array->dtype) >= 8 && find(key + ".absmax") && find(key + ".quant_map"))
            return code_of(*array);
        auto const base = [&](std::string_view ending) {
            return key.substr(0, key.size() - ending.size());
        };
        if (key.ends_with(".qweight") && find(base("qweight") + "scales"))
            return rows_of(*array, base("qweight"));
        if (array->dtype == data_type::i32 && key.ends_with("_packed"))
            return integers_of(*array, base("_packed"));
        if (array->dtype == data_type::u8 && key.ends_with("_packed"))
            return floats_of(*array, find(base("_packed") + "_scale"),
                             find(base("_packed") + "_global_scale"), true, base("_packed"));
        if (array->dtype == data_type::u8 && key.ends_with("_blocks"))
            return floats_of(*array, find(base("_blocks") + "_scales"), {}, false, base("_blocks"));
        if (array->dtype == data_type::u8 && find(key + "_scale_2"))
            return floats_of(*array, find(key + "_scale"), find(key + "_scale_2"), false, key);
        if (array->dtype == data_type::i8 && key.ends_with(".weight"))
            return bytes_of(*array, base("weight"));
        return std::nullopt;
    }

    static bool is_matrix(std::optional<stored_array> const& array, data_type dtype) {
        return array && array->dtype == dtype && array->shape.size() == 2;
    }

    /// AWQ and GPTQ.
    std::optional<values_of> rows_of(stored_array const& words, std::string const& base) {
        auto const zeros = find(base + "qzeros"), scales = find(base + "scales");
        if (words.dtype != data_type::i32 || words.shape.size() != 2 ||
            !is_matrix(zeros, data_type::i32) || scales->shape.size() != 2 ||
            !is_scale(scales->dtype))
            refuse("AWQ and GPTQ have matrices of int32 in it and in '", base,
                   "qzeros', and one of floating-point numbers in '", scales->key, "'");
        index_t const columns = scales->shape[1], number_of_groups = scales->shape[0];
        auto rows = std::make_shared<packed_rows>();
        rows->is_awq = words.shape[1] * 8 == columns;
        if (!rows->is_awq && words.shape[1] != columns)
            return std::nullopt;
        std::string const method = config_text("quant_method");
        std::string const expected = rows->is_awq ? "awq" : "gptq";
        if (!config_.is_object())
            refuse("neither quantization_config in a config.json beside the source nor a "
                   "quantize_config.json says in which form ",
                   expected, " stores it");
        if (!method.empty() && method != expected)
            refuse("its shape ", words.shape, " beside scales ", scales->shape, " is that of ",
                   expected, ", but the quant_method beside the source is '", method, "'");
        std::string const version = config_text("version"),
                          stored = config_text("checkpoint_format");
        if (rows->is_awq && !version.empty() && version != "gemm")
            refuse("AWQ of version '", version, "' is not supported; supported is gemm");
        if (!rows->is_awq && !stored.empty() && stored != "gptq" && stored != "gemm" &&
            stored != "gptq_v2")
            refuse("the checkpoint_format '", stored,
                   "' is not supported; supported are gptq, gptq_v2");
        index_t const bits = columns > 0 ? zeros->shape[1] * 32 / columns : 4;
        bool const is_whole =
            (bits == 2 || bits == 4 || bits == 8) && zeros->shape[1] * 32 == columns * bits;
        if (!is_whole || zeros->shape[0] != number_of_groups)
            refuse("'", zeros->key, "' has the shape ", zeros->shape, " beside scales ",
                   scales->shape, ", which is not a zero point of 4 bits for each scale",
                   rows->is_awq ? "" : ", nor one of 2 or 8 bits");
        index_t const in = rows->is_awq ? words.shape[0] : words.shape[0] * (32 / bits);
        auto const groups = find(base + "g_idx");
        if (groups && !rows->is_awq) {
            if (groups->dtype != data_type::i32 || groups->shape != index_vector{in})
                refuse("'", groups->key, "' is ", groups->dtype, " ", groups->shape,
                       ", not int32 [", in, "]");
            rows->groups = groups;
        }
        rows->words = words;
        rows->zeros = *zeros;
        rows->scales = *scales;
        rows->bits = static_cast<int>(bits);
        rows->columns = columns;
        if (!rows->groups && is_reordered())
            refuse("desc_act is true beside the source, but '", base, "g_idx' is missing");
        index_t const said = config_number("group_size");
        index_t const in_group = said > 0 ? said : number_of_groups > 0 ? in / number_of_groups : 0;
        rows->group_rows = std::max(in_group, index_t{1});
        index_t const expected_groups =
            in / rows->group_rows + (in % rows->group_rows != 0 ? 1 : 0);
        if (!rows->groups && expected_groups != number_of_groups)
            refuse("'", scales->key, "' has ", number_of_groups, " groups, but ", in,
                   " input channels in groups of ", in_group,
                   " are another number; correct group_size beside the source");
        bool const is_less_one = !rows->is_awq && stored != "gptq_v2";
        rows->added = is_less_one;
        used_.insert({zeros->key, scales->key});
        if (rows->groups)
            used_.insert(rows->groups->key);
        return values_of{rows->is_awq ? "AWQ" : "GPTQ", {in, columns}, std::move(rows)};
    }

    /// One floating-point number.
    std::optional<float> number_in(std::optional<stored_array> const& array) const {
        if (!array || element_count(array->shape) != 1 || !is_scale(array->dtype))
            return std::nullopt;
        return array->floats(files_, 0, 1)[0];
    }

    /// Compares a shape with one whose last extent is divided by some number, the block.
    static std::optional<index_t> block_between(index_vector const& shape,
                                                index_vector const& scales) {
        index_t const total = element_count(shape);
        if (element_count(scales) == 1)
            return std::max(total, index_t{1});
        if (shape.size() != scales.size())
            return std::nullopt;
        for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis)
            if (shape[axis] != scales[axis])
                return std::nullopt;
        std::size_t const last = shape.size() - 1;
        if (scales[last] == 0 || shape[last] % scales[last] != 0)
            return std::nullopt;
        return std::max(shape[last] / scales[last], index_t{1});
    }

    static numbers_of_blocks blocks_in(stored_array const& array) {
        return [array](open_files_of const& files, index_t first, index_t end) {
            return array.floats(files, first, end - first);
        };
    }

    /// Floats of 4 bits in pairs: MXFP4 and NVFP4.
    std::optional<values_of> floats_of(stored_array const& pairs,
                                       std::optional<stored_array> const& scales,
                                       std::optional<stored_array> const& second, bool divides,
                                       std::string const& base) {
        if (!scales)
            return std::nullopt;
        bool const is_power = scales->dtype == data_type::u8 || scales->dtype == data_type::f8_e8m0;
        if (!is_power && scales->dtype != data_type::f8_e4m3)
            return std::nullopt;
        // gpt-oss has an axis of blocks, with one scale each.
        bool const has_blocks = pairs.key.ends_with("_blocks");
        std::size_t const last = pairs.shape.size() - 1;
        if (has_blocks && last == 0)
            return std::nullopt;
        index_vector shape;
        for (std::size_t axis = 0; axis < last + (has_blocks ? 0 : 1); ++axis)
            shape.push_back(pairs.shape[axis]);
        shape[shape.size() - 1] *= has_blocks ? 2 * pairs.shape[last] : 2;
        index_t const block = is_power ? 32 : 16;
        if (block_between(shape, scales->shape) != block)
            refuse("it has ", shape, " values, and '", scales->key, "' the shape ", scales->shape,
                   ", which is not one scale for each ", block, " values of a row");
        if (!is_power != second.has_value())
            refuse(second ? words("it is MXFP4, which has no '", second->key, "'")
                          : words("it is NVFP4, but '", base,
                                  divides ? "_global_scale" : "_scale_2", "' is missing"));
        if (second && !number_in(second))
            refuse("'", second->key, "' has the shape ", second->shape,
                   ", but one number is expected");
        auto runs = std::make_shared<packed_runs>();
        runs->numbers = pairs;
        runs->table = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
        runs->block = block;
        runs->scales = blocks_in(*scales);
        if (second)
            runs->scales = [first = runs->scales, number = *number_in(second),
                            divides](open_files_of const& files, index_t begin, index_t end) {
                auto values = first(files, begin, end);
                for (float& value : values)
                    value = divides ? value / number : value * number;
                return values;
            };
        used_.insert(scales->key);
        if (second)
            used_.insert(second->key);
        use_no_values(base);
        return values_of{is_power ? "MXFP4" : "NVFP4", shape, std::move(runs)};
    }

    /// Tensors that have no meaning beside the values.
    void use_no_values(std::string const& base) {
        use(base + "_shape");
        std::string const layer = base.substr(0, base.rfind('.') + 1);
        for (std::string_view const name : {"input_scale", "output_scale", "input_global_scale"})
            use(layer + std::string(name));
    }

    /// Integers of 4 or 8 bits in words, as compressed-tensors packs them.
    std::optional<values_of> integers_of(stored_array const& words, std::string const& base) {
        auto const scales = find(base + "_scale"), said = find(base + "_shape");
        if (!scales)
            return std::nullopt;
        bool const is_narrow = said && said->dtype == data_type::i32;
        if (!said || (!is_narrow && said->dtype != data_type::i64) || said->shape.size() != 1 ||
            said->shape[0] != static_cast<index_t>(words.shape.size()) || !is_scale(scales->dtype))
            refuse("it needs '", base, "_shape' with its ", words.shape.size(),
                   " extents, and floating-point numbers in '", scales->key, "'");
        index_vector shape;
        if (is_narrow)
            for (std::int32_t const extent : said->numbers<std::int32_t>(files_, 0, said->shape[0]))
                shape.push_back(extent);
        else
            for (std::int64_t const extent : said->numbers<std::int64_t>(files_, 0, said->shape[0]))
                shape.push_back(extent);
        if (std::ranges::any_of(shape, [](index_t i) { return i < 0 || i > (index_t{1} << 40); }))
            refuse("'", said->key, "' says ", shape);
        std::size_t const last = shape.size() - 1;
        index_t const bits = shape[last] > 0 ? words.shape[last] * 32 / shape[last] : 4;
        index_vector expected = shape;
        expected[last] = shape[last] * bits / 32;
        if ((bits != 4 && bits != 8) || shape[last] * bits % 32 != 0 || expected != words.shape)
            refuse("its words have the shape ", words.shape, ", and '", said->key, "' says ", shape,
                   ", which are not rows of numbers of 4 or 8 bits that fill their words of 32");
        auto const block = block_between(shape, scales->shape);
        if (!block)
            refuse("it has ", shape, " values, and '", scales->key, "' the shape ", scales->shape,
                   ", which is not one scale for each block of a row");
        if (index_t const group = config_number("group_size");
            group > 0 && scales->shape != index_vector{shape[0], 1} && group != *block)
            refuse("'", scales->key, "' has the shape ", scales->shape, ", but rows of ",
                   shape[last], " values in groups of ", group, " have another number of scales");
        if (auto const groups = find(base + "_g_idx"))
            check_in_order(*groups, *block);
        auto runs = std::make_shared<packed_runs>();
        runs->numbers = words;
        int const least = bits == 4 ? -8 : -128;
        for (int i = 0; i < 1 << bits; ++i)
            runs->table.push_back(static_cast<float>(i + least));
        runs->block = *block;
        runs->scales = blocks_in(*scales);
        if (auto const zeros = find(base + "_zero_point"))
            runs->zeros = zeros_in(*zeros, scales->shape, static_cast<int>(bits));
        for (std::string_view const name : {"_scale", "_shape", "_g_idx", "_zero_point"})
            use(base + std::string(name));
        use_no_values(base);
        return values_of{bits == 4 ? "INT4" : "INT8", shape, std::move(runs)};
    }

    /// Refuses input channels that are not in the order of their groups.
    void check_in_order(stored_array const& groups, index_t block) const {
        if (groups.dtype != data_type::i32)
            refuse("it is ", groups.dtype, ", not int32");
        auto const numbers = groups.numbers<std::int32_t>(files_, 0, element_count(groups.shape));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (index_t const expected = static_cast<index_t>(i) / block; numbers[i] != expected)
                refuse("input channel ", i, " belongs to group ", numbers[i], ", not to group ",
                       expected, ", and reordered channels are not supported");
    }

    /// Zero points, which are packed along the first axis of a matrix, or not at all.
    static numbers_of_blocks zeros_in(stored_array const& zeros, index_vector const& scales,
                                      int bits) {
        if (zeros.dtype == data_type::i8 && zeros.shape == scales)
            return [zeros](open_files_of const& files, index_t first, index_t end) {
                vector<float> values;
                for (std::int8_t const zero : zeros.numbers<std::int8_t>(files, first, end - first))
                    values.push_back(static_cast<float>(zero));
                return values;
            };
        index_t const a_word = 32 / bits;
        if (zeros.dtype != data_type::i32 || scales.size() != 2 ||
            zeros.shape != index_vector{(scales[0] + a_word - 1) / a_word, scales[1]})
            refuse("'", zeros.key, "' has the shape ", zeros.shape,
                   ", which is not a zero point of ", bits, " bits for each scale");
        return [zeros, bits, a_word, groups = scales[1]](open_files_of const& files, index_t first,
                                                         index_t end) {
            vector<float> values;
            if (first >= end)
                return values;
            index_t const first_line = first / groups / a_word;
            index_t const lines = (end - 1) / groups / a_word + 1 - first_line;
            auto const packed =
                zeros.numbers<std::uint32_t>(files, first_line * groups, lines * groups);
            for (index_t i = first; i < end; ++i) {
                index_t const row = i / groups;
                auto const at = (row / a_word - first_line) * groups + i % groups;
                std::uint32_t const number =
                    packed[static_cast<std::size_t>(at)] >> static_cast<int>(row % a_word) * bits &
                    ((1u << bits) - 1);
                values.push_back(static_cast<float>(static_cast<int>(number) - (1 << (bits - 1))));
            }
            return values;
        };
    }

    /// NF4 and FP4 of bitsandbytes.
    std::optional<values_of> code_of(stored_array const& pairs) {
        std::string const& key = pairs.key;
        auto const greatest = find(key + ".absmax"), map = find(key + ".quant_map");
        std::string type = "nf4";
        auto state = find(key + ".quant_state.bitsandbytes__nf4");
        if (!state) {
            type = "fp4";
            state = find(key + ".quant_state.bitsandbytes__fp4");
        }
        if (!map || map->dtype != data_type::f32 || element_count(map->shape) != 16 || !state ||
            state->dtype != data_type::u8)
            return std::nullopt;
        vector<std::byte> const bytes = state->read(files_, 0, element_count(state->shape));
        boost::system::error_code unreadable;
        boost::json::value const said = boost::json::parse(
            std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size()),
            unreadable);
        auto const extent = [&](std::string_view name) -> index_t {
            auto const* const value = member_in(said, name);
            if (!value || !value->is_int64() || value->get_int64() < 1 ||
                value->get_int64() > (index_t{1} << 31))
                refuse("'", state->key, "' lacks ", name, ", a number from 1 to 2^31");
            return value->get_int64();
        };
        index_vector shape;
        if (auto const* const list = member_in(said, "shape"); list && list->is_array())
            for (boost::json::value const& value : list->get_array())
                shape.push_back(value.is_int64() ? value.get_int64() : -1);
        index_t const block = extent("blocksize");
        index_t const elements =
            std::ranges::any_of(shape, [](index_t i) { return i < 0; }) ? -1 : element_count(shape);
        index_t const blocks = (elements + block - 1) / block;
        index_t const bytes_of_pairs = element_count(pairs.shape) * (bits(pairs.dtype) / 8);
        if (elements < 0 || (elements + 1) / 2 != bytes_of_pairs ||
            element_count(greatest->shape) != blocks)
            refuse("'", state->key, "' says shape ", shape, " in blocks of ", block,
                   ", but there are ", bytes_of_pairs, " bytes and ",
                   element_count(greatest->shape), " scales");
        auto runs = std::make_shared<packed_runs>();
        runs->numbers = pairs;
        runs->is_high_first = true;
        runs->table = map->floats(files_, 0, 16);
        runs->block = block;
        if (greatest->dtype == data_type::f32)
            runs->scales = blocks_in(*greatest);
        else
            runs->scales = nested_in(key, *greatest, extent("nested_blocksize"),
                                     member_in(said, "nested_offset"));
        for (std::string_view const name :
             {".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
            use(key + std::string(name));
        used_.insert(state->key);
        return values_of{type == "nf4" ? "NF4" : "FP4", shape, std::move(runs)};
    }

    /// Scales that are quantised themselves: `table[number] * scale + offset`.
    numbers_of_blocks nested_in(std::string const& key, stored_array const& greatest, index_t block,
                                boost::json::value const* offset) const {
        auto const map = find(key + ".nested_quant_map"), scales = find(key + ".nested_absmax");
        index_t const numbers = element_count(greatest.shape);
        if (greatest.dtype != data_type::u8 || !map || map->dtype != data_type::f32 ||
            element_count(map->shape) != 256 || !scales || scales->dtype != data_type::f32 ||
            element_count(scales->shape) != (numbers + block - 1) / block || !offset ||
            !offset->is_number())
            refuse("'", greatest.key, "' is ", greatest.dtype,
                   ", but .nested_quant_map, .nested_absmax and nested_offset do not fit it");
        return [greatest, scales = *scales, table = map->floats(files_, 0, 256), block,
                offset = offset->to_number<float>()](open_files_of const& files, index_t first,
                                                     index_t end) {
            vector<float> values;
            if (first >= end)
                return values;
            index_t const first_scale = first / block;
            auto const scale =
                scales.floats(files, first_scale, (end - 1) / block + 1 - first_scale);
            auto const packed = greatest.read(files, first, end - first);
            for (index_t i = first; i < end; ++i) {
                auto const number =
                    std::to_integer<std::size_t>(packed[static_cast<std::size_t>(i - first)]);
                // In double: the product is exact, so that it is rounded before the sum.
                auto const product = static_cast<float>(
                    static_cast<double>(table[number]) *
                    static_cast<double>(scale[static_cast<std::size_t>(i / block - first_scale)]));
                values.push_back(product + offset);
            }
            return values;
        };
    }

    /// Bytes of bitsandbytes (LLM.int8), with the greatest magnitude of each row.
    std::optional<values_of> bytes_of(stored_array const& bytes, std::string const& base) {
        auto const greatest = find(base + "SCB");
        if (!greatest || greatest->dtype != data_type::f32 || bytes.shape.size() != 2 ||
            greatest->shape != index_vector{bytes.shape[0]})
            return std::nullopt;
        if (auto const format = find(base + "weight_format");
            format && (format->dtype != data_type::u8 || element_count(format->shape) != 1 ||
                       format->read(files_, 0, 1)[0] != std::byte{0}))
            refuse("'", format->key, "' says that its elements are not row by row");
        auto runs = std::make_shared<packed_runs>();
        runs->numbers = bytes;
        for (int i = 0; i < 256; ++i)
            runs->table.push_back(static_cast<float>(static_cast<signed char>(i)));
        runs->block = std::max(bytes.shape[1], index_t{1});
        runs->scales = blocks_in(*greatest);
        runs->factor = 7.874015718698502e-3f;
        use(base + "SCB");
        use(base + "weight_format");
        return values_of{"INT8", bytes.shape, std::move(runs)};
    }

    opened_checkpoint& opened_;
    open_files_of files_;
    boost::json::value config_;
    std::set<std::string, std::less<>> used_; ///< the keys of tensors that belong to values
};

} // namespace reshard::detail

#endif
