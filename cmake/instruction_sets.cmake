# Loops that compute are compiled once for each of these instruction sets, and the best that the processor runs is chosen
# when a program runs. All else is compiled for the compiler's default or LACUNA_ARCH. Each set but the first is one that
# kernels/processor.hpp knows.
include(CheckCXXSourceCompiles)

check_cxx_source_compiles("#ifndef __x86_64__\n#error another architecture\n#endif\nint main() {}" LACUNA_ON_X86_64)
if(LACUNA_ON_X86_64)
  set(LACUNA_INSTRUCTION_SETS x86-64 x86-64-v3 x86-64-v4)
else()
  set(LACUNA_INSTRUCTION_SETS host)
endif()

# This target is compiled for that set, in code as any processor of the set likes it: some versions of g++ err when they
# tune for one processor.
function(lacuna_compile_for target set)
  set_target_properties(${target} PROPERTIES LACUNA_INSTRUCTION_SET ${set})  # instead of LACUNA_ARCH
  target_compile_definitions(${target} PRIVATE LACUNA_INSTRUCTION_SET="${set}")
  if(LACUNA_ON_X86_64)
    target_compile_options(${target} PRIVATE -march=${set} -mtune=generic)
  endif()
endfunction()
