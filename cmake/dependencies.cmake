# What is found, and under which names it is linked. Only this file knows how the packages misbehave.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

# UCX's package sets `prefix` in the caller's scope, hence the function.
function(lacuna_find_ucx)
  find_package(ucx CONFIG REQUIRED)
  add_library(lacuna_ucx INTERFACE)
  target_link_libraries(lacuna_ucx INTERFACE ucx::ucp ucx::ucs)
endfunction()
lacuna_find_ucx()

# Debian's Kokkos 3.4 (part of Trilinos) names an include folder that does not exist; its headers are warnings' home too.
function(lacuna_find_kokkos)
  find_path(LACUNA_KOKKOS_TRILINOS_INCLUDE Kokkos_Core.hpp PATHS /usr/include/trilinos NO_DEFAULT_PATH)
  add_library(lacuna_kokkos INTERFACE)
  if(LACUNA_KOKKOS_TRILINOS_INCLUDE AND NOT Kokkos_ROOT)
    find_library(LACUNA_KOKKOS_TRILINOS_LIBRARY trilinos_kokkoscore REQUIRED)
    target_include_directories(lacuna_kokkos SYSTEM INTERFACE ${LACUNA_KOKKOS_TRILINOS_INCLUDE})
    target_link_libraries(lacuna_kokkos INTERFACE ${LACUNA_KOKKOS_TRILINOS_LIBRARY} ${CMAKE_DL_LIBS})
  else()
    find_package(Kokkos CONFIG REQUIRED)
    target_link_libraries(lacuna_kokkos INTERFACE Kokkos::kokkos)
  endif()
endfunction()
lacuna_find_kokkos()
