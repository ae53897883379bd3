#!/usr/bin/env bash
# Packs a release build: the program, completions, manual pages, licences, and a checksum.
#
#   packaging/archive.sh x86_64-unknown-linux-musl
#   packaging/archive.sh                              # what `cargo build --release` made here
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-}
built=target/${target:+$target/}release
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=recto-$version-${target:-$(rustc -vV | sed -n 's/^host: //p')}
program=$built/recto
[[ -f $program ]] || program=$built/recto.exe
[[ -f $program ]] || { echo "build it first: cargo build --release -p recto" >&2; exit 1; }

folder=target/packages/$name
rm -rf "$folder"
mkdir -p "$folder/completions" "$folder/man"
cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE crates/recto/THIRD-PARTY.md "$folder"
for shell in bash zsh fish powershell elvish; do
    "$program" completions "$shell" > "$folder/completions/recto.$shell"
done
"$program" man > "$folder/man/recto.1"
"$program" help --all | sed -n 's/^  \([a-z]*\) .*/\1/p' | while read -r command; do
    "$program" man "$command" > "$folder/man/recto-$command.1"
done

cd target/packages
case $name in
    *windows*) archive=$name.zip; 7z a -bso0 "$archive" "$name" ;;
    *) archive=$name.tar.gz; tar -czf "$archive" "$name" ;;
esac
rm -rf "$name"
if command -v sha256sum > /dev/null; then
    sha256sum "$archive" > "$archive.sha256"
else
    shasum -a 256 "$archive" > "$archive.sha256"
fi
cat "$archive.sha256"
