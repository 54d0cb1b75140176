#!/usr/bin/env bash
# Makes the wheel, installs it into a fresh virtual environment as a user does, and runs the tests of Python there.
# Usage: tests/python/wheel.sh [PYTHON]. The packages that it needs are those that cmake/setup.sh tests has fetched. For
# another Python than python3 they come from PyPI. If torch can be imported there, its tests run too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=${1:-python3}
environment=$PWD/build/python-environment
export PIP_DISABLE_PIP_VERSION_CHECK=1 CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
[[ $python != python3 ]] || export PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/build/python-packages
# The compiler, the flags and the places of files are the same each time, so that ccache knows the objects.
export CC=cc CXX=c++ CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 TMPDIR=$PWD/build/python-temporary

rm -rf "$environment" build/wheel "$TMPDIR"
mkdir -p "$TMPDIR"
"$python" -m venv "$environment"
export PATH=$environment/bin:$PATH
pip --quiet install build
# First the source distribution, then the wheel from that.
python -m build --outdir build/wheel --config-setting cmake.define.LACUNA_WERROR=ON
rm -rf "$TMPDIR"
unset TMPDIR
ls -l build/wheel
pip --quiet install build/wheel/lacuna-*.whl numpy pytest ml_dtypes mpi4py

cd tests/python  # the package of the tree can't be imported from here
lacuna --version
python -m pytest -q -p no:cacheprovider .
