#!/bin/bash
# installing.sh - from nothing to the first answer, by each way of installing: commands, seconds, bytes, and what
# is left when it is uninstalled. As root; it needs debootstrap and overlay mounts.
#
# usage: bench/installing.sh RELEASE SUITE [WAY]... >>table.md
#
# RELEASE is the folder that contrib/release made, SUITE a release of Debian or Ubuntu (bookworm, trixie, noble); a fresh
# system of it, made once in $SHD_SYSTEMS/SUITE from $SHD_MIRROR, lies below the files of each way. Ways: source tarball deb wheel container.
#
# SPDX-License-Identifier: Apache-2.0
# Dollars in commands are for the shell of the other system.
# shellcheck disable=SC2016
set -u
release=$(cd "$1" && pwd) suite=$2
shift 2
[ $# -gt 0 ] || set -- deb wheel source tarball container
top=$(cd "$(dirname "$0")/.." && pwd)
systems=${SHD_SYSTEMS:-/var/tmp/shardsim-systems}
work=$(mktemp -d -p "$systems")
root=$work/root
packages="gcc libc6-dev make pkg-config libjansson-dev libjemalloc-dev libnlopt-dev libpcre2-dev libsqlite3-dev libyaml-dev zlib1g-dev"

enter() {
    mkdir -p "$work/new" "$work/tmp" "$root"
    mount -t overlay overlay -o "lowerdir=$systems/$suite,upperdir=$work/new,workdir=$work/tmp" "$root"
    mount --bind /proc "$root/proc"
    mount --bind /dev "$root/dev"
    mkdir "$root/release"
    cp "$release"/* "$root/release"
    log=$work/log ncommands=0
}

leave() {
    umount "$root/proc" "$root/dev" "$root"
    rm -rf "$work/new" "$work/tmp"
}
trap 'umount "$root/proc" "$root/dev" "$root" 2>/dev/null; rm -rf "$work"' EXIT

inside() {
    chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive bash -c "$1" >>"$log" 2>&1
}

# cpu: seconds that all commands so far took
cpu() {
    awk -v ticks="$(getconf CLK_TCK)" '{ print ($16 + $17) / ticks }' "/proc/$$/stat"
}

# step COMMAND: one that a person types
step() {
    ncommands=$((ncommands + 1))
    inside "$1" || {
        tail -n 20 "$log" >&2
        echo "installing: $suite: failed: $1" >&2
        return 1
    }
}

bytes() {
    du -sb --exclude=release --exclude=proc --exclude=dev --exclude=var/cache --exclude=var/lib/apt --exclude=tmp "$work/new" |
        cut -f1
}

# row WAY: of what begin and the steps since have counted; then COMMAND uninstalls, and FOLDERs are looked through
row() {
    local way=$1 remove=$2 size began=$3 cpu0=$4 seconds left
    shift 4
    seconds=$(($(date +%s) - began))
    size=$(bytes)
    cpu1=$(cpu)
    inside "$remove"
    left=$(cd "$root" && find "$@" ! -type d \( -name '*shardsim*' -o -path '*/shardsim/*' -o -name 'libshd*' \
        -o -path '*/include/shd/*' \) 2>/dev/null | grep -cv -e '^./release' -e var/log -e /root/shardsim)
    printf '| %s | %s | %d | %d | %.0f | %.0f MB | %d |\n' "$suite" "$way" "$ncommands" "$seconds" \
        "$(awk "BEGIN { print $cpu1 - $cpu0 }")" "$((size / 1000000))" "$left"
}

answer='shardsim compare --plan scenarios/strategies.yaml'

deb() {
    step 'apt-get update' && step 'apt-get install -y --no-install-recommends /release/shardsim_*.deb' &&
        step "cd /usr/share/shardsim && $answer" &&
        row deb 'apt-get purge -y --autoremove shardsim' "$@" usr etc var/lib
}

wheel() {
    step 'apt-get update' && step 'apt-get install -y --no-install-recommends python3-venv' &&
        step 'python3 -m venv /root/v' && step '/root/v/bin/pip install --no-index /release/shardsim-*.whl' &&
        step 'cd /root/v/lib/python3*/site-packages/shardsim/share/shardsim && PATH=/root/v/bin:$PATH '"$answer" &&
        row wheel '/root/v/bin/pip uninstall -y shardsim' "$@" root/v
}

tarball() {
    step 'apt-get update' && step "apt-get install -y --no-install-recommends $packages" &&
        step 'cd /root && tar -xzf /release/shardsim-*.tar.gz' &&
        step 'mkdir /root/b && cd /root/b && ../shardsim-*/configure' && step 'make -C /root/b -j"$(nproc)"' &&
        step 'make -C /root/b install-strip' && step "cd /usr/local/share/shardsim && $answer" &&
        row tarball 'make -C /root/b uninstall' "$@" usr
}

source() {
    mkdir "$root/root/shardsim" && git -C "$top" archive HEAD | tar -x -C "$root/root/shardsim"
    step 'cd /root/shardsim && ./quickstart' &&
        row source 'make -C /root/shardsim/build install uninstall prefix=/root/.local' "$@" usr root/.local
}

# The commands of the recipe, one after the other in one system: there is no engine for containers here.
container() {
    local line
    mkdir "$root/shardsim" && git -C "$top" archive HEAD | tar -x -C "$root/shardsim"
    while IFS= read -r line; do
        case $line in
            'RUN ./quickstart'*) step "cd /shardsim && ${line#RUN }" || return ;;
            RUN*) step "${line#RUN }" || return ;;
            'COPY --from=build /installed/ /') inside 'cp -a /installed/. / && rm -rf /installed /shardsim' ;;
        esac
    done < <(sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$top/contrib/Containerfile")
    step "cd /usr/local/share/shardsim && $answer" && row 'container, its commands' : "$@" nowhere
}

# Ubuntu has what is needed in two parts.
components=main
[ "$suite" != noble ] || components=main,universe
[ -d "$systems/$suite" ] ||
    debootstrap --variant=minbase --components="$components" "$suite" "$systems/$suite" ${SHD_MIRROR:+"$SHD_MIRROR"} >&2 || exit
for way; do
    enter
    "$way" "$(date +%s)" "$(cpu)"
    leave
done
