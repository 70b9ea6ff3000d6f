# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Reshard in a repository of one's own of Spack 1.0 or later: packages/reshard/package.py. `git` there is your clone."""

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Reshard(CMakePackage):
    """Describe, transform and redistribute sharded tensors over MPI."""

    git = "file:///usr/src/reshard"
    license("BSL-1.0")

    version("main", branch="main")

    variant("tool", default=True, description="Build the command-line tool")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost@1.81:+mpi+serialization+json cxxstd=20")
    depends_on("mpi")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("cli11", type="build", when="+tool")
    depends_on("openssl", when="+tool")

    conflicts("%gcc@:11", msg="g++ 12 or later is needed")
    conflicts("%clang@:15", msg="clang 16 or later is needed")

    def cmake_args(self):
        return [
            self.define("RESHARD_BUILD_TESTS", False),
            self.define("RESHARD_BUILD_BENCH", False),
            self.define_from_variant("RESHARD_BUILD_EXAMPLES", "tool"),
        ]
