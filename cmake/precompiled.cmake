# Compiles headers of other projects once that most files include. Most files then compile in half the time. Each file
# still includes what it needs, and compiles without this (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
set(lacuna_common_headers <fmt/format.h> <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstddef>
    <cstdint> <cstring> <deque> <filesystem> <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span>
    <string> <string_view> <thread> <tuple> <utility> <variant> <vector>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(lacuna_precompiled_options -fpch-preprocess)  # then ccache sees what is in them
else()
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # clang accepts no header that was compiled with other options
endif()

file(CONFIGURE OUTPUT precompiled.cpp CONTENT "// Its target holds the precompiled headers.\n")
add_library(lacuna_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_link_libraries(lacuna_precompiled PRIVATE lacuna_flags fmt::fmt Threads::Threads)
target_compile_options(lacuna_precompiled PRIVATE ${lacuna_precompiled_options})
target_precompile_headers(lacuna_precompiled PRIVATE ${lacuna_common_headers})

# Compiles targets with the headers of lacuna_precompiled. The targets must link fmt and have its options.
function(lacuna_precompile)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${lacuna_precompiled_options})
    target_precompile_headers(${target} REUSE_FROM lacuna_precompiled)
  endforeach()
endfunction()
