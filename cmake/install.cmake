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
        PATTERN *.c PATTERN *.cpp PATTERN *.f90 PATTERN *.hpp PATTERN *.toml PATTERN own_method/CMakeLists.txt
        PATTERN workloads EXCLUDE)

install(DIRECTORY ${lacuna_includes}/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# The Fortran module is installed as it was built, for programs of this compiler, and as source for all others.
set(lacuna_fortran_sources_at ${CMAKE_INSTALL_INCLUDEDIR}/lacuna/fortran)
if(LACUNA_FORTRAN)
  install(TARGETS lacuna_fortran ARCHIVE COMPONENT development)
  install(DIRECTORY bindings/fortran/ ${PROJECT_BINARY_DIR}/bindings/fortran/
          DESTINATION ${lacuna_fortran_sources_at} COMPONENT development
          FILES_MATCHING PATTERN *.f90 PATTERN *.c PATTERN *.h PATTERN CMakeFiles EXCLUDE PATTERN modules EXCLUDE)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/bindings/fortran/modules DESTINATION ${lacuna_fortran_sources_at}
          COMPONENT development)
endif()

set(lacuna_package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${lacuna_package} COMPONENT development)
configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${lacuna_package})
if(LACUNA_FORTRAN)
  configure_package_config_file(cmake/lacuna-fortran.cmake.in lacuna-fortran.cmake
                                INSTALL_DESTINATION ${lacuna_package}
                                PATH_VARS lacuna_fortran_sources_at CMAKE_INSTALL_LIBDIR NO_SET_AND_CHECK_MACRO
                                NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-fortran.cmake DESTINATION ${lacuna_package} COMPONENT development)
endif()
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${lacuna_package} COMPONENT development)

# Makes NAME.pc for one library. `requires` names the .pc files that it needs. Further flags may follow.
function(lacuna_pkg_config name description library requires)
  set(package ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH package_to_prefix ${package} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" package_to_prefix ${package_to_prefix})
  list(JOIN ARGN " " more_flags)
  configure_file(cmake/lacuna.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endfunction()
lacuna_pkg_config(lacuna "Collectives that send only what matters (C++20)" lacuna_core "")
lacuna_pkg_config(lacuna-c "Collectives that send only what matters (C)" lacuna_c "")
if(LACUNA_FORTRAN)
  lacuna_pkg_config(lacuna-fortran "Collectives that send only what matters (Fortran)" lacuna_fortran lacuna-c
                    "-I\${includedir}/lacuna/fortran/modules")
endif()
lacuna_pkg_config(lacuna-checkpoint "Crash-safe checkpoints for lacuna" lacuna_checkpoint "lacuna lacuna-c")
