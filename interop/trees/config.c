/* Reads a Hugging Face config.json: the arrays of the model that a plan of it has, as its family's
 * module names and stores them (rules/names.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "rules/names.h"
#include "scenario/family.h"
#include "trees/import.h"

#define NEAR 16 /* parts of an array are among so many arrays before it */
#define MTP "mtp/"

struct array {
    struct names_array there;
    int64_t layer;   /* of its name; less than 0: none */
    int64_t experts; /* number of arrays, one per expert; 0: a single array */
    int64_t shape[GRAPH_RANK_MAX];
    size_t rank, grows; /* dimension along which further parts are appended; `rank`: none */
};

struct config {
    const struct yaml_node *root;
    struct family_config family;
    struct scenario_file *file; /* a scenario of the model */
    struct graph *graph;
    struct array *arrays;
    size_t narrays;
    struct shd_tree *tree;
    struct diag *diag;
};

/* ---- the model ---- */

/* Build the model as plans do; windows and positions have no arrays. */
static int build(struct config *c)
{
    static const char text[] =
        "{version: 1, mesh: {one: 1}, model: {kind: mlp, d_model: 1, d_ff: 1}, batch: {size: 1, "
        "seq: 1}, step: [forward], params: [[.*, []]]}";
    int status = scenario_parse(&c->file, "config", text, strlen(text), NULL, 0, c->diag);

    if (status != SHD_OK)
        return status;
    c->file->scenarios[0].model = c->family.model;
    status = model_graph(&c->graph, &c->file->scenarios[0], c->diag);
    if (status != SHD_OK)
        return status;
    c->arrays = calloc((size_t)c->graph->nnodes + 1, sizeof(*c->arrays));
    return c->arrays ? SHD_OK : SHD_ENOMEM;
}

/* ---- the arrays ---- */

/* Set the shape by the dimensions of the parameter that make it up. */
static void set_shape(struct array *a, const int64_t *ours)
{
    const char *dims = a->there.dims;

    a->grows = SIZE_MAX;
    for (a->rank = 0; *dims; a->rank++) {
        int64_t *extent = &a->shape[a->rank];

        if (*dims == '+')
            a->grows = a->rank;
        *extent = 1;
        for (dims += *dims == '+'; *dims && *dims != ' '; dims++)
            *extent *= ours[*dims - '0']; /* below 2^63: the graph has as many elements */
        dims += *dims == ' ';
    }
}

/* Find the array, of those shortly before, that has another part of this one. */
static struct array *find_same(const struct config *c, const struct array *a)
{
    for (size_t i = c->narrays; i > 0 && i + NEAR > c->narrays; i--) {
        struct array *before = &c->arrays[i - 1];

        if (before->layer == a->layer && !strcmp(before->there.name, a->there.name))
            return before;
    }
    return NULL;
}

/* Layers that predict further tokens are numbered behind the others. */
static int add_param(struct config *c, uint32_t node)
{
    const char *name = c->graph->nodes[node].name, *number = name;
    bool mtp = !strncmp(name, MTP, strlen(MTP));
    struct array *a = &c->arrays[c->narrays], *same;
    struct text any = TEXT_INIT;
    int64_t ours[GRAPH_RANK_MAX];
    bool known, failed;

    graph_shape(c->graph, node, ours);
    while (*number && (!isdigit((unsigned char)*number) || number[-1] != '/'))
        number++;
    a->layer = *number ? strtoll(number, NULL, 10) + (mtp ? c->family.model.layers : 0) : -1;
    text_add_any_layer(&any, name + (mtp ? strlen(MTP) : 0));
    known = names_module(&a->there, c->family.type, &c->family.model, a->layer, text_get(&any),
                         c->graph->nodes[node].rank);
    failed = any.failed;
    text_fini(&any);
    if (failed)
        return SHD_ENOMEM;
    if (!known) {
        diag_error(c->diag, c->root->place, "no name of '%s' in models of %s is known", name,
                   c->family.type);
        return SHD_EINVAL;
    }
    a->experts = strchr(a->there.name, '#') ? ours[0] : 0;
    set_shape(a, ours);
    same = a->grows < a->rank ? find_same(c, a) : NULL;
    if (same)
        same->shape[same->grows] += a->shape[a->grows];
    else
        c->narrays++;
    return SHD_OK;
}

/* Add an array with the numbers of its layer and expert. */
static int add_array(const struct config *c, const struct array *a, int64_t expert)
{
    struct text name = TEXT_INIT;
    struct shd_leaf leaf = {.dtype = c->family.dtype, .rank = a->rank, .shape = a->shape};
    int status;

    for (const char *at = a->there.name; *at; at++)
        if (*at == '*')
            text_addf(&name, "%" PRId64, a->layer);
        else if (*at == '#')
            text_addf(&name, "%" PRId64, expert);
        else
            text_add_char(&name, *at);
    leaf.name = text_get(&name);
    status = name.failed ? SHD_ENOMEM : import_add(c->tree, &leaf, c->root->place, c->diag);
    text_fini(&name);
    return status;
}

static int add_all(struct config *c)
{
    int status = SHD_OK;

    for (uint32_t node = 0; status == SHD_OK && node < c->graph->nnodes; node++)
        if (c->graph->nodes[node].op == GRAPH_PARAM)
            status = add_param(c, node);
    for (size_t i = 0; status == SHD_OK && i < c->narrays; i++)
        for (int64_t e = 0;
             status == SHD_OK && e < (c->arrays[i].experts ? c->arrays[i].experts : 1); e++)
            status = add_array(c, &c->arrays[i], e);
    return status;
}

int import_config(struct shd_tree *tree, const struct yaml_node *root, struct diag *diag)
{
    struct config c = {.root = root, .tree = tree, .diag = diag};
    int status = family_read(&c.family, root, FAMILY_ARRAYS, diag);

    if (status == SHD_OK)
        status = build(&c);
    if (status == SHD_OK)
        status = add_all(&c);
    free(c.arrays);
    graph_destroy(c.graph);
    scenario_file_destroy(c.file);
    return status;
}
