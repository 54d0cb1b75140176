#!/usr/bin/env bash
# Copies the tree to a folder, in which only what was built there the last time stays. Usage: copy_tree.sh FOLDER
set -euo pipefail
tree=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mkdir -p "$tree"
find "$tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [[ -e $file ]]; then printf '%s\0' "$file"; fi
done | xargs -0 cp --parents --preserve=timestamps -t "$tree"
