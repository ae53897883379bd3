#!/usr/bin/env bash
# Prints the changelog of one version.
set -euo pipefail
[[ $# == 1 ]] || { echo "usage: packaging/notes.sh VERSION" >&2; exit 2; }
cd "$(dirname "$0")/.."
sed -n "/^## $1\( \|\$\)/,/^## /{/^## /d;p;}" CHANGELOG.md
