#!/bin/sh
# embed.sh - the page's style and script as C text: embed.sh STYLE SCRIPT >page_files.c
#
# A line of a file is a string of its own, since C promises no more than 4,095 bytes in one.  The
# comment that begins a file is for those who read it there, and stays there.
#
# SPDX-License-Identifier: Apache-2.0
set -eu

lines() {
    printf '\nconst char *const files_%s[] = {\n' "$1"
    sed -e '1,/\*\/$/d' -e 's/[\\"]/\\&/g; s/^ *//; s/.*/    "&\\n",/' "$2"
    printf '    NULL};\n'
}

echo '/* Made by embed.sh of style.css and script.js. */'
echo '#include "config.h"'
echo
echo '#include "report/files.h"'
echo
echo '#include <stddef.h>'
lines style "$1"
lines script "$2"
