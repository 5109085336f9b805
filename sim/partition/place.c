/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/place.h"

#include "partition/follow.h"
#include "partition/placement_search.h"

int place_values(struct placement *out, struct pool *pool, const struct partition_request *request,
                 struct shd_error *err)
{
    int status = placement_init(out, pool, request, err);

    if (status != SHD_OK)
        return status;
    if (request->placement == PARTITION_SEARCH)
        search_placement(out);
    else
        follow_placement(out);
    return SHD_OK;
}
