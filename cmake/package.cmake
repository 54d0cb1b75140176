# `cpack` in the build folder makes a Debian package of all that is installed. It depends on the packages of the
# libraries that lacuna is linked with, as dpkg-shlibdeps finds them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the lacuna authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "collectives that send only what matters")
set(CPACK_PACKAGE_DESCRIPTION
    "A C++20 library of allreduce and its relatives over UCX, with a C API and the command lacuna.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
