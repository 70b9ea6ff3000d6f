// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/between_nodes.hpp>
#include <reshard/storage.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// Where one rank fails, or does something else, all ranks say so, and none waits.

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

int last_rank() { return world().size() - 1; }
bool is_last() { return world().rank() == last_rank(); }
boost::test_tools::assertion_result several_ranks(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result answer(world().size() > 1);
    answer.message() << "one rank cannot disagree";
    return answer;
}

std::string last_name() { return "rank " + std::to_string(last_rank()); }

std::string other(std::string const& call, std::string const& noun) {
    return "rank 0 runs " + call + " and rank 1 runs it with a different " + noun +
           "; every rank must make the same call";
}

/// The names in the error if ranks have these options and the default ones.
template <class Options>
std::string names_of_difference(Options const& value) {
    compared_values const usual("options", Options{}), fingerprint("options", value);
    std::string names;
    for (std::size_t i = 0; i < usual.entries().size(); ++i)
        if (fingerprint.entries()[i].digest != usual.entries()[i].digest)
            names += (names.empty() ? "" : " ") + fingerprint.entries()[i].name.substr(8);
    return names;
}

/// A checkpoint with `w`, 2 x 2 bytes.
class agreement_fixture {
public:
    agreement_fixture() {
        on_first_rank([&] {
            write_safetensors(directory / "w.safetensors", {{"w", "U8", "[2,2]", "0123"}});
        });
        source.emplace(open_checkpoint(world(), directory / "w.safetensors"));
    }

    std::string text(std::string const& name) const { return (directory / name).string(); }

    shared_directory directory;
    std::optional<checkpoint> source;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(storage_agreement, agreement_fixture)

BOOST_AUTO_TEST_CASE(a_path_that_one_rank_cannot_open_is_an_error_on_all) {
    std::string const path = text(is_last() ? "none.safetensors" : "w.safetensors");
    int const ranks = world().size();
    std::string const ends =
        ranks == 1 ? ""
                   : " (rank " + std::to_string(ranks - 1) +
                         "; rank 0 can open it: all ranks must see the same file system)";
    BOOST_CHECK_EXCEPTION(
        open_checkpoint(world(), path), error,
        says(errc::missing_file, text("none.safetensors") + ": no such file or directory" + ends));
}

BOOST_AUTO_TEST_CASE(tensors_that_share_memory_on_one_rank_are_an_error_on_all) {
    std::string memory = "abcdefgh";
    state_dict target;
    auto const shard = whole_of("w", data_type::u8, {2, 2});
    target.add(shard, tensor_view{memory.data(), data_type::u8, {2, 2}, {2, 1}});
    target.add(shard,
               tensor_view{memory.data() + (is_last() ? 2 : 4), data_type::u8, {2, 2}, {2, 1}});
    BOOST_CHECK_EXCEPTION(
        load(world(), *source, target), error,
        says(errc::memory_overlap,
             "target 'w' and target 'w' share memory; give the target separate memory"));
    BOOST_TEST(memory == "abcdefgh");
}

BOOST_AUTO_TEST_CASE(a_wrong_tensor_on_one_rank_is_an_error_on_all_and_no_rank_is_written) {
    held target({whole_of(is_last() ? "v" : "w", data_type::u8, {2, 2})});
    BOOST_CHECK_EXCEPTION(load(world(), *source, target.cleared().tensors()), error,
                          says(errc::unknown_key, text("w.safetensors") +
                                                      ": 'v' is wanted by rank " +
                                                      std::to_string(world().size() - 1) +
                                                      ", but the source does not have it"));
    BOOST_TEST(target.is_untouched());
}

BOOST_AUTO_TEST_CASE(
    elements_that_only_one_rank_misses_are_an_error_on_all_and_no_rank_is_written) {
    on_first_rank([&] {
        std::filesystem::create_directory(directory / "half");
        write_safetensors(directory / "half" / "a.safetensors",
                          {{"w", "U8", "[1,2]", "01", "[0,0]", "[2,2]"}});
    });
    auto const half = open_checkpoint(world(), directory / "half");
    held target({shard_of("w", data_type::u8, {2, 2}, {is_last() ? 1 : 0, 0}, {1, 2})});
    BOOST_CHECK_EXCEPTION(
        load(world(), half, target.cleared().tensors()), error,
        says(errc::not_covered, text("half") +
                                    ": 'w' elements [1:2, 0:2] are missing from the source; "
                                    "source 'w' lacks [1:2, 0:2]"));
    BOOST_TEST(target.is_untouched());
}

BOOST_AUTO_TEST_CASE(one_key_with_two_global_shapes_is_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    index_t const columns = is_last() ? 3 : 2;
    held tensors({whole_of("w", data_type::u8, {2, columns})});
    std::string const said = "'w' has the global shape [2, 2] on rank 0 and [2, 3] on ";
    BOOST_CHECK_EXCEPTION(load(world(), *source, tensors.tensors()), error,
                          says(errc::shape_mismatch, said + last_name()));
    BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), directory / "target"), error,
                          says(errc::shape_mismatch, said + last_name()));
    BOOST_TEST((directory.names() == std::vector<std::string>{"w.safetensors"}));
}

