#!/usr/bin/env bash
# The core needs nothing of Kokkos and offers nothing under its names, so that an application with any Kokkos can embed
# it; the library of the Kokkos backend offers one function. Arguments: the core and that library.
set -euo pipefail
core=$1 backend=$2

fail() {
  printf '%s\n' "$@"
  exit 1
}

# What nm calls w and v is asked of the process, which may lack it: the tools of Kokkos.
symbols=$(nm -D -C "$core")
[[ $symbols == *' T lacuna::version()'* ]] || fail "$core: nm shows no symbols"
if found=$(grep -v ' [wv] ' <<<"$symbols" | grep -E '\b[Kk]okkos(::|_|p_)' | grep -v ' lacuna::'); then
  fail "$core has symbols of Kokkos:" "$found"
fi
if found=$(readelf -d "$core" | grep NEEDED | grep -i kokkos); then
  fail "$core needs Kokkos:" "$found"
fi
if found=$(ldd "$core" | grep -i kokkos); then
  fail "$core comes with Kokkos:" "$found"
fi

offered=$(nm -D -C --defined-only "$backend" | cut -d' ' -f3-)
[[ $offered == lacuna_kernels ]] || fail "$backend offers:" "$offered"
if found=$(nm -D "$backend" | grep ' u '); then
  fail "$backend has symbols that are one for the whole process:" "$found"
fi
used=$(nm -D -C "$backend" && nm -C "$backend")  # Kokkos' own library, or in this one
[[ $used == *' U Kokkos::'* || $used == *' t Kokkos::'* ]] || fail "$backend does not use Kokkos"
