// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Redistributes again and again, until one rank is killed: `killed_rank TIER PLACE SEGMENTS FIFO`.
///
/// Into the fifo, which is open for as long as a rank lives, each rank says its number as a process and the
/// tier that it really uses, and the one that dies says so. What then becomes of the others is judged outside.

namespace {

using namespace reshard;

int fifo = -1;
bool has_unnamed_segments = true;

/// Says a line, also from the handler of a signal.
void say(std::string_view line) { static_cast<void>(!::write(fifo, line.data(), line.size())); }

[[noreturn]] void die() {
    say("dies\n");
    ::kill(::getpid(), SIGKILL);
    ::_exit(0);
}

/// What is asked of a run of this program.
struct request {
    std::string_view tier, place, segments;
};

/// The rows of a rank, each of pages of its own.
class page_rows {
public:
    static constexpr index_t columns = 1 << 14, count = 32; ///< runs of 16 KiB on 4 ranks

    page_rows()
        : elements_(static_cast<float*>(::mmap(nullptr, count * columns * sizeof(float),
                                               PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                               -1, 0))) {
        std::fill_n(elements_, count * columns, 1.0F);
    }

    tensor_view view() const { return {elements_, data_type::f32, {count, columns}, {columns, 1}}; }

    /// Who comes to the middle row dies.
    void make_deadly() const {
        struct sigaction action = {};
        action.sa_handler = [](int) { die(); };
        ::sigaction(SIGSEGV, &action, nullptr);
        ::mprotect(elements_ + count / 2 * columns, columns * sizeof(float), PROT_NONE);
    }

private:
    float* elements_;
};

/// How ranks of a node are asked to exchange for a tier.
node_exchange exchange_for(std::string_view tier) {
    return tier == "rings" ? node_exchange::rings : node_exchange::messages;
}

/// By what the elements have moved.
std::string_view tier_of(job const& moving, shared_arena const* arena) {
    if (moving.cost().messages_out > 0)
        return "messages";
    return arena && arena->is_shared() ? "arena" : "rings";
}

void redistribute_for_ever(mpi_group const& world, request const& wanted) {
    index_t const size = world.size(), rank = world.rank();
    index_vector const global{size * page_rows::count, page_rows::columns};
    index_t const width = page_rows::columns / size;
    std::optional<shared_arena> arena;
    if (wanted.tier == "arena")
        arena.emplace(world, index_t{3} << 20);
    page_rows const rows;
    std::pmr::vector<float> columns(static_cast<std::size_t>(global[0] * width),
                                    arena ? arena->resource() : std::pmr::get_default_resource());
    const_state_dict source;
    state_dict target;
    source.add({"w", data_type::f32, global, {{rank * page_rows::count, 0}, rows.view().shape}, {}},
               rows.view());
    target.add({"w", data_type::f32, global, {{0, rank * width}, {global[0], width}}, {}},
               tensor_view{columns.data(), data_type::f32, {global[0], width}, {width, 1}});
    job moving = prepare(world, source_tensors{source},
                         target_tensors{target, {}, arena ? &*arena : nullptr},
                         {.on_node = exchange_for(wanted.tier)});
    run(moving);
    say(std::to_string(::getpid()) + " " + std::string(tier_of(moving, arena ? &*arena : nullptr)) +
        "\n");
    world.base().barrier();
    for (int i = 0;; ++i) {
        if (i == 3 && wanted.place == "between" && rank == 0)
            die();
        if (i == 3 && wanted.place == "within" && rank == size - 1)
            rows.make_deadly();
        run(moving);
    }
}

} // namespace

/// In the place of the system's. Unnamed segments are refused where they are to have names.
extern "C" {

int memfd_create(char const* name, unsigned flags) noexcept {
    if (has_unnamed_segments)
        return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
    errno = ENOSYS;
    return -1;
}
}

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    request const wanted{argv[1], argv[2], argv[3]};
    has_unnamed_segments = wanted.segments == "unnamed";
    fifo = ::open(argv[4], O_WRONLY | O_CLOEXEC);
    boost::mpi::communicator const world;
    world.barrier(); // all of them have it open
    redistribute_for_ever(mpi_group(world), wanted);
}