BOOST_AUTO_TEST_CASE(different_targets_are_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    held tensors({whole_of("w", data_type::u8, {2})});
    std::string const name = world().rank() == 0 ? "one" : "two";
    BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), directory / name), error,
                          says(errc::ranks_disagree, "rank 0 runs save to " + text("one") +
                                                         " and rank 1 runs save to " + text("two") +
                                                         "; every rank must make the same call"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"w.safetensors"}));
}

BOOST_AUTO_TEST_CASE(different_options_are_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    held tensors({whole_of("w", data_type::u8, {2})});
    write_options const options{.most_file_bytes = world().rank() == 0 ? 100 : 200};
    auto const target = directory / "target";
    BOOST_CHECK_EXCEPTION(save(world(), tensors.tensors(), target,
                               {.form = save_form::huggingface, .writing = options}),
                          error,
                          says(errc::ranks_disagree,
                               "rank 0 runs save to " + target.string() +
                                   " with options.writing.most_file_bytes 100 and rank 1 with 200; "
                                   "every rank must make the same call"));
    mapping const program = identity_mapping(catalog_of(*source));
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, target,
                {.program = program, .writing = {.replace = world().rank() == 0}}),
        error,
        says(errc::ranks_disagree,
             "rank 0 runs convert to " + target.string() +
                 " with options.writing.replace true and rank 1 with false; every rank must "
                 "make the same call"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"w.safetensors"}));
}

BOOST_AUTO_TEST_CASE(different_programs_are_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    mapping program = identity_mapping(catalog_of(*source));
    if (world().rank() != 0)
        program.add("more", {1}, data_type::u8);
    auto const target = directory / "target";
    BOOST_CHECK_EXCEPTION(
        convert(world(), *source, target, {.program = program}), error,
        says(errc::ranks_disagree, other("convert to " + target.string(), "options.program")));
    held tensors({whole_of("w", data_type::u8, {2, 2})});
    BOOST_CHECK_EXCEPTION(
        load(world(), *source, tensors.tensors(), {.program = program}), error,
        says(errc::ranks_disagree, other("load " + text("w.safetensors"), "options.program")));
}

BOOST_AUTO_TEST_CASE(functions_that_make_different_programs_are_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    auto const program = [](catalog const& stored, catalog const*) {
        mapping made = identity_mapping(stored);
        if (world().rank() == world().size() - 1)
            made.add("more", {1}, data_type::u8);
        return made;
    };
    held tensors({whole_of("w", data_type::u8, {2, 2})});
    BOOST_CHECK_EXCEPTION(
        load(world(), *source, tensors.tensors(), {.program = program}), error,
        says(errc::ranks_disagree,
             "rank 0 runs load " + text("w.safetensors") + " and rank " +
                 std::to_string(world().size() - 1) +
                 " runs it with a different program or different options; every rank must make "
                 "the same call"));
}

BOOST_AUTO_TEST_CASE(different_operations_are_an_error_on_all,
                     *boost::unit_test::precondition(several_ranks)) {
    held tensors({whole_of("w", data_type::u8, {2, 2})});
    auto const run = [&] {
        if (world().rank() == 0)
            load(world(), *source, tensors.tensors());
        else
            save(world(), tensors.tensors(), directory / "target");
    };
    BOOST_CHECK_EXCEPTION(run(), error,
                          says(errc::ranks_disagree, "rank 0 runs load " + text("w.safetensors") +
                                                         " and rank 1 runs save to " +
                                                         text("target") +
                                                         "; every rank must make the same call"));
}

BOOST_AUTO_TEST_CASE(different_checkpoints_are_not_compared,
                     *boost::unit_test::precondition(several_ranks)) {
    on_first_rank([&] {
        write_safetensors(directory / "v.safetensors", {{"v", "U8", "[2,2]", "0123"}});
    });
    auto const own = open_checkpoint(
        solo(), directory / (world().rank() == 0 ? "w.safetensors" : "v.safetensors"));
    BOOST_CHECK_EXCEPTION(
        compare(world(), *source, own), error,
        says(errc::ranks_disagree, "rank 0 runs compare " + text("w.safetensors") + " with " +
                                       text("w.safetensors") + " and rank 1 runs compare " +
                                       text("w.safetensors") + " with " + text("v.safetensors") +
                                       "; every rank must make the same call"));
}

