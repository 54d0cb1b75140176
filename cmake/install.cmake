# Installs what a consumer needs: three shared libraries, headers under include/lacuna, the command, a CMake package and
# pkg-config files. All paths are relative, so that the installed tree can be moved. kernels/CMakeLists.txt installs the
# libraries of kernels that the core loads. A consumer needs no package of UCX, Kokkos, fmt, libcrypto or HDF5.
include(CMakePackageConfigHelpers)

set(lacuna_libraries lacuna_core lacuna_checkpoint lacuna_c)
set_target_properties(${lacuna_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
file(RELATIVE_PATH lacuna_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(lacuna PROPERTIES INSTALL_RPATH "$ORIGIN/${lacuna_bin_to_lib}" INSTALL_RPATH_USE_LINK_PATH ON)

install(TARGETS ${lacuna_libraries} EXPORT lacuna-targets)
install(TARGETS lacuna)

# The headers keep their places in the tree, so that they find each other. Each library adds its folder to the path.
# These folders have only headers that a program may include, and those that the sparse phases need.
foreach(folder IN ITEMS runtime/values runtime/graph runtime/method algorithms/topology algorithms/phases bindings/cpp)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/${folder} FILES_MATCHING PATTERN *.hpp
          PATTERN *.def PATTERN sparse_kernels.hpp EXCLUDE PATTERN sparse_accumulator.hpp EXCLUDE
          PATTERN sparse_histogram.hpp EXCLUDE)
endforeach()
# Each method has a header of its own, with its options beside it.
file(GLOB method_options RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS algorithms/*/options.def)
foreach(options IN LISTS method_options)
  get_filename_component(folder ${options} DIRECTORY)
  get_filename_component(method ${folder} NAME)
  install(FILES ${options} ${folder}/${method}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/${folder})
endforeach()
install(FILES algorithms/skip/importance.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/algorithms/skip)
install(FILES algorithms/registry/registry.hpp algorithms/registry/method_options.hpp algorithms/registry/plugins.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/algorithms/registry)
install(FILES bindings/checkpoint/checkpoint.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/bindings/checkpoint)
install(FILES bindings/c/lacuna.h bindings/c/lacuna_skip.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/bindings/c)
install(FILES bindings/mpi/lacuna_mpi.h bindings/mpi/lacuna_mpi.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/bindings/mpi)
foreach(part IN ITEMS core:cpp checkpoint:checkpoint c:c)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 library)
  list(GET part 1 folder)
  target_include_directories(lacuna_${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/bindings/${folder}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lacuna/bindings/${folder}>)
endforeach()

set(lacuna_package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${lacuna_package})
configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${lacuna_package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${lacuna_package})

# Makes NAME.pc for one library. `requires` names the .pc files that it needs, `folder` the place of its headers in
# bindings/.
function(lacuna_pkg_config name description library folder requires)
  set(package ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH package_to_prefix ${package} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" package_to_prefix ${package_to_prefix})
  configure_file(cmake/lacuna.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
lacuna_pkg_config(lacuna "Collectives that send only what matters (C++20)" lacuna_core cpp "")
lacuna_pkg_config(lacuna-c "Collectives that send only what matters (C)" lacuna_c c "")
lacuna_pkg_config(lacuna-checkpoint "Crash-safe checkpoints for lacuna" lacuna_checkpoint checkpoint lacuna)
