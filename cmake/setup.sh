#!/usr/bin/env bash
# Installs what lacuna needs and this machine lacks. Usage: cmake/setup.sh [build] [tests] [benchmarks] [aarch64] [torch]
# On Debian and Ubuntu it uses apt-get, as root or through sudo. Elsewhere it lists what is missing and stops. The UCX
# of PyPI, with which the tests run once more, goes into build/ucx-1.22. Debian's arm64 packages, which lacuna needs to
# be built for aarch64, are unpacked into build/aarch64-root and not installed. PyPI's PyTorch, for the tests of
# lacuna.torch, goes into a virtual environment in build/torch-venv; it takes 6 GB. TORCH_VERSION=2.13.0, say, asks for
# another one. The script ends with 77 if this machine cannot have what aarch64 or torch ask for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# group | Debian package | how to check for it: a command, a header, a file, a module of the Python in PATH, or a module of
# Debian's Python, to which Debian's packages belong, whatever comes first in PATH (pyenv, conda)
needs='
build | build-essential | command c++
build | build-essential | command make
build | cmake | command cmake
build | ninja-build | command ninja
build | ccache | command ccache
build | pkg-config | command pkg-config
build | libucx-dev | header ucp/api/ucp.h
build | libtrilinos-kokkos-dev | header Kokkos_Core.hpp
build | libhdf5-dev | header hdf5.h
build | libcli11-dev | header CLI/CLI.hpp
build | libtomlplusplus-dev | header toml++/toml.h
build | nlohmann-json3-dev | header nlohmann/json.hpp
build | libfmt-dev | header fmt/format.h
build | libssl-dev | header openssl/hmac.h
build | zlib1g-dev | header zlib.h
build | iproute2 | command ip
build | python3 | command python3
build | dataset-fashion-mnist | file /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
tests | libgtest-dev | header gtest/gtest.h
tests | libbenchmark-dev | header benchmark/benchmark.h
tests | clang-format | command clang-format
tests | gfortran | command gfortran
tests | patch | command patch
tests | file | command file
tests | python3-pip | module pip
tests | python3-venv | module ensurepip
tests | python3-dev | command python3-config
tests | doxygen | command doxygen
tests | openmpi-bin | command mpirun.openmpi
tests | libopenmpi-dev | command mpicc.openmpi
tests | mpich | command mpiexec.mpich
tests | libmpich-dev | command mpicc.mpich
tests | slurmctld | command slurmctld
tests | slurmd | command slurmd
tests | slurm-client | command srun
tests | munge | command munged
tests | valgrind | header valgrind/callgrind.h
benchmarks | ucx-utils | command ucx_perftest
benchmarks | openmpi-bin | command mpirun.openmpi
benchmarks | libopenmpi-dev | command mpicxx.openmpi
benchmarks | mpich | command mpirun.mpich
benchmarks | libmpich-dev | command mpicxx.mpich
benchmarks | libgloo-dev | header gloo/allreduce.h
benchmarks | python3-matplotlib | debian_module matplotlib
benchmarks | python3-h5py | debian_module h5py
benchmarks | bible-kjv | command bible
aarch64 | g++-aarch64-linux-gnu | command aarch64-linux-gnu-g++
aarch64 | qemu-user | command qemu-aarch64
torch | python3-venv | module ensurepip
torch | python3-dev | command python3-config
'
debian_python=/usr/bin/python3  # scripts that need its modules name it in their first line
mkdocs='mkdocs==1.6.1 pygments==2.18.0'
mkdocs_folder=build/mkdocs-1.6.1
ucx_wheel='libucx-cu13==1.22.0'
ucx_folder=build/ucx-1.22
python_packages='build==1.6.1 scikit-build-core==1.1.2 nanobind==3.1.0 pytest==9.2.0 numpy ml_dtypes mpi4py==4.1.2'
python_folder=build/python-packages
aarch64_folder=build/aarch64-root
torch_packages="torch==${TORCH_VERSION:-2.14.1} numpy pytest==9.2.0 ninja expecttest"
torch_folder=build/torch-venv
torch_space=12  # GB that must be free before PyTorch is fetched
torch_time=1200  # seconds from the start of this script in which it must have come

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# Runs a command that fetches something, up to three times: a server, a connection or another user of apt-get may be in
# the way for a while.
try_again() {
  local pause
  for pause in 10 30; do
    "$@" && return
    printf 'setup: that has failed, and is tried again in %d seconds: %s\n' "$pause" "$*" >&2
    sleep "$pause"
  done
  "$@"
}

