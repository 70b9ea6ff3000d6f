// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/all_ranks.hpp"
#include "support/trials.hpp"
#include "unit/copy/support.hpp"

#include <reshard/aoa.hpp>
#include <reshard/copy/convert.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_arithmetic)

namespace {

constexpr data_type floats[] = {data_type::bf16,    data_type::f16,     data_type::f32,
                                data_type::f64,     data_type::f8_e4m3, data_type::f8_e5m2,
                                data_type::f6_e3m2, data_type::f4};

/// A matrix, and its packed elements row by row.
struct matrix {
    data_type dtype;
    index_vector shape;
    std::vector<unsigned char> bytes;

    matrix(data_type type, index_vector const& extents) : dtype(type), shape(extents) {
        bytes.resize(static_cast<std::size_t>(byte_count(element_count(shape), dtype)));
    }

    std::uint64_t operator[](index_t i) const {
        return test::get_bits(bytes, i * bits(dtype), bits(dtype));
    }
    void set(index_t i, std::uint64_t element) {
        test::set_bits(bytes, i * bits(dtype), bits(dtype), element);
    }
};

/// An attribute of a statement, and its text.
struct word {
    enum class kind_type { add, scale, transpose, cast } kind;
    std::string text;
    double operand = 0;
    data_type dtype{};

    bool computes() const { return kind == kind_type::add || kind == kind_type::scale; }
};

/// One element plus or times a constant, in f32 or f64, with the processor's arithmetic.
std::uint64_t computed(word const& by, data_type computing, std::uint64_t element) {
    bool const is_sum = by.kind == word::kind_type::add;
    if (computing == data_type::f64) {
        auto const x = std::bit_cast<double>(element);
        return std::bit_cast<std::uint64_t>(is_sum ? x + by.operand : x * by.operand);
    }
    auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(element));
    auto const y = static_cast<float>(by.operand);
    return std::bit_cast<std::uint32_t>(is_sum ? x + y : x * y);
}

matrix converted(matrix const& from, data_type to, auto const& function) {
    matrix result(to, from.shape);
    for (index_t i = 0; i < element_count(from.shape); ++i)
        result.set(i, function(from[i]));
    return result;
}

/// Runs one statement element by element, attribute after attribute.
matrix evaluated(std::vector<word> const& statement, matrix value) {
    for (std::size_t i = 0; i < statement.size(); ++i) {
        if (statement[i].computes()) {
            std::size_t end = i;
            while (end < statement.size() && statement[end].computes())
                ++end;
            bool const is_cast =
                end < statement.size() && statement[end].kind == word::kind_type::cast;
            data_type const result = is_cast ? statement[end].dtype : value.dtype;
            bool const is_wide = value.dtype == data_type::f64 || result == data_type::f64;
            data_type const computing = is_wide ? data_type::f64 : data_type::f32;
            value = converted(value, result, [&](std::uint64_t element) {
                element = convert(value.dtype, computing, element);
                for (std::size_t k = i; k < end; ++k)
                    element = computed(statement[k], computing, element);
                return convert(computing, result, element);
            });
            i = end - 1;
        } else if (statement[i].kind == word::kind_type::cast) {
            value = converted(value, statement[i].dtype, [&](std::uint64_t element) {
                return convert(value.dtype, statement[i].dtype, element);
            });
        } else {
            index_t const rows = value.shape[0], columns = value.shape[1];
            matrix turned(value.dtype, {columns, rows});
            for (index_t row = 0; row < rows; ++row)
                for (index_t column = 0; column < columns; ++column)
                    turned.set(column * rows + row, value[row * columns + column]);
            value = turned;
        }
    }
    return value;
}

class story {
public:
    explicit story(std::uint32_t seed) : random_(seed) {}

    index_t below(index_t bound) { return static_cast<index_t>(random_()) % bound; }
    data_type a_float() { return floats[below(std::size(floats))]; }

