#!/usr/bin/env bash
# Makes the wheel, installs it into a fresh virtual environment as a user does, and runs the tests of Python there.
# Usage: tests/python/wheel.sh [ENVIRONMENT]. cmake/setup.sh tests has fetched the packages that it needs; where torch
# is installed for the system's Python, its tests run too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

environment=${1:-build/python-environment}
packages=$PWD/build/python-packages
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$packages PIP_DISABLE_PIP_VERSION_CHECK=1
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

rm -rf "$environment" build/wheel
python3 -m venv "$environment"
"$environment/bin/pip" --quiet install build
# The same flags as in the other builds of the tests, so that ccache knows the files.
"$environment/bin/python" -m build --wheel --outdir build/wheel --config-setting cmake.define.LACUNA_WERROR=ON
ls -l build/wheel

# Nothing of the machine's processor is in the wheel: each library runs on the baseline or is chosen when it runs.
"$environment/bin/pip" --quiet install build/wheel/lacuna-*.whl numpy pytest ml_dtypes mpi4py
export PATH=$PWD/$environment/bin:$PATH
cd tests/python
lacuna --version
python -m pytest -q -p no:cacheprovider .
