#!/usr/bin/env bash
# Tests which Python cmake/setup.sh asks for modules, by a copy with a short list of needs, where apt-get and both Pythons
# are scripts of this test.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/cmake/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{cmake,bin,debian}
cd "$work"

fail() {
  printf '%s. setup.sh said:\n' "$1"
  cat said
  exit 1
}
# script FILE LINE: an executable that does what the line says.
script() { printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
setup() {
  sed -e "/^needs='/,/^'/c needs='\n$1\n'" -e "s|^debian_python=[^ ]*|debian_python=$work/debian/python3|" "$source" >cmake/setup.sh
  rm -f installed
  PATH=$work/bin:$PATH bash cmake/setup.sh benchmarks >said 2>&1
}
# Modules are files in the folder of a Python.
for python in bin debian; do script "$python/python3" "test -e $work/$python/\${2#import }"; done
script bin/sudo 'test "$1" != -n || exit 0; exec "$@"'
script bin/apt-get "case \" \$* \" in *' install '*) echo \"\$@\" >$work/installed; touch $work/debian/h5py ;; esac"

row='benchmarks | python3-h5py | debian_module h5py'
setup "$row" || fail 'Debian has the module after its installation'
grep -q 'python3-h5py' installed || fail 'the package has not been installed'
setup "$row" || fail 'Debian has the module'
[[ ! -e installed ]] || fail 'a module that Debian has was installed again'
! setup 'benchmarks | python3-h5py | module h5py' || fail 'the Python in PATH has no such module'
grep -q "do not serve a python3 in PATH that is not Debian's; it is $work/bin/python3" said || fail 'nothing names the Python in PATH'

# What is installed for Debian's Python serves only scripts that it runs.
cd "$(dirname "$source")/.."
for script in $(grep -lE '^ *(import|from) (matplotlib|h5py|trials)\b' -r examples tests --include='*.py'); do
  first=$(head -n 1 "$script")
  [[ $first == '#!/usr/bin/python3' || $first != '#!'* ]] || { printf '%s needs modules of Debian, but starts with %s\n' "$script" "$first" && exit 1; }
done
