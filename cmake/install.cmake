# Installs lacuna. All paths are relative, so that the installed tree can be moved. The components are `runtime` (the
# shared libraries), `development` (headers under include/lacuna, a CMake package and pkg-config files), `tools` (the
# command, with its manual pages and its completion for bash), `conformance` (the tests for methods of other trees) and
# `doc`. kernels/CMakeLists.txt installs the libraries of kernels that the core loads. A consumer needs no package of
# UCX, Kokkos, fmt, libcrypto or HDF5.
include(CMakePackageConfigHelpers)

set(lacuna_libraries lacuna_core lacuna_checkpoint lacuna_c)
set_target_properties(${lacuna_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
file(RELATIVE_PATH lacuna_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(lacuna PROPERTIES INSTALL_RPATH "$ORIGIN/${lacuna_bin_to_lib}" INSTALL_RPATH_USE_LINK_PATH ON)

install(TARGETS ${lacuna_libraries} EXPORT lacuna-targets
        LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)

install(TARGETS lacuna COMPONENT tools)
install(DIRECTORY ${lacuna_manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools FILES_MATCHING
        PATTERN *.1)
install(FILES ${lacuna_manual}/lacuna.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME lacuna COMPONENT tools)

# Pages and examples find each other as in the tree. What only works inside the tree stays there: workloads of the
# command, and scripts.
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING
        PATTERN *.md PATTERN *.svg PATTERN *.csv)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING
        PATTERN *.c PATTERN *.cpp PATTERN *.hpp PATTERN *.toml PATTERN own_method/CMakeLists.txt
        PATTERN workloads EXCLUDE)

install(DIRECTORY ${lacuna_includes}/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(lacuna_package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${lacuna_package} COMPONENT development)
configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${lacuna_package})
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${lacuna_package} COMPONENT development)

# Makes NAME.pc for one library. `requires` names the .pc files that it needs.
function(lacuna_pkg_config name description library requires)
  set(package ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH package_to_prefix ${package} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" package_to_prefix ${package_to_prefix})
  configure_file(cmake/lacuna.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endfunction()
lacuna_pkg_config(lacuna "Collectives that send only what matters (C++20)" lacuna_core "")
lacuna_pkg_config(lacuna-c "Collectives that send only what matters (C)" lacuna_c "")
lacuna_pkg_config(lacuna-checkpoint "Crash-safe checkpoints for lacuna" lacuna_checkpoint lacuna)
