#!/usr/bin/env bash
# Prints the changelog of one version.
set -euo pipefail
cd "$(dirname "$0")/.."
sed -n "/^## $1\( \|\$\)/,/^## /{/^## /d;p;}" CHANGELOG.md
