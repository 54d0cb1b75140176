#!/usr/bin/env bash
# Tests lacuna.torch: installs the wheel beside PyTorch, compiles the backend, and runs the tests of this folder and
# PyTorch's own tests of process groups. Ends with 77 where PyTorch cannot be had. tests/python/wheel.sh has made the
# wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cmake/setup.sh build torch
environment=$PWD/build/torch-venv
"$environment/bin/pip" --quiet --disable-pip-version-check install --no-deps --force-reinstall build/wheel/lacuna-*.whl
export PATH=$environment/bin:$PATH OMP_NUM_THREADS=1
export TORCH_EXTENSIONS_DIR=$PWD/build/torch-extensions
logs=$PWD/build/logs
mkdir -p "$logs"
cd tests/pytorch
time python -c 'import lacuna.torch; print(lacuna.torch.build())'

# The ranks of most tests wait more than they compute, so three things run at a time.
python own_tests.py --shard 1/2 >"$logs/own_tests.1.log" 2>&1 & first=$!
python own_tests.py --shard 2/2 >"$logs/own_tests.2.log" 2>&1 & second=$!
status=0
python -m pytest -q -p no:cacheprovider . || status=$?
wait "$first" || status=$?
wait "$second" || status=$?
cat "$logs"/own_tests.[12].log
exit "$status"
