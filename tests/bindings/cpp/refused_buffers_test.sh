#!/usr/bin/env bash
# A buffer of a wrong type is one error of the compiler, which says what is allowed. Arguments: the source folder and
# the C++ compiler.
set -euo pipefail
source=$1 cxx=$2
failed=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/program.hpp" <<EOF
#include <list>
#include <string>
#include <vector>
#include "bindings/cpp/lacuna.hpp"
using namespace lacuna;
struct Point { double x, y, z; };
EOF
"$cxx" -std=c++20 -I "$source" -x c++-header "$work/program.hpp"  # once for all statements

# Compiles a statement, and prints what the compiler says.
says() {
  "$cxx" -std=c++20 -fsyntax-only -I "$source" -include "$work/program.hpp" -x c++ - 2>&1 <<EOF
void program(lacuna::Communicator& world, std::vector<float>& floats, float& number, const float& constant,
             std::string& text, std::vector<bool>& flags, std::list<float>& list, Point& point,
             std::vector<Point>& points, std::vector<std::uint64_t>& numbers) {
  (void)$1;
}
EOF
}

accepts() {
  local said
  said=$(says "$1") && return
  echo "$1 does not compile:"
  echo "$said"
  failed=1
}

refuses() {
  local statement=$1 text=$2 said
  if said=$(says "$statement"); then
    echo "$statement compiles"
    failed=1
  elif [[ $(grep -c 'error:' <<<"$said") != 1 ]] || ! grep 'error:' <<<"$said" | grep -qF "$text"; then
    echo "$statement must give one error with \"$text\", but gives:"
    echo "$said"
    failed=1
  fi
}

accepts 'world.call(allreduce(floats, floats))'
accepts 'world.call(allreduce(number, lacuna::Reduction::Max))'
refuses 'world.call(allreduce(text))' 'lacuna: no such elements. A buffer holds float, double'
refuses 'world.call(allreduce(point))' 'or a type for which the program has specialised lacuna::DtypeOf'
refuses 'world.call(lacuna::reduce(points, 0))' 'lacuna: no such elements'
refuses 'world.call(allgather(points, floats))' 'lacuna: no such elements'
refuses 'world.call(broadcast(flags, 0))' 'a std::vector<bool>, std::list or view that computes its elements is not'
refuses 'world.call(allreduce(list))' 'lacuna: a buffer is contiguous'
refuses 'world.call(allreduce(std::vector<float>(4)))' 'lacuna: a call may outlive a temporary'
refuses 'world.call(allreduce(number, constant))' 'must not be const'
refuses 'world.call(allreduce(floats, numbers))' 'input and output must have elements of the same type'
refuses 'world.call(allreduce<double>(floats))' 'elements of the type that the call names'
accepts 'world.send(floats, 1)'
accepts 'world.sendrecv<float>(floats, 1, std::span(&number, 1), 0)'
accepts 'world.call(allreduce(lacuna::MemorySpan{floats.data(), floats.size(), {lacuna::MemoryKind::Cuda}}))'
refuses 'world.send(list, 1)' 'lacuna: a buffer is contiguous'
refuses 'world.receive(constant, 1)' 'must not be const'
refuses 'world.receive(lacuna::MemorySpan{&constant, 1}, 1)' 'must not be const'
refuses 'world.sendrecv(floats, 1, std::vector<float>(4), 0)' 'lacuna: a call may outlive a temporary'
refuses 'world.send<double>(floats, 1)' 'elements of the type that the call names'
exit "$failed"
