#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

set -eu

usage() {
    cat <<'END'
usage: ./bootstrap.sh COMMAND

  demo    set up, build the command-line tool, and show the library's main job
  test    set up, build everything, and run the tests
  build   set up and build everything
  site    make the documentation in build/site, of doc/ and the comments of all headers, and check its links
  tools   set up, and install what .ci/run needs besides: clang 16, its linker and run-time libraries, clang-format 16, lintian,
          the libraries of which the adapters are tested, and from PyPI what makes the Python module and its wheel

On Debian 12 what is missing is installed by apt-get, as root or through sudo. Elsewhere the needed
packages are named. Running a command again does only what is left to do.

  RESHARD_BUILD_DIR   where to build (default: build)
  RESHARD_JOBS        how many compilers at once (default: by processors and free memory)
END
}

# Boost is named with its version: Debian 12 gives 1.74 by default, and this library needs 1.81.
packages="g++ cmake ninja-build
    libboost1.81-dev libboost-mpi1.81-dev libboost-serialization1.81-dev libboost-test1.81-dev
    libboost-json1.81-dev openmpi-bin libopenmpi-dev libcli11-dev libssl-dev libxxhash-dev zlib1g-dev
    libeigen3-dev"
tools="gfortran clang-16 clang-format-16 libclang-rt-16-dev lld-16 strace iproute2 lintian pkg-config
    libxtensor-dev libarmadillo-dev libdlpack-dev pybind11-dev python3-dev python3-numpy python3-mpi4py
    python3-venv libmpich-dev ccache"
site_packages="mkdocs mkdocs-material doxygen python3"

say() {
    echo "reshard: $*"
}

refuse() {
    say "$*" >&2
    exit 2
}

# Runs a command with its output added to a file, which is shown where the command fails.
quietly() {
    log=$1
    shift
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        return 1
    fi
}

is_debian_12() {
    # shellcheck disable=SC1091 # the system's own file
    [ -r /etc/os-release ] && (. /etc/os-release && [ "${ID:-}:${VERSION_ID:-}" = debian:12 ])
}

is_installed() {
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) || return 1
    [ "$status" = installed ]
}

missing_of() {
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    echo "${missing# }"
}

name_needs() {
    cat >&2 <<'END'
reshard: this system is not Debian 12, so what is needed is not installed by itself:
reshard:   a C++20 compiler (g++ 12 or clang 16, or later), CMake 3.25, Ninja or Make, Python 3
reshard:   Boost 1.81 or later: headers, MPI, Serialization, Test, JSON
reshard:   Open MPI (the one that Boost.MPI was built with), CLI11, OpenSSL, xxHash, zlib, Eigen 3
END
}

# Installs what of the given packages is missing.
install_packages() {
    missing=$(missing_of "$@")
    [ -n "$missing" ] || return 0
    for other in libboost1.74-dev libboost1.80-dev; do
        if is_installed "$other"; then
            refuse "$other is installed, and Debian keeps the headers of one Boost only. Remove it" \
                "(apt-get remove $other), then run this again: it needs Boost 1.81."
        fi
    done
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        if ! command -v sudo >/dev/null 2>&1; then
            refuse "not root, and there is no sudo. Ask for: apt-get install $missing"
        fi
        # Without a terminal nobody can type a password.
        [ -t 0 ] || as_root="sudo -n"
        $as_root true || refuse "sudo refuses. Ask for: apt-get install $missing"
    fi
    log=$(mktemp)
    say "installing: $missing"
    # shellcheck disable=SC2086 # words
    quietly "$log" $as_root apt-get -q -o DPkg::Lock::Timeout=300 update ||
        refuse "apt-get update failed, see above"
    # shellcheck disable=SC2086 # words
    quietly "$log" $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove \
        -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing ||
        refuse "apt-get install failed, see above. It was to install: $missing"
    rm -f "$log"
}

set_up() {
    if is_debian_12; then
        command -v python3 >/dev/null 2>&1 || packages="$packages python3"
        # shellcheck disable=SC2086
        install_packages $packages
    else
        command -v cmake >/dev/null 2>&1 || { name_needs && exit 2; }
    fi
}

