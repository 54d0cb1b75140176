# Loops that compute are compiled once for each instruction set. When a program runs, it chooses the best set that the
# processor has. All other code is compiled for the compiler's default or LACUNA_ARCH. kernels/processor.hpp must know
# each level.
include(CheckCXXSourceCompiles)

check_cxx_source_compiles("#ifndef __x86_64__\n#error another architecture\n#endif\nint main() {}" LACUNA_ON_X86_64)
if(LACUNA_ON_X86_64)
  set(LACUNA_BASELINE x86-64)
  set(LACUNA_ALL_LEVELS x86-64-v3 x86-64-v4)
else()
  set(LACUNA_BASELINE host)
  set(LACUNA_ALL_LEVELS)
endif()
set(LACUNA_LEVELS "${LACUNA_ALL_LEVELS}"
    CACHE STRING "Levels of x86-64 for which the kernels are built besides the baseline")
foreach(level IN LISTS LACUNA_LEVELS)
  if(NOT level IN_LIST LACUNA_ALL_LEVELS)
    message(FATAL_ERROR "LACUNA_LEVELS has '${level}'; allowed on this architecture: ${LACUNA_ALL_LEVELS}")
  endif()
endforeach()

# Compiles a target for an instruction set, with generic tuning, because some versions of g++ make wrong code when they
# tune for one processor.
function(lacuna_compile_for target set)
  set_target_properties(${target} PROPERTIES LACUNA_INSTRUCTION_SET ${set})  # replaces LACUNA_ARCH
  target_compile_definitions(${target} PRIVATE LACUNA_INSTRUCTION_SET="${set}")
  if(LACUNA_ON_X86_64)
    target_compile_options(${target} PRIVATE -march=${set} -mtune=generic)
  endif()
endfunction()
