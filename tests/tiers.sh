#!/bin/sh
# tiers.sh - the tests that tests/tiers gives to a build whose sanitizers SHD_SANITIZER names ("no": to
# the usual build).
#
# SPDX-License-Identifier: Apache-2.0
case ${SHD_SANITIZER:-no} in
    no) column=c ;;
    *thread*) column=t ;;
    *) column=a ;;
esac
awk -v column="$column" '!/^#/ && index($3, column) { print $1 }' "${0%/*}/tiers"
