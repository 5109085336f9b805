/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/busy.h"

bool busy_is_heavy(enum graph_op op)
{
    return op == GRAPH_EINSUM || op == GRAPH_ATTENTION || op == GRAPH_ATTENTION_GRAD;
}

uint32_t busy_brought(const struct rule *rule, uint32_t k, const struct shd_sharding *home)
{
    uint32_t brought = 0;

    for (uint32_t d = 0; d < home->rank; d++)
        for (uint8_t a = 0; a < home->dims[d].naxes; a++)
            if (!rule->factors[rule->operand[k][d]].whole)
                brought |= 1u << home->dims[d].axes[a];
    return brought;
}

uint32_t busy_axes(const struct assign *assign, size_t naxes)
{
    uint32_t axes = 0;

    for (size_t a = 0; a < naxes; a++)
        if (assign->place[a] != ASSIGN_NONE)
            axes |= 1u << a;
    return axes;
}
