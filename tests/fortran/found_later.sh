#!/usr/bin/env bash
# A build without a Fortran compiler says that it leaves the Fortran module out, and builds it once there is one.
# A project that asks for the module of a lacuna that has none learns why.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(chooses LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH $root/cmake)
include(fortran)
message(STATUS "the Fortran module: \${LACUNA_FORTRAN}")
END
configure() { cmake -S "$work" -B "$work/build" "$@"; }

FC=/no/such/compiler configure | tee "$work/said"
grep -q 'No Fortran compiler was found: lacuna is built without its Fortran module' "$work/said"
grep -q 'the Fortran module: OFF' "$work/said"
configure | grep 'the Fortran module: ON'
configure -DLACUNA_FORTRAN=OFF | grep 'the Fortran module: OFF'

mkdir "$work/package" "$work/asks"
sed '/@PACKAGE_INIT@/d; /lacuna-targets/d; /lacuna-conformance/d' "$root/cmake/lacuna-config.cmake.in" \
  >"$work/package/lacuna-config.cmake"
cat >"$work/asks/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(asks LANGUAGES C)
macro(check_required_components name)  # as CMake writes it into the file of a package
  foreach(one \${\${name}_FIND_COMPONENTS})
    if(NOT \${name}_\${one}_FOUND)
      set(\${name}_FOUND FALSE)
    endif()
  endforeach()
endmacro()
find_package(lacuna CONFIG REQUIRED COMPONENTS fortran)
END
if cmake -S "$work/asks" -B "$work/asks/build" "-Dlacuna_DIR=$work/package" 2>"$work/said"; then exit 1; fi
grep -q 'this lacuna was built without its Fortran module' <(tr -s ' \n' ' ' <"$work/said")
