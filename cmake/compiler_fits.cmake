# Refuses a compiler that makes wrong code under the flags of this build. A small program shows whether it does. The
# program runs once for each compiler and set of flags. It does not run when CMake builds for another machine.
function(lacuna_check_compiler)
  set(type ${CMAKE_BUILD_TYPE})
  if(NOT type)
    set(type Release)
  endif()
  string(TOUPPER ${type} type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_${type}}")
  if(LACUNA_ARCH)
    list(APPEND flags -march=${LACUNA_ARCH})
  endif()
  string(JOIN " " text ${CMAKE_CXX_FLAGS} ${flags})
  set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  if("${compiler} ${text}" STREQUAL "${LACUNA_COMPILER_FITS}")
    return()
  endif()

  unset(code CACHE)
  try_run(code compiled ${PROJECT_BINARY_DIR}/compiler_fits ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiler_fits.cpp
    COMPILE_DEFINITIONS ${flags} COMPILE_OUTPUT_VARIABLE output)
  set(result ${code})
  unset(code CACHE)
  if(NOT compiled)
    unset(compiled CACHE)
    message(FATAL_ERROR "${compiler} does not compile by the flags \"${text}\":\n${output}")
  elseif(result STREQUAL 2)
    message(WARNING "This processor does not run what ${compiler} compiles by the flags \"${text}\", so that nothing shows "
                    "whether the compiler errs under them. lacuna's loops choose their instruction set when they run: "
                    "leave LACUNA_ARCH empty.")
  elseif(NOT result STREQUAL 0)
    message(FATAL_ERROR "${compiler} compiles wrong code by the flags \"${text}\" (cmake/compiler_fits.cpp ended with "
                        "${result}). Leave LACUNA_ARCH empty and remove -march and -mtune from CMAKE_CXX_FLAGS: lacuna's "
                        "loops choose their instruction set when they run. If you need -march, add -mtune=generic, or "
                        "take another compiler.")
  endif()
  set(LACUNA_COMPILER_FITS "${compiler} ${text}" CACHE INTERNAL "The compiler and flags that were checked last")
endfunction()

if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  lacuna_check_compiler()
endif()
