#!/usr/bin/env bash
# Prints the Homebrew formula of a version from its checksums.
#
#   packaging/formula.sh 0.2.0 SHA256SUMS > recto.rb
set -euo pipefail
[[ $# == 2 ]] || { echo "usage: packaging/formula.sh VERSION SHA256SUMS" >&2; exit 2; }
version=$1 sums=$2
url=https://github.com/${GITHUB_REPOSITORY:-OWNER/recto}/releases/download/v$version
sum() { sed -n "s/^\([0-9a-f]*\)  recto-$version-$1.tar.gz\$/\1/p" "$sums"; }
part() {
    local hash
    hash=$(sum "$1")
    [[ -n $hash ]] || { echo "$sums has no $1" >&2; exit 1; }
    printf '      url "%s/recto-%s-%s.tar.gz"\n      sha256 "%s"\n' "$url" "$version" "$1" "$hash"
}
cat <<END
class Recto < Formula
  desc "Search, read, watch, repair and edit your Claude Code sessions"
  homepage "https://github.com/${GITHUB_REPOSITORY:-OWNER/recto}"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
$(part aarch64-apple-darwin)
    end
    on_intel do
$(part x86_64-apple-darwin)
    end
  end
  on_linux do
    on_arm do
$(part aarch64-unknown-linux-musl)
    end
    on_intel do
$(part x86_64-unknown-linux-musl)
    end
  end

  def install
    bin.install "recto"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/recto.bash" => "recto"
    zsh_completion.install "completions/recto.zsh" => "_recto"
    fish_completion.install "completions/recto.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/recto --version")
  end
end
END
