# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Included before targets are made: a target takes the launcher that is set then.

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(RESHARD_CCACHE ccache)
    mark_as_advanced(RESHARD_CCACHE)
    if(RESHARD_CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER "${RESHARD_CCACHE}")
    endif()
endif()
