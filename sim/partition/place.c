/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/place.h"

#include "partition/follow.h"
#include "partition/placement_search.h"

int place_values(struct placement *out, const struct partition_request *request,
                 struct shd_error *err)
{
    struct placement p;
    int status = placement_init(&p, request, err);

    if (status != SHD_OK)
        return status;
    if (request->placement == PARTITION_SEARCH)
        status = search_placement(&p, err);
    else
        status = follow_placement(&p, err);
    if (status == SHD_OK && price_failed(p.price))
        status = shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", p.graph->nnodes);
    if (status == SHD_OK)
        *out = p;
    else
        placement_fini(&p);
    return status;
}
