#!/bin/sh
# Tests what contrib/release looks at before it makes a release, in a small repository of the files that it reads.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

if ! command -v git >/dev/null; then
    skip "a release" "there is no git"
    done_testing
    exit
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# Tools that are looked for, and not called here.
mkdir "$dir/bin"
for tool in dh lintian g++ dpkg; do
    ln -s /bin/true "$dir/bin/$tool"
done
PATH=$dir/bin:$PATH
mkdir -p "$dir/tree/contrib" "$dir/tree/python" "$dir/tree/debian"
for file in contrib/release configure.ac python/pyproject.toml debian/changelog debian/control NEWS.md; do
    cp "$top_srcdir/$file" "$dir/tree/$file"
done
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git -C "$dir/tree" -c init.defaultBranch=main init -q
git -C "$dir/tree" add -A
git -C "$dir/tree" commit -q -m all

release() {
    sh "$dir/tree/contrib/release" "$@" >"$dir/said" 2>&1
}

# is STATUS TEXT WORDS: the last command's status, what it is about, and words that it must have said
is() {
    [ "$1" -eq 0 ] && grep -q -F -e "$3" "$dir/said"
    ok $? "$2"
    diag <"$dir/said"
}

release --dry-run "$dir/out"
is $? "a release would be tagged" "the tag v"
[ "$(grep -c -e '[.]tar[.]gz$' -e '[.]deb$' -e '[.]whl' -e SHA256SUMS "$dir/said")" -ge 5 ] && [ ! -e "$dir/out" ]
ok $? "it would have a tarball, packages, a wheel and checksums, and none is made"
diag <"$dir/said"
rm "$dir/bin/lintian"
command -v lintian >/dev/null || { ! release --dry-run "$dir/out" deb && grep -q "Debian has it in lintian" "$dir/said"; }
ok $? "a tool that is missing is told first"
ln -s /bin/true "$dir/bin/lintian"
release --dry-run "$dir/out" sums && ! grep -q deb "$dir/said"
ok $? "a step alone"
! release --dry-run "$dir/out" rpm
is $? "no such step" "expected tarball, deb, wheel, sums or tag"

release "$dir/out" tag && git -C "$dir/tree" rev-parse -q --verify "v$(sed -n 's/^AC_INIT(.shardsim.,.\(.*\).)/\1/p' \
    "$dir/tree/configure.ac")" >"$dir/said"
ok $? "the commit is tagged"
release --dry-run "$dir/out"
is $? "once more, of the same commit" "the tag v"

echo more >>"$dir/tree/NEWS.md"
! release --dry-run "$dir/out"
is $? "changes that are not committed" "not committed"
git -C "$dir/tree" commit -q -a -m more
! release --dry-run "$dir/out"
is $? "the tag is another commit" "is another commit"
sed -i 's/^version = .*/version = "9.9"/' "$dir/tree/python/pyproject.toml"
! release --dry-run "$dir/out"
is $? "a version that differs" "is not that of pyproject.toml"
done_testing
