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

install(DIRECTORY ${lacuna_includes}/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(lacuna_package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${lacuna_package})
configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${lacuna_package})
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${lacuna_package})

# Makes NAME.pc for one library. `requires` names the .pc files that it needs.
function(lacuna_pkg_config name description library requires)
  set(package ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH package_to_prefix ${package} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" package_to_prefix ${package_to_prefix})
  configure_file(cmake/lacuna.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
lacuna_pkg_config(lacuna "Collectives that send only what matters (C++20)" lacuna_core "")
lacuna_pkg_config(lacuna-c "Collectives that send only what matters (C)" lacuna_c "")
lacuna_pkg_config(lacuna-checkpoint "Crash-safe checkpoints for lacuna" lacuna_checkpoint lacuna)
