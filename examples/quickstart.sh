#!/usr/bin/env bash
# Goes from a fresh checkout to a trained network. It installs what is missing, builds the lacuna command, and trains an
# MLP on Fashion-MNIST with four ranks, densely and with rounds left out. If you call it again, it does only what is
# left to do. It passes its arguments to `lacuna run`, for instance --fresh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake/setup.sh build
[[ -f build/release/build.ninja ]] || cmake --preset release -DLACUNA_TESTS=OFF
cmake --build --preset release --parallel "$(nproc)" --target lacuna

lacuna=build/release/bin/lacuna
training=("$lacuna" run examples/fashion_mnist.toml "$@")
if tests/lab/lab.py --check; then
  printf 'Four emulated hosts, joined by links of 1 Gbit/s:\n'
  tests/lab/lab.py --hosts 4 --rate 1gbit --raw -- "${training[@]}"
else
  printf 'This machine allows no network namespaces, so the four ranks share it, without emulated links.\n'
  "$lacuna" launch -n 4 --raw -- "${training[@]}" --predict
fi