# What makes the Python module, in an environment of its own: Debian lacks nanobind.
set_up_python() {
    tools_dir="$build_dir/python-tools"
    cmp -s python/tools.txt "$tools_dir/tools.txt" && return 0
    say "installing from PyPI: $(sed '/^#/d' python/tools.txt | paste -sd' ')"
    rm -rf "$tools_dir"
    log=$(mktemp)
    quietly "$log" /usr/bin/python3 -m venv "$tools_dir"
    quietly "$log" "$tools_dir/bin/pip" install --disable-pip-version-check --requirement python/tools.txt ||
        refuse "pip install failed, see above"
    rm -f "$log"
    cp python/tools.txt "$tools_dir"
}

# Two GiB a compiler, as the grammar's translation units ask for.
count_jobs() {
    jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    free_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo 2>/dev/null || :)
    most=$((${free_kib:-4194304} / 2097152))
    [ "$most" -ge 1 ] || most=1
    [ "$jobs" -le "$most" ] || jobs=$most
    echo "$jobs"
}

configure() {
    cache="$build_dir/CMakeCache.txt"
    fresh=
    if [ -e "$cache" ]; then
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache" || fresh=--fresh
        if [ -z "$fresh" ] && { [ -e "$build_dir/build.ninja" ] || [ -e "$build_dir/Makefile" ]; }
        then
            return 0
        fi
    fi
    say "configuring in $build_dir"
    generator=
    command -v ninja >/dev/null 2>&1 && generator=-GNinja
    mkdir -p "$build_dir"
    rm -f "$build_dir/configure.log"
    # shellcheck disable=SC2086 # empty where there is none
    if ! quietly "$build_dir/configure.log" cmake $fresh $generator -S . -B "$build_dir"; then
        is_debian_12 || name_needs
        exit 2
    fi
}

build() {
    say "building in $build_dir ($jobs at once): $1"
    quiet=
    if [ -e "$build_dir/build.ninja" ] && [ ! -t 1 ]; then
        quiet=--quiet
    fi
    # shellcheck disable=SC2086
    cmake --build "$build_dir" --target "$1" --parallel "$jobs" -- $quiet
}

if [ $# -ne 1 ]; then
    usage >&2
    exit 2
fi
command=$1
case $command in
    demo | test | build | tools | site) ;;
    -h | --help | help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        refuse "there is no command '$command'"
        ;;
esac

cd "$(dirname "$0")"
build_dir=${RESHARD_BUILD_DIR:-build}
# Open MPI asks root to confirm.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A container without /sys is no news.
export HWLOC_HIDE_ERRORS=2

# Needs no compiler.
make_site() {
    if is_debian_12; then
        # shellcheck disable=SC2086
        install_packages $site_packages
    fi
    for program in mkdocs doxygen python3; do
        command -v $program >/dev/null 2>&1 || refuse "needed for the site: $site_packages"
    done
    mkdir -p build
    rm -f build/site.log
    # What is quoted and linked is judged first, with lines of the pages as they are written.
    python3 -B test/doc/pages.py .
    rm -rf build/reference
    mkdir -p build/reference
    quietly build/site.log doxygen cmake/site/Doxyfile
    quietly build/site.log mkdocs build --strict
    mv build/reference/api build/site/api
    python3 -B test/doc/pages.py --site build/site
    say "the site is build/site/index.html; its search works where a server shows it," \
        "as: python3 -m http.server --directory build/site"
}

if [ "$command" = site ]; then
    make_site
    exit 0
fi

set_up
if [ "$command" = tools ]; then
    is_debian_12 || refuse "needed besides: $tools"
    # shellcheck disable=SC2086
    install_packages $tools
    set_up_python
    exit 0
fi

jobs=${RESHARD_JOBS:-$(count_jobs)}
configure
case $command in
    demo)
        build reshard
        sh example/demo.sh "$build_dir"
        ;;
    build)
        build all
        ;;
    test)
        build all
        say "testing in $build_dir"
        # One test more than compilers: tests of several processes sleep a fifth of their time.
        ctest --test-dir "$build_dir" --output-on-failure --no-tests=error --parallel $((jobs + 1))
        ;;
esac
