#!/usr/bin/env bash
# Tests lacuna.torch: installs the wheel beside PyTorch, compiles the backend, and runs the tests of this folder. With
# --own it runs PyTorch's own tests of process groups instead. Ends with 77 where PyTorch cannot be had.
# tests/python/wheel.sh has made the wheel. TORCH_VERSION=2.13.0, say, takes another PyTorch than the newest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cmake/setup.sh build torch
environment=$PWD/build/torch-venv
export PATH=$environment/bin:$PATH OMP_NUM_THREADS=1 TORCH_EXTENSIONS_DIR=$PWD/build/torch-extensions
python -m pip --quiet --disable-pip-version-check install --no-deps --force-reinstall build/wheel/lacuna-*.whl
cd tests/pytorch
python -c 'import lacuna.torch; print(lacuna.torch.build())'

if [[ ${1:-} == --own ]]; then
  # They are the tests that PyTorch has for any backend, for Gloo, and for alltoall.
  ./own_tests.py --like lacuna && ./own_tests.py --like gloo && ./own_tests.py --like mpi 'test_all_to_all*'
else
  python -m pytest -q -p no:cacheprovider .
fi
