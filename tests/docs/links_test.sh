#!/usr/bin/env bash
# No link of the pages leads nowhere, neither in the tree nor in the site that is made of them. Then planted faults show
# that this is noticed. Usage: links_test.sh DOXYGEN MKDOCS_FOLDER; without arguments it checks the tree only.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 "$here/links.py" tree .

# Expects a fault after an edit of a page.
expect_fault() {
  local kind=$1 folder=$2 page=$3 edit=$4 said
  cp "$page" "$work/before"
  sed -i "$edit" "$page"
  if cmp -s "$page" "$work/before"; then
    printf '%s changes nothing in %s\n' "$edit" "$page"
    exit 1
  fi
  if said=$(python3 "$here/links.py" "$kind" "$folder"); then
    printf 'no fault after %s in %s\n' "$edit" "$page"
    exit 1
  fi
  printf 'found: %s\n' "$said"
  cp "$work/before" "$page"
}

mkdir "$work/tree"
ln -s "$PWD"/{LICENSE,algorithms,bindings,cmake,examples,kernels,runtime,tests,transports} "$work/tree"
cp -r README.md CONTRIBUTING.md docs "$work/tree"
expect_fault tree "$work/tree" "$work/tree/README.md" 's|(docs/replay.md)|(docs/reply.md)|'
expect_fault tree "$work/tree" "$work/tree/README.md" 's|configuration.md#what-computes|configuration.md#what-counts|'
expect_fault tree "$work/tree" "$work/tree/CONTRIBUTING.md" 's|`algorithms/manifest.def`|`algorithms/manifests.def`|'
[[ $# == 2 ]] || exit 0

printf '%s\n' '@INCLUDE = docs/Doxyfile' "OUTPUT_DIRECTORY = $work" 'HTML_OUTPUT = reference' \
  "GENERATE_TAGFILE = $work/tags.xml" | "$1" -
mv "$work/tags.xml" "$work/reference"
docs/site/make.sh "$2" "$work/reference" "$work"
python3 "$here/links.py" site "$work/site"

expect_fault site "$work/site" "$work/site/index.html" 's|configuration.html#what-computes|configuration.html#what-counts|'
expect_fault site "$work/site" "$work/site/algorithms.html" 's|reference/ring__phases_8hpp|reference/rings_8hpp|'
expect_fault site "$work/site" "$work/site/sparse_evidence.html" 's|src="sparse.svg"|src="sparse.png"|'
expect_fault site "$work/site" "$work/site/index.html" 's|<head>|<head><script src="https://example.org/x.js"></script>|'
expect_fault site "$work/site" "$work/site/reference/index.html" 's|href="../index.html"||'

# MkDocs itself refuses a page that the navigation lacks.
printf '# A page\n' >"$work/pages/unlisted.md"
if PYTHONPATH=$2 LACUNA_SITE_PAGES=$work/pages LACUNA_SITE=$work/site \
  python3 -m mkdocs build --strict --config-file docs/site/mkdocs.yml 2>"$work/said"; then
  echo 'MkDocs has taken a page that the navigation lacks'
  exit 1
fi
printf 'found: %s\n' "$(cat "$work/said")"
