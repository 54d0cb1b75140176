#!/usr/bin/env bash
# Makes the site of the manual in OUT/site. Usage: docs/site/make.sh MKDOCS_FOLDER REFERENCE OUT
# MKDOCS_FOLDER is where cmake/setup.sh tests has installed MkDocs, REFERENCE what the CMake target `reference` makes.
set -euo pipefail
export PYTHONPATH=$1 LACUNA_SITE_PAGES=$3/pages LACUNA_SITE=$3/site
reference=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 docs/site/pages.py "$reference" "$LACUNA_SITE_PAGES"
python3 -m mkdocs build --strict --clean --config-file docs/site/mkdocs.yml
