/* Reading config.json files of published models (scenario/published_config.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published_config.h"

#include <stdlib.h>

#include "base/file.h"
#include "scenario/family.h"
#include "scenario/family_reader.h"
#include "scenario/published.h"
#include "scenario/published_types.h"

/* Read the text of a config; a file that cannot be read is reported at `from`. */
static bool read_text(struct text *text, struct reader *r)
{
    struct shd_error err;
    const char *path = r->scenario->model.from;
    int status = file_read(text, path, YAML_DOC_BYTES_MAX, &err);

    if (status == SHD_OK)
        return true;
    diag_failure(r->diag, scenario_place(r->scenario, "model.from"), status, "'%s': %s", path,
                 err.text);
    return false;
}

bool published_parse_config(struct scenario_model *out, const char *name, const char *text,
                            size_t length, int64_t seq, struct diag *diag)
{
    struct family_config config;
    struct yaml_doc *doc;
    bool good;

    if (yaml_doc_parse(&doc, (struct place){name, 1, 1}, text, length, diag) != SHD_OK)
        return false;
    good = family_read(&config, yaml_doc_root(doc), FAMILY_BLOCKS, seq, diag) == SHD_OK;
    if (good)
        *out = config.model;
    yaml_doc_destroy(doc);
    return good;
}

bool published_read_config(struct scenario_model *out, struct reader *r)
{
    struct text text = TEXT_INIT;
    bool good =
        read_text(&text, r) && published_parse_config(out, r->scenario->model.from, text_get(&text),
                                                      text.length, r->scenario->batch.seq, r->diag);

    text_fini(&text);
    return good;
}

bool published_model(struct scenario_model *out, size_t n, int64_t seq, struct diag *diag)
{
    struct text config = TEXT_INIT;
    bool good;

    text_addf(&config, "{%s}", published_text(n));
    if (config.failed)
        diag_no_memory(diag);
    good = !config.failed && published_parse_config(out, scenario_model_name(n), text_get(&config),
                                                    config.length, seq, diag);
    text_fini(&config);
    return good;
}

int64_t scenario_model_positions(size_t n)
{
    struct scenario_model model = {.positions = 0};
    struct diag diag = DIAG_INIT;

    (void)published_model(&model, n, INT32_MAX, &diag);
    diag_fini(&diag);
    return model.positions;
}

/* The text of a model's config: its file, or that of its published size. */
static bool add_config(struct text *out, const struct scenario_model *model)
{
    struct shd_error err;

    if (model->from)
        return file_read(out, model->from, YAML_DOC_BYTES_MAX, &err) == SHD_OK;
    if (model->size > 0)
        text_addf(out, "{%s}", published_text((size_t)model->size - 1));
    return model->size > 0 && !out->failed;
}

/* Parse a model's config, whose faults its reader tells; NULL: there is none. */
static struct yaml_doc *parse_config(const struct scenario_model *model)
{
    struct diag diag = DIAG_INIT;
    struct text text = TEXT_INIT;
    struct yaml_doc *doc = NULL;

    if (add_config(&text, model) && yaml_doc_parse(&doc, (struct place){"config", 1, 1},
                                                   text_get(&text), text.length, &diag) != SHD_OK)
        doc = NULL;
    diag_fini(&diag);
    text_fini(&text);
    return doc;
}

int64_t scenario_model_longest(const struct scenario_model *model)
{
    struct yaml_doc *doc = parse_config(model);
    const struct yaml_node *node = NULL;
    int64_t longest = 0;

    if (doc && yaml_doc_root(doc)->kind == YAML_MAP)
        node = yaml_find(family_text(yaml_doc_root(doc)), "max_position_embeddings");
    if (node && node->kind == YAML_TEXT)
        longest = strtoll(node->text, NULL, 10);
    yaml_doc_destroy(doc);
    if (longest == 0 && !model->from && model->size > 0)
        longest = published_longest((size_t)model->size - 1);
    return longest > 0 ? longest : model->positions;
}

void scenario_model_products(struct text *products, const char **otherwise,
                             const struct scenario_model *model)
{
    struct yaml_doc *doc = parse_config(model);
    const struct yaml_node *root = doc ? yaml_doc_root(doc) : NULL, *node = NULL;

    *otherwise = NULL;
    if (root && root->kind == YAML_MAP)
        node = family_find(root, "quantization_config");
    if (root && root->kind == YAML_MAP && !node)
        node = family_find(family_text(root), "quantization_config");
    if (node)
        published_types_read(products, otherwise, node, model->layers);
    yaml_doc_destroy(doc);
}
