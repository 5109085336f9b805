#!/bin/sh
# placement: search - in no strategy of a shipped scenario do devices receive more by it than by
# placement: follow, however many microbatches a step has.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"

# Sanitizers take their time: there only steps of which something is done once, something for each
# microbatch.
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
