#!/bin/sh
# Tests placement: search - in every strategy of the shipped scenarios, and for any number of
# microbatches, devices receive no more bytes than with placement: follow.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# Under sanitizers, which are slow, only training steps are planned: some of their ops run once,
# others once per microbatch.
set -- "$scenarios"/*.yaml
small_size && set -- "$scenarios"/train_*.yaml
for file; do
    shardsim plan -q --json "$file"
    name=${file##*/}
    is 0 "$name: planned"
    holds "$name: a search receives no more than by following" <<'PY'
for plan in r if isinstance(r, list) else [r]:
    follow, search = plan["received_bytes"]["total"], plan["search"]["received_bytes"]
    assert search <= follow, (plan["strategy"], search, follow)
PY
done
done_testing
