/* Reads the configuration that torchtitan writes with --debug.save_config_file: since 2026 its own
 * configurations are functions in Python, and this JSON is their result.
 *
 * {"model_spec": {"name": "llama3", "flavor": "8B", ...}, "training": {"steps": 10, ...}, ...}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/yaml.h"
#include "training/torchtitan.h"

struct tree {
    struct import_job *job;
    struct diag *diag;
};

/* Whether null is a value of an option, rather than a missing value. */
static bool takes_null(const char *name)
{
    const struct import_option *o = import_option_find(torchtitan_options, name);

    for (size_t i = 0; o && o->words && o->words[i]; i++)
        if (!strcmp(o->words[i], "null"))
            return true;
    return false;
}

/* Append ["a", "b"], as in a file of options; a list may have lists, which have texts. */
static void add_list(struct text *out, const struct yaml_node *list)
{
    text_add_char(out, '[');
    for (size_t i = 0; i < list->nitems; i++) {
        const struct yaml_node *item = list->items[i];

        text_add(out, i ? ", " : "");
        if (item->kind != YAML_LIST)
            text_addf(out, "\"%s\"", item->kind == YAML_TEXT ? item->text : "...");
        for (size_t k = 0; item->kind == YAML_LIST && k < item->nitems; k++)
            text_addf(out, "%s\"%s\"", k ? ", " : "[",
                      item->items[k]->kind == YAML_TEXT ? item->items[k]->text : "...");
        text_add(out, item->kind == YAML_LIST ? "]" : "");
    }
    text_add_char(out, ']');
}

static void set(const struct tree *t, const char *name, const struct yaml_node *node)
{
    struct text text = TEXT_INIT;

    if (yaml_is_null(node) && !takes_null(name))
        return;
    if (node->kind == YAML_LIST)
        add_list(&text, node);
    else if (node->kind == YAML_TEXT)
        text_add(&text, node->text);
    if (text.failed)
        diag_no_memory(t->diag);
    else if (node->kind == YAML_MAP)
        diag_error(t->diag, node->place, "%s is a map; expected a value", name);
    else if (!node->quoted ||
             torchtitan_check_quotes(name, text_get(&text), true, node->place, t->diag))
        torchtitan_set(t->job, name, text_get(&text), node->place, node->place, t->diag);
    text_fini(&text);
}

/* The kind of a policy follows from its options; the policy none has no options. */
static void read_policy(const struct tree *t, const struct yaml_node *node)
{
    bool selective;

    if (node->kind != YAML_MAP) {
        t->job->recompute = "none";
    } else if (yaml_find(node, "mode")) {
        t->job->by_ops = !yaml_find(node, "selective_ac_option");
        return;
    } else if (yaml_find(node, "memory_budget")) {
        diag_error(t->diag, node->place,
                   "activation_checkpoint by a memory budget is not modelled; expected full or "
                   "none");
    } else {
        selective = yaml_find(node, "force_recompute_mm_shapes_by_fqns") ||
                    yaml_find(node, "per_op_sac_force_recompute_mm_shapes_by_fqns");
        t->job->by_ops = selective;
        t->job->recompute = selective ? "selective" : "full";
    }
    t->job->said[import_option_find(torchtitan_options, "activation_checkpoint.mode") -
                 torchtitan_options] = true;
}

/* {"param_groups": [{"pattern": ".*", "optimizer_name": "AdamW", "optimizer_kwargs": {...}}]} */
static void read_groups(const struct tree *t, const struct yaml_node *groups)
{
    const struct yaml_node *group = groups->nitems == 1 ? groups->items[0] : NULL;
    const struct yaml_node *name, *options, *betas;

    if (!group || group->kind != YAML_MAP) {
        diag_error(t->diag, groups->place,
                   "optimizer.param_groups: a scenario has one optimizer; expected one group");
        return;
    }
    name = yaml_find(group, "optimizer_name");
    options = yaml_find(group, "optimizer_kwargs");
    if (name)
        set(t, "optimizer.name", name);
    for (size_t i = 0; options && options->kind == YAML_MAP && i < options->nitems; i++) {
        struct text key = TEXT_INIT;

        text_addf(&key, "optimizer.%s", options->keys[i]->text);
        if (options->items[i]->kind == YAML_TEXT)
            set(t, text_get(&key), options->items[i]);
        text_fini(&key);
    }
    betas = options && options->kind == YAML_MAP ? yaml_find(options, "betas") : NULL;
    if (betas && betas->kind == YAML_LIST && betas->nitems == 2) {
        set(t, "optimizer.beta1", betas->items[0]);
        set(t, "optimizer.beta2", betas->items[1]);
    }
}

/* The tree of the model's modules follows from its name and flavor; converters leave no trace. */
static void read_model(const struct tree *t, const struct yaml_node *spec)
{
    const struct yaml_node *name = yaml_find(spec, "name"), *flavor = yaml_find(spec, "flavor");

    if (name)
        set(t, "model.name", name);
    if (flavor)
        set(t, "model.flavor", flavor);
    if (yaml_find(spec, "model"))
        text_add(&t->job->notes, "# The file does not say whether matmuls are in FP8 "
                                 "(Float8LinearConverter and the like): planned in 16 bits.\n");
}

/* Set all options of a map, by dotted names; sections without effect are left out as a whole. */
static void read_map(const struct tree *t, const char *prefix, const struct yaml_node *map)
{
    for (size_t i = 0; i < map->nitems && !diag_is_full(t->diag); i++) {
        const struct yaml_node *node = map->items[i];
        struct text name = TEXT_INIT;

        text_addf(&name, "%s%s", prefix, map->keys[i]->text);
        if (name.failed)
            diag_no_memory(t->diag);
        else if (!strcmp(text_get(&name), "model_spec") && node->kind == YAML_MAP)
            read_model(t, node);
        else if (!strcmp(text_get(&name), "optimizer.param_groups") && node->kind == YAML_LIST)
            read_groups(t, node);
        else if (node->kind == YAML_MAP) {
            text_add_char(&name, '.');
            read_map(t, text_get(&name), node);
        } else if (strcmp(text_get(&name), "activation_checkpoint") != 0)
            set(t, text_get(&name), node);
        text_fini(&name);
    }
}

void torchtitan_read_json(struct import_job *job, struct place first, const char *text,
                          struct diag *diag)
{
    struct tree t = {job, diag};
    const struct yaml_node *root, *policy;
    struct yaml_doc *doc;

    job->end = first;
    if (yaml_doc_parse(&doc, first, text, strlen(text), diag) != SHD_OK)
        return;
    root = yaml_doc_root(doc);
    policy = root->kind == YAML_MAP ? yaml_find(root, "activation_checkpoint") : NULL;
    if (policy)
        read_policy(&t, policy);
    if (root->kind == YAML_MAP)
        read_map(&t, "", root);
    else
        diag_error(diag, first, "expected the sections of a configuration");
    yaml_doc_destroy(doc);
}
