# Defines how all code is compiled. Targets that are parts of lacuna or its tests link lacuna_options privately. Programs
# that use lacuna as others do link lacuna_flags instead, and find only the headers for programs.
include(CheckCXXCompilerFlag)

option(LACUNA_TESTS "Build the tests and benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(LACUNA_KOKKOS "Build the library that runs the kernels by Kokkos too (LACUNA_KERNELS=kokkos)" OFF)
option(LACUNA_CUDA "Build the library that computes on CUDA devices; it needs a Kokkos with CUDA (Kokkos_ROOT)" OFF)
option(LACUNA_PYTHON "Build the package for Python" OFF)
option(LACUNA_WERROR "Treat warnings as errors" OFF)
set(LACUNA_ARCH "" CACHE STRING "Value of -march for all but the loops that are built for several instruction sets; empty for the compiler's default")
set(LACUNA_SANITIZE "" CACHE STRING "Value of -fsanitize: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# Programs and libraries find lacuna's libraries beside them or in their build tree, before any that LD_LIBRARY_PATH
# names (DT_RPATH, not DT_RUNPATH). The system's libraries, such as UCX, are in neither place, so LD_LIBRARY_PATH
# decides.
add_link_options(-Wl,--disable-new-dtags)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # This allows ccache to work with precompiled headers. It may ignore their macros, which come from the command line.
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(lacuna_flags INTERFACE)
target_compile_options(lacuna_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns of overlaps and overflows inside its own std::string and std::vector that do not exist (GCC bug
  # 105651).
  target_compile_options(lacuna_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overflow
                                                  -Wno-array-bounds>)
endif()
if(LACUNA_WERROR)
  target_compile_options(lacuna_flags INTERFACE -Werror)
endif()
if(LACUNA_ARCH)
  set(of_a_set $<BOOL:$<TARGET_PROPERTY:LACUNA_INSTRUCTION_SET>>)  # cmake/instruction_sets.cmake
  target_compile_options(lacuna_flags INTERFACE $<$<NOT:${of_a_set}>:-march=${LACUNA_ARCH}>)
endif()
if(LACUNA_SANITIZE)
  target_compile_options(lacuna_flags INTERFACE -fsanitize=${LACUNA_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all -Og -g1)
  target_link_options(lacuna_flags INTERFACE -fsanitize=${LACUNA_SANITIZE})
  # The thread sanitizer ignores fences, and g++ warns of each. Ours order memory between processes, which it never sees.
  check_cxx_compiler_flag(-Wtsan LACUNA_WARNS_OF_FENCES)
  if(LACUNA_WARNS_OF_FENCES)
    target_compile_options(lacuna_flags INTERFACE -Wno-tsan)
  endif()
  # In frames that are checked for use after return, g++ aligns data to 32 bytes and expects 64 (GCC bug 110027).
  check_cxx_compiler_flag(-mmove-max=256 LACUNA_CAN_LIMIT_VECTORS)
  if(LACUNA_CAN_LIMIT_VECTORS)
    target_compile_options(lacuna_flags INTERFACE -mprefer-vector-width=256 -mmove-max=256 -mstore-max=256)
  endif()
endif()

add_library(lacuna_options INTERFACE)
target_link_libraries(lacuna_options INTERFACE lacuna_flags)
target_include_directories(lacuna_options INTERFACE ${PROJECT_SOURCE_DIR})  # includes begin at the top of the tree
