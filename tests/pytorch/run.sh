#!/usr/bin/env bash
# Tests lacuna.torch: installs the wheel beside PyTorch, compiles the backend, and runs the tests of this folder and
# PyTorch's own tests of process groups. Ends with 77 where PyTorch cannot be had. tests/python/wheel.sh has made the
# wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cmake/setup.sh build torch
environment=$PWD/build/torch-venv
logs=$PWD/build/logs
mkdir -p "$logs"
export PATH=$environment/bin:$PATH OMP_NUM_THREADS=1 TORCH_EXTENSIONS_DIR=$PWD/build/torch-extensions
python -m pip --quiet --disable-pip-version-check install --no-deps --force-reinstall build/wheel/lacuna-*.whl
cd tests/pytorch
python -c 'import lacuna.torch; print(lacuna.torch.build())'

# The tests that PyTorch has for any backend, for Gloo, and for alltoall. Their ranks wait more than they compute, so
# they run beside the others.
run_own_tests() {
  ./own_tests.py --like lacuna && ./own_tests.py --like gloo && ./own_tests.py --like mpi 'test_all_to_all*'
}
run_own_tests >"$logs/own_tests.log" 2>&1 &
own_tests=$!
status=0
python -m pytest -q -p no:cacheprovider . || status=$?
wait "$own_tests" || status=$?
grep -aE ' FAILED |tests of PyTorch|skipped' "$logs/own_tests.log" || tail -n 40 "$logs/own_tests.log"
exit "$status"
