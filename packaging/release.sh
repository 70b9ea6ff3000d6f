#!/bin/sh
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Makes a release of the commit that is checked out: an archive of the sources, Debian packages, wheels
# of the Python module (one for Python 3.12 and later, if there is such a Python) and their checksums in
# build/release, and a tag. Refuses a tree with changes, a version that the changelog does not have or
# calls not released, and one that exists.
#
#   packaging/release.sh [--no-tests]

set -eu
cd "$(dirname "$0")/.."

refuse() {
    echo "release: $*" >&2
    exit 2
}

version=$(sed -n 's/^#define RESHARD_VERSION_[A-Z]* \([0-9]*\)$/\1/p' include/reshard/version.hpp | paste -sd.)
[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && refuse "v$version exists; raise include/reshard/version.hpp"
grep -qx "## $version" CHANGELOG.md || refuse "CHANGELOG.md has no line \"## $version\" (without \"not released yet\")"
grep -q "\"version\": \"$version\"" packaging/vcpkg/reshard/vcpkg.json || refuse "packaging/vcpkg/reshard/vcpkg.json has another version"

[ "${1:-}" = --no-tests ] || .ci/run
out=build/release
rm -rf "$out"
mkdir -p "$out"
git archive --format=tar.gz --prefix="reshard-$version/" -o "$out/reshard-$version.tar.gz" HEAD
cmake --preset default -G Ninja >/dev/null
cmake --build build -- --quiet
(cd build && cpack -G DEB >/dev/null && mv ./*.deb release/)
./bootstrap.sh tools
packaging/wheel.sh
for python in python3.12 python3.13; do
    if "$python" --version >/dev/null 2>&1; then
        packaging/wheel.sh "$python"
        break
    fi
done
cp "build/wheels/reshard-$version"-*.whl "$out"
(cd "$out" && sha256sum ./* >SHA256SUMS && cat SHA256SUMS)
git tag -a "v$version" -m "Reshard $version"
echo "release: v$version is tagged; push it with: git push origin v$version"