    word a_word() {
        static constexpr std::pair<char const*, double> numbers[] = {
            {"1", 1},       {"-1", -1}, {"0.5", .5},      {"-0.3", -.3},    {"3", 3},
            {"1e-3", 1e-3}, {"0", 0},   {"1e30", 1e30},   {"1e-40", 1e-40}, {"-2.5", -2.5},
            {"0.1", .1},    {"1.", 1},  {"65504", 65504},
        };
        auto const [text, number] = numbers[below(std::size(numbers))];
        switch (below(4)) {
        case 0: return {word::kind_type::add, ", add=" + std::string(text), number};
        case 1: return {word::kind_type::scale, ", scale=" + std::string(text), number};
        case 2: return {word::kind_type::transpose, ", permute='[]'"};
        default: {
            data_type const to = a_float();
            return {word::kind_type::cast, ", dtype='" + std::string(name(to)) + "'", 0, to};
        }
        }
    }

    matrix a_matrix(index_vector const& shape) {
        matrix made(a_float(), shape);
        for (unsigned char& byte : made.bytes)
            byte = static_cast<unsigned char>(random_() >> 24);
        return made;
    }

private:
    std::mt19937 random_;
};

/// The rows of a rank.
shard_descriptor shard_of(matrix const& of, index_t rank, index_t ranks) {
    index_t const first = of.shape[0] / 4 * rank / ranks * 4;
    index_t const last = of.shape[0] / 4 * (rank + 1) / ranks * 4;
    return {"w", of.dtype, of.shape, {{first, 0}, {last - first, of.shape[1]}}, {}};
}

std::size_t bytes_before(matrix const& of, shard_descriptor const& shard) {
    return static_cast<std::size_t>(byte_count(shard.region.offset[0] * of.shape[1], of.dtype));
}

/// Runs a program from rows on some ranks to rows on others.
matrix run(std::string const& text, matrix const& source, matrix target, index_t source_ranks,
           index_t target_ranks) {
    std::vector<const_state_dict> have(static_cast<std::size_t>(source_ranks));
    std::vector<state_dict> want(static_cast<std::size_t>(target_ranks));
    for (index_t rank = 0; rank < source_ranks; ++rank) {
        auto const shard = shard_of(source, rank, source_ranks);
        have[static_cast<std::size_t>(rank)].add(
            shard,
            const_tensor_view{source.bytes.data() + bytes_before(source, shard), source.dtype,
                              shard.region.shape, row_major_strides(shard.region.shape)});
    }
    for (index_t rank = 0; rank < target_ranks; ++rank) {
        auto const shard = shard_of(target, rank, target_ranks);
        want[static_cast<std::size_t>(rank)].add(
            shard, tensor_view{target.bytes.data() + bytes_before(target, shard), target.dtype,
                               shard.region.shape, row_major_strides(shard.region.shape)});
    }
    auto const tensors_of = [](matrix const& of) {
        return catalog({{"w", of.dtype, of.shape, {1, 1}}});
    };
    auto const before = tensors_of(source), after = tensors_of(target);
    auto const code = aoa::expand(aoa::parse(text), before, &after).code;
    test::redistribute_ranks(std::span<const_state_dict const>(have),
                             std::span<state_dict const>(want), aoa::lower(code, before, &after));
    return target;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_program_gives_the_bits_of_its_statements_one_after_the_other) {
    std::uint64_t computing = 0;
    for (std::uint32_t seed = 0; seed < test::trials(4000); ++seed) {
        story tale(seed);
        matrix const source = tale.a_matrix({4 * (tale.below(4) + 1), 4 * (tale.below(20) + 1)});
        matrix wanted = source;
        std::string text;
        int count = 0;
        for (index_t statement = tale.below(3) + 1; statement > 0; --statement) {
            std::vector<word> words;
            for (index_t more = tale.below(4); more >= 0; --more)
                words.push_back(tale.a_word());
            text += "w -> w";
            for (word const& each : words) {
                text += each.text;
                count += each.computes();
            }
            text += '\n';
            wanted = evaluated(words, wanted);
        }
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << text) {
            try {
                index_t const source_ranks = tale.below(3) + 1;
                matrix const result = run(text, source, matrix(wanted.dtype, wanted.shape),
                                          source_ranks, tale.below(3) + 1);
                BOOST_TEST((result.bytes == wanted.bytes));
                computing += count > 0;
            } catch (error const& problem) { // a long chain, or 1e-40 in f32
                BOOST_TEST((problem.code() == errc::limit_exceeded), problem.what());
                BOOST_TEST(count > 1);
            }
        }
    }
    BOOST_TEST(computing > test::trials(2000));
}

BOOST_AUTO_TEST_SUITE_END()
