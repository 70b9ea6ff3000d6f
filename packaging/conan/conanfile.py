# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The headers of Reshard as a Conan 2 package:  conan create packaging/conan

With -o "&:system=True" what they stand on is the system's own, and not Conan's.
"""

import os
import re

from conan import ConanFile
from conan.tools.files import copy, load


class Reshard(ConanFile):
    name = "reshard"
    license = "BSL-1.0"
    description = "Describe, transform and redistribute sharded tensors over MPI"
    topics = ("tensor", "checkpoint", "mpi", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"system": [True, False]}
    default_options = {"system": False}
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "../../include/reshard/version.hpp"))
        self.version = ".".join(re.findall(r"define RESHARD_VERSION_[A-Z]+ (\d+)", text))

    def requirements(self):
        if not self.options.system:
            self.requires("boost/1.81.0", options={"without_mpi": False}, transitive_headers=True)
            self.requires("openmpi/4.1.6", transitive_headers=True)
            self.requires("xxhash/0.8.2", transitive_headers=True)
            self.requires("zlib/1.3.1", transitive_headers=True)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        copy(self, "include/*", root, self.export_sources_folder)
        copy(self, "LICENSE_1_0.txt", root, self.export_sources_folder)

    def package(self):
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "*.ipp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE_1_0.txt", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        own = not self.options.system
        for name, requires, boost, libraries in (
            ("core", [], ["boost::headers"], []),
            ("analysis", ["core"], [], []),
            ("format", ["core"], ["boost::json", "xxhash::xxhash", "zlib::zlib"], ["boost_json", "xxhash", "z"]),
            ("mpi", ["core"], ["boost::mpi", "boost::serialization", "openmpi::openmpi"], ["boost_mpi", "boost_serialization"]),
            ("storage", ["format", "mpi"], [], []),
        ):
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"reshard::{name}")
            component.bindirs = component.libdirs = []
            component.requires = requires + (boost if own else [])
            component.system_libs = [] if own else libraries
