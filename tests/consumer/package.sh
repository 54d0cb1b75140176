#!/usr/bin/env bash
# Makes the Debian package of a build, and checks what it holds and that the unpacked command runs.
# Usage: tests/consumer/package.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
command -v dpkg-deb >/dev/null || { echo 'this system has no packages of Debian'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  printf '%s\n' "$@"
  exit 1
}

cpack --config "$build/CPackConfig.cmake" -B "$work"
package=$(echo lacuna_*.deb)
dpkg-deb --info "$package"

depends=$(dpkg-deb --field "$package" Depends)
for library in libc6 libstdc++6 libucx0 libssl libfmt libhdf5 zlib1g; do
  [[ $depends == *"$library"* ]] || fail "the package does not depend on $library: $depends"
done
[[ $depends != *-dev* ]] || fail "the package depends on packages for development: $depends"

dpkg-deb --extract "$package" root
for path in bin/lacuna lib/liblacuna_core.so.0 lib/liblacuna_c.so.0 lib/liblacuna_checkpoint.so.0 lib/liblacuna_core.so \
  lib/cmake/lacuna/lacuna-config.cmake lib/pkgconfig/lacuna.pc include/lacuna/lacuna.hpp include/lacuna/lacuna.h \
  include/lacuna/lacuna_mpi.hpp include/lacuna/kernels/elements.hpp share/man/man1/lacuna.1 \
  include/lacuna/fortran/lacuna.f90 include/lacuna/fortran/modules/lacuna.mod lib/pkgconfig/lacuna-fortran.pc \
  share/man/man1/lacuna-perf.1 share/bash-completion/completions/lacuna share/doc/lacuna/{LICENSE,README.md} \
  share/doc/lacuna/docs/configuration.md share/doc/lacuna/examples/{allreduce.cpp,overlap.c,fashion_mnist.toml} \
  share/doc/lacuna/examples/own_method/{CMakeLists.txt,short_ring.cpp}; do
  [[ -e root/usr/$path ]] || fail "the package lacks /usr/$path"
done
others=$(find root -mindepth 3 -maxdepth 3 ! -path root/usr/bin/lacuna ! -path 'root/usr/lib/liblacuna_*' \
  ! -path root/usr/lib/cmake ! -path root/usr/lib/pkgconfig ! -path root/usr/include/lacuna \
  ! -path root/usr/share/man ! -path root/usr/share/doc ! -path root/usr/share/bash-completion)
[[ -z $others ]] || fail "the package also has" "$others"

# An unpacked command takes the libraries that lie beside it.
lacuna=$work/root/usr/bin/lacuna
while read -r name _ found _; do
  [[ $(realpath "$found") == "$work"/root/usr/lib/* ]] || fail "the unpacked command takes $name from $found"
done < <(ldd "$lacuna" | grep liblacuna_)
"$lacuna" --version | grep '^lacuna [0-9]'
"$lacuna" info | grep '^kernels:'
"$lacuna" launch -n 2 -- "$lacuna" perf allreduce -b 8 -e 64K -f 64 -n 2 | grep 'Out of bounds values : 0 OK'
c++ -std=c++20 root/usr/share/doc/lacuna/examples/allreduce.cpp -I root/usr/include -L root/usr/lib -llacuna_core \
  -o allreduce
LD_LIBRARY_PATH=root/usr/lib "$lacuna" launch -n 2 ./allreduce
