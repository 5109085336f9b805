#!/bin/sh
# embed.sh - YAML files as C text: embed.sh SRCDIR FILE...  >shipped_files.c
#
# A line of a file is a string of its own, since C promises no more than 4,095 bytes in one.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
srcdir=$1
shift

echo '/* Made by embed.sh of the files in scenarios/hardware/. */'
echo '#include "config.h"'
echo
echo '#include "hardware/shipped.h"'
echo
echo '#include <stddef.h>'
names=$(for file in "$@"; do basename "$file" .yaml; done | LC_ALL=C sort)
for name in $names; do
    for file in "$@"; do
        test "$(basename "$file" .yaml)" = "$name" || continue
        test -f "$file" || file=$srcdir/$file
        printf '\nstatic const char *const lines_%s[] = {\n' "$(echo "$name" | tr - _)"
        sed 's/[\\"]/\\&/g; s/.*/    "&\\n",/' "$file"
        printf '    NULL};\n'
    done
done
printf '\nconst struct shipped_file shipped_files[] = {\n'
for name in $names; do
    printf '    {"%s", lines_%s},\n' "$name" "$(echo "$name" | tr - _)"
done
printf '    {NULL, NULL}};\n'
