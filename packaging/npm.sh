#!/usr/bin/env bash
# Makes the npm packages of a version from its archives: one for each platform with the program,
# and one that starts the right one. They are left in target/packages/npm, ready for `npm publish`.
#
#   packaging/npm.sh 0.2.0 target/packages/recto-0.2.0-*.tar.gz
#
# NPM_NAME is the name of the package.
set -euo pipefail
version=$1
shift
name=${NPM_NAME:-recto-cli}
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../target/packages/npm
rm -rf "$out"
mkdir -p "$out"
repository=https://github.com/${GITHUB_REPOSITORY:-OWNER/recto}

# The platform of npm for a target of Rust.
platform() {
    case $1 in
        x86_64-*-linux-*) echo linux x64 ;;
        aarch64-*-linux-*) echo linux arm64 ;;
        x86_64-apple-darwin) echo darwin x64 ;;
        aarch64-apple-darwin) echo darwin arm64 ;;
        x86_64-pc-windows-*) echo win32 x64 ;;
        *) echo "no platform for $1" >&2; exit 1 ;;
    esac
}

dependencies=
for archive in "$@"; do
    target=$(basename "$archive")
    target=${target#recto-"$version"-}
    target=${target%.tar.gz}
    target=${target%.zip}
    read -r os cpu < <(platform "$target")
    folder=$out/$name-$os-$cpu
    mkdir -p "$folder"
    case $archive in
        *.zip) unzip -qj "$archive" '*/recto.exe' '*/LICENSE-*' '*/THIRD-PARTY.md' -d "$folder" ;;
        *) tar -xzf "$archive" --strip-components=1 -C "$folder" --wildcards \
            '*/recto' '*/LICENSE-*' '*/THIRD-PARTY.md' ;;
    esac
    cat > "$folder/package.json" <<END
{
  "name": "$name-$os-$cpu",
  "version": "$version",
  "description": "The program of $name for $os on $cpu",
  "license": "MIT OR Apache-2.0",
  "repository": "$repository",
  "os": ["$os"],
  "cpu": ["$cpu"]
}
END
    dependencies+="${dependencies:+,}
    \"$name-$os-$cpu\": \"$version\""
done

folder=$out/$name
mkdir -p "$folder"
cp "$here/npm/recto.js" "$here/../README.md" "$here/../LICENSE-MIT" "$here/../LICENSE-APACHE" "$folder"
cat > "$folder/package.json" <<END
{
  "name": "$name",
  "version": "$version",
  "description": "Search, read, watch, repair and edit your Claude Code sessions",
  "license": "MIT OR Apache-2.0",
  "repository": "$repository",
  "bin": { "recto": "recto.js" },
  "engines": { "node": ">=18" },
  "optionalDependencies": {$dependencies
  }
}
END
for folder in "$out"/*/; do
    (cd "$folder" && npm pack --silent --pack-destination "$out")
done