BOOST_AUTO_TEST_CASE(checkpoints_of_one_name_that_differ_are_not_compared,
                     *boost::unit_test::precondition(several_ranks)) {
    std::filesystem::path const own = directory / std::to_string(world().rank());
    std::filesystem::create_directory(own);
    write_safetensors(own / "model.safetensors",
                      {{world().rank() == 0 ? "w" : "v", "U8", "[2,2]", "0123"}});
    auto const here = std::filesystem::current_path();
    std::filesystem::current_path(own);
    auto const checkpoint = open_checkpoint(solo(), "model.safetensors");
    std::filesystem::current_path(here);
    BOOST_CHECK_EXCEPTION(
        compare(world(), checkpoint, checkpoint), error,
        says(errc::ranks_disagree,
             other("compare model.safetensors with model.safetensors", "checkpoint of that name")));
}

BOOST_AUTO_TEST_CASE(ranks_that_see_different_files_are_told_so,
                     *boost::unit_test::precondition(several_ranks)) {
    std::string const name = std::to_string(world().rank()) + "/model.safetensors";
    std::filesystem::create_directory(directory / std::to_string(world().rank()));
    write_safetensors(directory / name, {{world().rank() == 0 ? "w" : "v", "U8", "[2,2]", "0123"}});
    auto const here = std::filesystem::current_path();
    std::filesystem::current_path(directory / std::to_string(world().rank()));
    BOOST_CHECK_EXCEPTION(open_checkpoint(world(), "model.safetensors"), error,
                          says(errc::ranks_disagree,
                               "model.safetensors: rank 0 and rank 1 see different files; do "
                               "the ranks share this directory?"));
    std::filesystem::current_path(here);
}

BOOST_AUTO_TEST_CASE(options_are_told_by_their_own_names) {
    BOOST_TEST(names_of_difference(options{.memory = {9}, .on_node = node_exchange::rings}) ==
               "memory.budget on_node");
    BOOST_TEST(names_of_difference(options{.processes_per_node = 9, .between_nodes = relays()}) ==
               "processes_per_node between_nodes");
    BOOST_TEST(names_of_difference(options{.lookup = {9}, .needs = {{}}}) ==
               "lookup.gather_up_to needs");
    BOOST_TEST(names_of_difference(open_options{.format = {.max_depth = 9}, .mapped = true}) ==
               "format.max_depth mapped");
    BOOST_TEST(names_of_difference(open_options{.format = {.from = "npz", .without = {"a"}}}) ==
               "format.from format.without");
    BOOST_TEST(names_of_difference(save_options{.form = save_form::huggingface,
                                                .writing = {.chunk_bytes = 9},
                                                .compare_aliases = false}) ==
               "form writing.chunk_bytes compare_aliases");
    BOOST_TEST(names_of_difference(save_options{.writing = {.replace = true, .base = "a"}}) ==
               "writing.replace writing.base");
    BOOST_TEST(names_of_difference(save_options{.writing = {.sync = false, .single_file = true}}) ==
               "writing.sync writing.single_file");
    BOOST_TEST(names_of_difference(save_options{.writing = {.most_file_bytes = 9},
                                                .needs = {{}}}) == "writing.most_file_bytes needs");
    BOOST_TEST(names_of_difference(retention{.best = 9, .highest = true}) == "best highest");
    BOOST_TEST(names_of_difference(compare_options{.data = true}) == "data");
}

BOOST_AUTO_TEST_CASE(conversions_differ_in_what_they_verify_and_carry_too,
                     *boost::unit_test::precondition(several_ranks)) {
    auto const refused = [&](convert_options const& options, std::string const& noun) {
        BOOST_CHECK_EXCEPTION(convert(world(), *source, directory / "out", options), error,
                              mentions(errc::ranks_disagree, noun));
        BOOST_TEST(!std::filesystem::exists(directory / "out"));
    };
    refused({.verify = is_last()}, "options.verify");
    refused({.carry = is_last()}, "options.carry");
    refused({.cut_fused = is_last()}, "options.cut_fused");
    BOOST_CHECK_EXCEPTION(convert(world(), *source, directory / "out", {.memory_budget = -5}),
                          error, mentions(errc::usage, "options.memory_budget is -5 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()
