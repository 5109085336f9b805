/* The factors by which a config.json multiplies what a model's parts compute, as Falcon-H1's
 * (family_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "scenario/family_reader.h"

#define STATES 5 /* of ssm_multipliers: z, x, b, c and dt */

/* Read `n` numbers above 0; those of a missing list stay. */
static bool read_list(double *out, size_t n, const struct family_reader *c, const char *key)
{
    const struct yaml_node *list = family_find(c->root, key);
    bool good = !list || (list->kind == YAML_LIST && list->nitems == n);

    for (size_t i = 0; good && list && i < n; i++)
        good = yaml_read_double(list->items[i], &out[i]) && out[i] > 0;
    if (!good)
        diag_error(c->diag, list->place, "%s: expected a list of %zu numbers above 0", key, n);
    return good;
}

/* A factor of attention's input is one of queries, keys and values, so its square is one of scores,
 * and itself one of the output. */
bool family_read_factors(const struct family_reader *c)
{
    double key = 1, in = 1, out = 1, state_in = 1, mlp[2] = {1, 1}, states[STATES];
    struct scenario_model *m = c->model;
    struct scenario_linear *l = &m->linear;

    if (!(c->row->layers & FAMILY_FACTORS))
        return true;
    for (size_t i = 0; i < STATES; i++)
        states[i] = 1;
    if (!family_read_number(&key, c, c->root, "key_multiplier") ||
        !family_read_number(&in, c, c->root, "attention_in_multiplier") ||
        !family_read_number(&out, c, c->root, "attention_out_multiplier") ||
        !family_read_number(&state_in, c, c->root, "ssm_in_multiplier") ||
        !read_list(mlp, 2, c, "mlp_multipliers") ||
        !read_list(states, STATES, c, "ssm_multipliers"))
        return false;
    m->attention_scale = key * in * in / sqrt((double)m->head_dim);
    m->attention_out_scale = in * out;
    m->activation_scale = mlp[0];
    m->mlp_out_scale = mlp[1];
    l->gate_scale = state_in * states[0];
    l->value_scale = state_in * states[1];
    l->key_scale = state_in * states[2];
    l->query_scale = state_in * states[3];
    l->step_scale = state_in * states[4];
    return true;
}
