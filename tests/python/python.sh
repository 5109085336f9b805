#!/bin/sh
# Tests the Python package: its own tests with this program, its types, its wheel, and the example
# of its README.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
package=$(cd "$top_srcdir/python" && pwd)
top_srcdir=$(cd "$top_srcdir" && pwd)
SHARDSIM=$shardsim
PYTHONDONTWRITEBYTECODE=1
export SHARDSIM PYTHONDONTWRITEBYTECODE top_srcdir

cd "$tmp" || exit 1
PYTHONPATH=$package/src timeout "$LIMIT" python3 -m unittest discover -v -s "$package/tests" >log 2>&1
passed=$?
ok "$passed" "python: the tests of the package"
[ "$passed" -eq 0 ] || diag <log
grep -q '^Ran [1-9][0-9]* tests' log
ok $? "python: there are tests"

# Traced programs need numpy; those of frameworks also need the framework, and their tests are skipped
# without it.
tracer=
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && tracer=${tracer:-$python}
done
if [ -n "$tracer" ]; then
    (cd "$package/tests" && PYTHONPATH=$package/src timeout "$LIMIT" "$tracer" -m unittest -v test_trace) >log 2>&1
    passed=$?
    ok "$passed" "python: traced programs, executed and planned"
    [ "$passed" -eq 0 ] || diag <log
else
    skip "python: traced programs, executed and planned" "no numpy"
fi

# The example of the README runs, line by line.
# shellcheck disable=SC2016
sed -n '/^```python$/,/^```$/p' "$package/README.md" | sed '/^```/d; /to_frame\|matrix()/d' >example.py
(cd "$top_srcdir" && PYTHONPATH=$package/src timeout "$LIMIT" python3 "$tmp/example.py") >log 2>&1
ok $? "python: the example of its README"
diag <log

# A wheel is built without network, if the tools for wheels are installed.
cp -R "$package" copy
chmod -R u+w copy
builder=
for python in python3 /usr/bin/python3; do
    "$python" -c 'import setuptools, wheel, pip' 2>/dev/null && builder=${builder:-$python}
done
if [ -n "$builder" ]; then
    (cd copy && SHARDSIM_PROGRAM=$shardsim "$builder" -m pip wheel -q --no-index --no-build-isolation --no-deps -w dist . &&
        "$builder" -m pip install -q --no-index --no-deps --target "$tmp/there" dist/*-py3-none-*.whl) >log 2>&1
    ok $? "python: the wheel is built, for any Python, and installed"
    diag <log
    PYTHONPATH=$tmp/there env -u SHARDSIM PATH=/usr/bin:/bin python3 -c 'import shardsim, shardsim.program
assert shardsim.program.find().startswith("'"$tmp/there"'"), shardsim.program.find()
assert shardsim.plan("'"$scenarios"'/fsdp.yaml").only.devices == 8' 2>log
    ok $? "python: the wheel works, with the program inside"
    diag <log
    [ "$(PYTHONPATH=$tmp/there env -u SHARDSIM "$builder" "$tmp/there/bin/shardsim" --version)" = "$("$shardsim" --version)" ]
    ok $? "python: the wheel's command is the program"
    rm "$tmp/there/shardsim/bin/shardsim"
    PYTHONPATH=$tmp/there PATH=$tmp/there/bin:$PATH env -u SHARDSIM timeout 20 "$builder" "$tmp/there/bin/shardsim" --version 2>log
    [ $? -eq 1 ] && grep -q 'does not contain the program' log
    ok $? "python: a wheel without the program says so"
    # Sources that are configured in place are not built elsewhere, which is said before configure does.
    mkdir source
    cp -R copy source/python
    touch source/configure.ac source/config.status
    ! (cd source/python && "$builder" -m pip wheel -q --no-index --no-build-isolation --no-deps -w dist .) >log 2>&1 &&
        grep -q "source is configured in place.*'make distclean' there.*SHARDSIM_PROGRAM" log
    ok $? "python: sources configured in place"
    diag <log
else
    skip "python: the wheel is built" "no pip, setuptools and wheel"
fi
if command -v mypy >/dev/null; then
    (cd copy && mypy --strict) >log 2>&1
    ok $? "python: types"
    diag <log
else
    skip "python: types" "no mypy"
fi
done_testing
