#!/bin/sh
# Tests the notebooks that docs/notebooks.py makes: the lab, and the lessons of the course, run from the
# first cell to the last where only the program and its package are, and the predictions that the lab
# gives as answers are right.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
case $shardsim in /*) ;; *) shardsim=$PWD/$shardsim ;; esac
root=$(cd "$top_srcdir" && pwd)
PATH=$(dirname "$shardsim"):$PATH
SHARDSIM=$shardsim
PYTHONPATH=$root/python/src
PYTHONDONTWRITEBYTECODE=1
COLUMNS=80
export PATH SHARDSIM PYTHONPATH PYTHONDONTWRITEBYTECODE COLUMNS

python3 "$root/docs/notebooks.py" -o "$tmp/all"
ok $? "notebooks: made"
[ "$(cd "$tmp/all" && echo ./*.ipynb | wc -w)" = 11 ]
ok $? "notebooks: the lab and ten lessons"
# A folder for each: what one has written is not there for another.
for notebook in "$tmp"/all/*.ipynb; do
    name=$(basename "$notebook" .ipynb)
    [ "$name" = lab ] || sampled 5 || continue
    mkdir "$tmp/$name"
    (cd "$tmp/$name" && exec python3 "$root/tests/notebook.py" "$notebook") >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "notebooks: $name runs"
    [ "$name" = lab ] || continue
    ok "$(test "$(grep -c ' is right$' "$tmp/out")" -ge 6; echo $?)" "lab: its answers are right"
    ok "$(test "$(grep -c ': predict first$' "$tmp/out")" -ge 6; echo $?)" "lab: a prediction that is not made is no error"
done
python3 "$root/docs/notebooks.py" --without-answers -o "$tmp/class" "$root/docs/lab.md" "$root/docs/course/1_data.md"
ok $? "notebooks: made for a class"
! grep -q '"answer"\|<details>' "$tmp"/class/*.ipynb && grep -q '# Your answer' "$tmp/class/lab.ipynb"
ok $? "notebooks: without answers, cells to fill in"
done_testing
