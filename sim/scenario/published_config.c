/* Reading config.json files of published models (scenario/published_config.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published_config.h"

#include <stdlib.h>
#include <unistd.h>

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
    good = family_read(&config, yaml_doc_root(doc), seq, diag) == SHD_OK;
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

/* Read the file of a model's types, or of its config, and report what is wrong with it. */
static int parse_file(struct yaml_doc **doc, const char *path, struct diag *diag)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = file_read(&text, path, YAML_DOC_BYTES_MAX, &err);

    if (status != SHD_OK)
        diag_failure(diag, (struct place){path, 0, 0}, status, "%s", err.text);
    else
        status =
            yaml_doc_parse(doc, (struct place){path, 1, 1}, text_get(&text), text.length, diag);
    text_fini(&text);
    return status == SHD_OK || status == SHD_ENOMEM ? status : SHD_EINVAL;
}

static int parse_published(struct yaml_doc **doc, size_t n, struct diag *diag)
{
    struct text text = TEXT_INIT;
    int status = SHD_ENOMEM;

    text_addf(&text, "{%s}", published_text(n));
    if (text.failed)
        diag_no_memory(diag);
    else
        status = yaml_doc_parse(doc, (struct place){scenario_model_name(n), 1, 1}, text_get(&text),
                                text.length, diag);
    text_fini(&text);
    return status;
}

/* Parse a model's config: the file, or the config of the published size; NULL: neither. */
static int parse_config(struct yaml_doc **doc, const struct scenario_model *model,
                        struct diag *diag)
{
    *doc = NULL;
    if (model->from)
        return parse_file(doc, model->from, diag);
    return model->size > 0 ? parse_published(doc, (size_t)model->size - 1, diag) : SHD_OK;
}

int64_t scenario_model_longest(const struct scenario_model *model)
{
    struct diag diag = DIAG_INIT; /* what is wrong with a config was told by its reader */
    const struct yaml_node *node = NULL;
    struct yaml_doc *doc;
    int64_t longest = 0;

    if (parse_config(&doc, model, &diag) != SHD_OK)
        doc = NULL;
    diag_fini(&diag);
    if (doc && yaml_doc_root(doc)->kind == YAML_MAP)
        node = yaml_find(family_text(yaml_doc_root(doc)), "max_position_embeddings");
    if (node && node->kind == YAML_TEXT)
        longest = strtoll(node->text, NULL, 10);
    yaml_doc_destroy(doc);
    if (longest == 0 && !model->from && model->size > 0)
        longest = published_longest((size_t)model->size - 1);
    return longest > 0 ? longest : model->positions;
}

/* ---- types of weights ---- */

/* NVIDIA's ModelOpt writes the types of weights into this file beside a config.json; up to 0.29
 * they are nowhere else.  As in vLLM, a quantization_config of the config.json goes first. */
#define BESIDE "hf_quant_config.json"

/* Parse the file of types beside a config.json; NULL: there is none. */
static int parse_beside(struct yaml_doc **doc, const char *from, struct diag *diag)
{
    struct text path = TEXT_INIT;
    int status = SHD_OK;

    *doc = NULL;
    text_add_bytes(&path, from, (size_t)(file_name(from) - from));
    text_add(&path, BESIDE);
    if (path.failed) {
        status = SHD_ENOMEM;
        diag_no_memory(diag);
    } else if (access(text_get(&path), F_OK) == 0) {
        status = parse_file(doc, text_get(&path), diag);
    }
    if (status == SHD_OK && *doc && yaml_doc_root(*doc)->kind != YAML_MAP) {
        status = SHD_EINVAL;
        diag_error(diag, (struct place){text_get(&path), 1, 1},
                   "no quantized types; expected a map with 'quantization'");
    }
    if (status != SHD_OK) {
        yaml_doc_destroy(*doc);
        *doc = NULL;
    }
    text_fini(&path);
    return status;
}

static const struct yaml_node *find_types(struct yaml_doc *doc)
{
    const struct yaml_node *root = doc ? yaml_doc_root(doc) : NULL, *node = NULL;

    if (root && root->kind == YAML_MAP)
        node = family_find(root, "quantization_config");
    if (root && root->kind == YAML_MAP && !node)
        node = family_find(family_text(root), "quantization_config");
    return node;
}

int scenario_model_products(struct text *products, const char **otherwise,
                            const struct scenario_model *model, struct diag *diag)
{
    struct yaml_doc *doc, *beside = NULL;
    int status = parse_config(&doc, model, diag);
    const struct yaml_node *types;

    *otherwise = NULL;
    if (status != SHD_OK)
        return status;
    types = find_types(doc);
    if (!types && model->from)
        status = parse_beside(&beside, model->from, diag);
    if (beside)
        types = yaml_doc_root(beside);
    if (types)
        published_types_read(products, otherwise, types, model->layers);
    if (products->failed) {
        status = SHD_ENOMEM;
        diag_no_memory(diag);
    }
    yaml_doc_destroy(beside);
    yaml_doc_destroy(doc);
    return status;
}
