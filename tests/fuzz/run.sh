#!/bin/sh
# run.sh SECONDS [NAME...] - build the fuzz targets with clang and run each that long (NAME: only
# these, as in "spec rules").  A finding ends it, and stays in the build directory.
#
#   SHD_FUZZ_BUILD   where to build (default: build-fuzz in the current directory)
#   CLANG            the compiler (default: clang-14, else clang)
#   SHARDSIM_GOLDEN  golden data, whose questions `query` starts from
#
# SPDX-License-Identifier: Apache-2.0
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:?usage: run.sh SECONDS [NAME...]}
shift
[ $# -gt 0 ] || set -- spec rules pattern safetensors hlo import_rules graph_text hardware scenario query
build=${SHD_FUZZ_BUILD:-build-fuzz}
: "${CLANG:=$(command -v clang-14 || command -v clang)}"
sanitize=-fsanitize=fuzzer-no-link,address,undefined

mkdir -p "$build"
cd "$build"
if [ ! -f Makefile ]; then
    "$src/configure" --without-jemalloc --disable-openmp --disable-shared \
        --enable-static CC="$CLANG" \
        CFLAGS="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all $sanitize" >configure.log
fi
make -s -j"${SHD_JOBS:-2}" libshd.la libsim.la >make.log
libs=$(pkg-config --libs yaml-0.1 jansson libpcre2-8)

# Something to start from: what the format looks like.
seed() {
    case $1 in
    spec) printf "P(('dp', 'fsdp'), None, 'tp')" ;;
    rules) printf '[["mlp/(up|gate)", [null, [dp, tp]]], [".*", []]]' ;;
    pattern) printf 'attention|mlp->data,hidden->model.sp' ;;
    query) printf '{"id":1,"op":"re.search","in":{"pattern":"a","string":"b"}}' ;;
    safetensors) printf '{"a.b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' ;;
    import_rules)
        printf 'axis_dims = (1, -1, 2, 1)\nreturn (\n'
        printf '    (r"q_proj/\\w+", P(("fsdp", "sp"), "tp")), ("norm|bias", pm.resolve(Replicated)),\n'
        printf '    (".*", PartitionSpec(None)),\n)\n'
        ;;
    *) ;;
    esac
}

for name in "$@"; do
    # shellcheck disable=SC2086  # libs are words
    "$CLANG" -std=gnu17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. \
        -I"$src/lib" -I"$src/sim/run" -I"$src/sim/api" -I"$src/sim/trial" -I"$src/sim" \
        "$src/tests/fuzz/${name}_fuzz.c" .libs/libsim.a .libs/libshd.a $libs -lm -pthread \
        -o "${name}_fuzz"
    mkdir -p "corpus/$name"
    seed "$name" >"corpus/$name/seed"
    [ "$name" != hardware ] || cp "$src"/scenarios/hardware/*.yaml "corpus/$name"
    [ "$name" != hlo ] || cp "$src/examples/step.hlo.txt" corpus/hlo
    [ "$name" != import_rules ] || cp "$src/examples/t5x.gin" corpus/import_rules
    [ "$name" != query ] || split -l 1 "$src/tests/failures.jsonl" "corpus/query/op-"
    echo "fuzz: $name, $seconds s"
    "./${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
        -print_final_stats=1 "corpus/$name" >"$name.log" 2>&1 || {
        tail -n 40 "$name.log"
        echo "fuzz: $name has a finding; see $build/$name.log"
        exit 1
    }
    grep stat::number_of_executed_units "$name.log"
done