# Prints the headers on standard input that the compiler does not find.
missing_headers() {
  local header
  while read -r header; do
    printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$header" "$header"
  done |
    c++ -x c++ -std=c++20 -E -P -I/usr/include/trilinos -I/usr/include/hdf5/serial - | sed -n 's/^missing //p'
}

# Prints "package | what" for each need of the given groups that is not met.
missing() {
  local groups=" $* " group package kind what headers=''
  if command -v c++ >/dev/null; then
    headers=$(sed -n 's/.*| header //p' <<<"$needs" | missing_headers)
  else
    headers=$(sed -n 's/.*| header //p' <<<"$needs")
  fi
  while read -r group _ package _ kind what; do
    [[ -n $group && $groups == *" $group "* ]] || continue
    case $kind in
      command) command -v "$what" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null ;;
      header) ! grep -qxF "$what" <<<"$headers" ;;
      file) [[ -e $what ]] ;;
      module) python3 -c "import $what" 2>/dev/null ;;
      debian_module) "$debian_python" -c "import $what" 2>/dev/null ;;
    esac || printf '%s | %s %s\n' "$package" "$kind" "$what"
  done <<<"$needs"
}

install_packages() {
  local privileged=()
  if [[ $(id -u) != 0 ]]; then
    privileged=(sudo)
    sudo -n true 2>/dev/null || [[ -t 0 ]] && command -v sudo >/dev/null ||
      fail "neither root nor able to use sudo. Missing: $*. Run as root: apt-get install $*"
  fi
  printf 'setup: installing %s\n' "$*"
  local apt=("${privileged[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)  # another apt-get, and servers, may be in the way
  try_again "${apt[@]}" update || fail "apt-get update failed (no network?). Missing: $*"
  try_again "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null ||
    fail "apt-get could not install all of: $*. See its message above"
}

fetch_ucx() {
  [[ -e $ucx_folder/libucx/lib/libucp.so.0 ]] && return
  printf 'setup: fetching %s from PyPI\n' "$ucx_wheel"
  rm -rf "$ucx_folder.new" && mkdir -p "$ucx_folder.new"
  try_again python3 -m pip --quiet download --no-deps --dest "$ucx_folder.new" "$ucx_wheel" ||
    fail "cannot get $ucx_wheel from PyPI, which the tests need: they run over UCX 1.13 and 1.22. \
Give access to PyPI, or unpack that wheel into $ucx_folder"
  python3 -m zipfile -e "$ucx_folder.new"/*.whl "$ucx_folder.new"
  rm -f "$ucx_folder.new"/*.whl
  chmod -R u+rwX,go+rX "$ucx_folder.new" && chmod +x "$ucx_folder.new"/libucx/bin/*
  rm -rf "$ucx_folder" && mv "$ucx_folder.new" "$ucx_folder"
}

fetch_mkdocs() {
  [[ -e $mkdocs_folder/mkdocs ]] && return
  printf 'setup: fetching %s from PyPI\n' "$mkdocs"
  rm -rf "$mkdocs_folder.new"
  # shellcheck disable=SC2086
  try_again python3 -m pip --quiet --disable-pip-version-check install --no-warn-conflicts --root-user-action ignore \
    --target "$mkdocs_folder.new" $mkdocs ||
    fail "cannot get $mkdocs from PyPI, which make the site of the manual. Give access to PyPI, or install them into \
$mkdocs_folder with pip install --target"
  mv "$mkdocs_folder.new" "$mkdocs_folder"
}

install_torch() {
  # shellcheck disable=SC2086
  timeout $((SECONDS < torch_time ? torch_time - SECONDS : 1)) "$torch_folder/bin/pip" --quiet \
    --disable-pip-version-check --no-cache-dir install $torch_packages
}

# Fetches PyTorch, and what compiles and tests the backend with it. A file there names the packages.
fetch_torch() {
  local free
  [[ ! -e $torch_folder/packages || $(<"$torch_folder/packages") != "$torch_packages" ]] || return 0
  mkdir -p build
  free=$(($(df --output=avail -k build | tail -n 1) >> 20))
  ((free >= torch_space)) || without_torch "the disk has $free GB free, and PyTorch needs $torch_space GB"
  printf 'setup: fetching %s from PyPI\n' "$torch_packages"
  rm -rf "$torch_folder"
  python3 -m venv "$torch_folder"
  try_again install_torch ||
    without_torch "PyPI does not give $torch_packages (see pip's message above)"
  printf '%s\n' "$torch_packages" >"$torch_folder/packages"
}

without_torch() {
  rm -rf "$torch_folder"
  printf 'setup: lacuna.torch is not tested here: %s\n' "$*" >&2
  exit 77
}

# Fetches what makes the wheel and runs its tests. A file there names the packages and the Python that they are for.
fetch_python() {
  local wanted
  wanted="$python_packages for $(python3 -VV)"
  [[ ! -e $python_folder/wanted || $(<"$python_folder/wanted") != "$wanted" ]] || return 0
  printf 'setup: fetching %s from PyPI\n' "$python_packages"
  rm -rf "$python_folder" "$python_folder.new" && mkdir -p "$python_folder.new"
  # shellcheck disable=SC2086
  try_again python3 -m pip --quiet --disable-pip-version-check download --dest "$python_folder.new" \
    $python_packages ||
    fail "cannot get $python_packages from PyPI, which the tests of Python need. Give access to PyPI, or download them \
into $python_folder with pip download"
  printf '%s\n' "$wanted" >"$python_folder.new/wanted"
  mv "$python_folder.new" "$python_folder"
}

unavailable() {
  printf 'setup: nothing is built for aarch64 here: %s\n' "$*" >&2
  exit 77
}

# Runs apt-get as if on a machine of Debian's architecture arm64 without any package. It asks the servers of this
# machine's sources, changes nothing outside the given folder, and needs no privilege.
apt_of_arm64() {
  local state=$1
  shift
  mkdir -p "$state"/{lists,archives}/partial
  touch "$state/status"
  cat >"$state/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Log "$state";
APT::Sandbox::User "";
Debug::NoLocking "true";
END
  apt-get -qq -c "$state/apt.conf" -o Acquire::Retries=3 "$@"
}

# Unpacks the packages that have the headers for the build and the tests, and the packages that these depend on.
fetch_aarch64() {
  local packages state=$PWD/$aarch64_folder.apt new=$PWD/$aarch64_folder.new package link
  packages=$(sed -nE 's/^(build|tests) \| ([^ ]+) \| header .*/\2/p' <<<"$needs" | sort -u | xargs)
  packages+=" libstdc++-$(aarch64-linux-gnu-g++ -dumpversion)-dev"
  [[ ! -e $aarch64_folder/packages || $(<"$aarch64_folder/packages") != "$packages" ]] || return 0
  printf 'setup: fetching arm64 packages into %s\n' "$aarch64_folder"
  rm -rf "$state" "$new" && mkdir -p "$new"
  apt_of_arm64 "$state" update || printf 'setup: apt-get could not ask all of its sources for arm64 packages\n'
  # shellcheck disable=SC2086
  try_again apt_of_arm64 "$state" install --download-only --yes --no-install-recommends $packages ||
    unavailable "apt-get could not get these arm64 packages from this machine's sources (see its message above): \
$packages"
  for package in "$state"/archives/*.deb; do dpkg -x "$package" "$new"; done
  find "$new" -type l -lname '/*' | while read -r link; do ln -srfn "$new$(readlink "$link")" "$link"; done
  printf '%s\n' "$packages" >"$new/packages"
  rm -rf "$state" "$aarch64_folder" && mv "$new" "$aarch64_folder"
}

groups=("${@:-build}")
for group in "${groups[@]}"; do
  [[ $group =~ ^(build|tests|benchmarks|aarch64|torch)$ ]] ||
    fail "unknown group '$group'; allowed: build, tests, benchmarks, aarch64, torch"
done
if [[ " ${groups[*]} " == *' aarch64 '* ]]; then
  [[ $(uname -m) != aarch64 ]] || unavailable "this machine is aarch64 itself and needs no cross compiler"
  command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
    unavailable "this needs Debian's arm64 packages, and this system has no apt-get"
fi

found=$(missing "${groups[@]}")
if [[ -n $found ]]; then
  mapfile -t packages < <(cut -d' ' -f1 <<<"$found" | sort -u)
  if command -v apt-get >/dev/null; then
    install_packages "${packages[@]}"
    found=$(missing "${groups[@]}")
  fi
  [[ -z $found ]] || fail "this is missing (Debian package | what was looked for):
$found
On Debian: apt-get install ${packages[*]}. These packages do not serve a python3 in PATH that is not Debian's; it is \
$(command -v python3 || echo missing). On other systems install the same with their package manager. CPATH can name
headers outside the compiler's search path."
fi
[[ " ${groups[*]} " != *' tests '* ]] || fetch_ucx
[[ " ${groups[*]} " != *' tests '* ]] || fetch_mkdocs
[[ " ${groups[*]} " != *' tests '* ]] || fetch_python
[[ " ${groups[*]} " != *' aarch64 '* ]] || fetch_aarch64
[[ " ${groups[*]} " != *' torch '* ]] || fetch_torch
