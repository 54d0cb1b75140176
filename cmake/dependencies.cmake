# Finds the packages and defines the targets to link with. Only this file knows the faults of these packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

# This is a function because UCX's package sets `prefix` in the caller's scope. The package names its files as they lie
# on the machine that it is for. In a cross build they lie below CMAKE_SYSROOT.
function(lacuna_find_ucx)
  find_package(ucx CONFIG REQUIRED)
  foreach(library IN ITEMS ucx::ucp ucx::ucs)
    foreach(property IN ITEMS IMPORTED_LOCATION INTERFACE_INCLUDE_DIRECTORIES)
      get_target_property(path ${library} ${property})
      if(CMAKE_SYSROOT AND EXISTS ${CMAKE_SYSROOT}${path})
        set_target_properties(${library} PROPERTIES ${property} ${CMAKE_SYSROOT}${path})
      endif()
    endforeach()
  endforeach()
  add_library(lacuna_ucx INTERFACE)
  target_link_libraries(lacuna_ucx INTERFACE ucx::ucp ucx::ucs)
endfunction()
lacuna_find_ucx()

# kokkos_library is Kokkos, for files that run on it; LACUNA_KOKKOS_LANGUAGE is the language to compile these files as,
# and LACUNA_KOKKOS_VERSION its version.
# kokkos_macros is for all other files. It has the two macros of Kokkos by which functors say where they run, and links
# nothing of Kokkos. Debian's Kokkos 3.4 (part of Trilinos) names an include folder that does not exist, and its headers
# cause warnings.
set(LACUNA_KOKKOS_LANGUAGE CXX)
add_library(kokkos_library INTERFACE)
add_library(kokkos_macros INTERFACE)
find_path(LACUNA_KOKKOS_TRILINOS_INCLUDE Kokkos_Core.hpp PATHS /usr/include/trilinos NO_DEFAULT_PATH)
if(LACUNA_KOKKOS_TRILINOS_INCLUDE AND NOT Kokkos_ROOT)
  find_library(LACUNA_KOKKOS_TRILINOS_LIBRARY trilinos_kokkoscore REQUIRED)
  target_include_directories(kokkos_library SYSTEM INTERFACE ${LACUNA_KOKKOS_TRILINOS_INCLUDE})
  target_link_libraries(kokkos_library INTERFACE ${LACUNA_KOKKOS_TRILINOS_LIBRARY} ${CMAKE_DL_LIBS})
  target_include_directories(kokkos_macros SYSTEM INTERFACE ${LACUNA_KOKKOS_TRILINOS_INCLUDE})
  file(STRINGS ${LACUNA_KOKKOS_TRILINOS_INCLUDE}/KokkosCore_config.h kokkos_version REGEX "KOKKOS_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" kokkos_version "${kokkos_version}")
  math(EXPR kokkos_major "${kokkos_version} / 10000")
  math(EXPR kokkos_minor "${kokkos_version} / 100 % 100")
  math(EXPR kokkos_patch "${kokkos_version} % 100")
  set(LACUNA_KOKKOS_VERSION ${kokkos_major}.${kokkos_minor}.${kokkos_patch})
else()
  find_package(Kokkos CONFIG REQUIRED)
  set(LACUNA_KOKKOS_VERSION ${Kokkos_VERSION})
  target_link_libraries(kokkos_library INTERFACE Kokkos::kokkos)
  target_include_directories(kokkos_macros SYSTEM INTERFACE
    $<TARGET_PROPERTY:Kokkos::kokkoscore,INTERFACE_INCLUDE_DIRECTORIES>)
  foreach(language IN ITEMS CUDA HIP)
    if(language IN_LIST Kokkos_DEVICES)
      set(LACUNA_KOKKOS_LANGUAGE ${language})
      set(CMAKE_${language}_ARCHITECTURES ${Kokkos_${language}_ARCHITECTURES})
      enable_language(${language})
      set(CMAKE_${language}_STANDARD 20)
      # CMake 3.25 does not know that nvcc has this option.
      set(CMAKE_${language}20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_${language}20_EXTENSION_COMPILE_OPTION -std=c++20)
      # Kokkos' headers refuse other compilers. With these definitions they are empty.
      target_compile_definitions(kokkos_macros INTERFACE KOKKOS_MACROS_HPP KOKKOS_FUNCTION=
                                                         KOKKOS_INLINE_FUNCTION=inline)
    endif()
  endforeach()
endif()
