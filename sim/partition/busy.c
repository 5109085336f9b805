/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/busy.h"

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

int64_t busy_sharers(const struct assign *assign, const struct shd_mesh *mesh)
{
    int64_t n = 1;

    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (assign->place[a] >= 0 || assign->place[a] == ASSIGN_FLAT)
            n *= shd_mesh_axis_size(mesh, a);
    return n;
}

void busy_agreed(uint32_t agreed[RULE_FACTORS_MAX], const struct rule *rule,
                 const struct shd_sharding *const homes[GRAPH_INPUTS_MAX])
{
    uint8_t noperands[RULE_FACTORS_MAX] = {0};

    for (uint32_t f = 0; f < RULE_FACTORS_MAX; f++)
        agreed[f] = UINT32_MAX;
    for (uint32_t k = 0; k < rule->noperands; k++)
        for (uint32_t d = 0; d < homes[k]->rank; d++) {
            uint32_t axes = 0;

            for (uint8_t a = 0; a < homes[k]->dims[d].naxes; a++)
                axes |= 1u << homes[k]->dims[d].axes[a];
            agreed[rule->operand[k][d]] &= axes;
            noperands[rule->operand[k][d]]++;
        }
    for (uint32_t f = 0; f < RULE_FACTORS_MAX; f++)
        if (noperands[f] < 2 || rule->factors[f].whole || rule->factors[f].follows != RULE_FREE)
            agreed[f] = 0;
}

bool busy_keeps_agreed(const struct assign *assign, const uint32_t agreed[RULE_FACTORS_MAX])
{
    for (int8_t f = 0; f < RULE_FACTORS_MAX; f++)
        for (uint32_t a = 0; agreed[f] >> a; a++)
            if (agreed[f] >> a & 1 && assign->place[a] != f)
                return false;
    return true;
}
