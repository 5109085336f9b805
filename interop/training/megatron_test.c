/* Reads the model_config.yaml of a functional test of Megatron-LM, whose options are a map:
 *
 * MODEL_ARGS:
 * --num-layers: 12
 * --bf16: true          a flag
 * --split: 949,50,1
 *
 * The file gives neither the program nor the devices: the program follows from the folder of the
 * test, if the folder keeps its original name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/yaml.h"
#include "training/megatron.h"
#include "training/megatron_options.h"

#define OPTIONS "MODEL_ARGS"
#define FILE_NAME "/model_config.yaml"

bool megatron_is_test(const char *text)
{
    const char *at = text;

    while ((at = strstr(at, OPTIONS ":")) && at > text && at[-1] != '\n')
        at++;
    return at;
}

/* ".../test_cases/bert/CASE/model_config.yaml" is a test of BERT. */
static void read_folder(struct import_job *job, struct place first, struct diag *diag)
{
    struct text folder = TEXT_INIT;
    const char *end = strstr(first.file, FILE_NAME);

    if (!end || strcmp(end, FILE_NAME) != 0)
        return;
    while (end > first.file && end[-1] != '/')
        end--;
    if (end > first.file)
        end--;
    text_add_char(&folder, '/');
    text_add_bytes(&folder, first.file, (size_t)(end - first.file));
    if (folder.failed)
        diag_no_memory(diag);
    else
        megatron_read_program(job, text_get(&folder), (struct place){first.file, 1, 1}, diag);
    text_fini(&folder);
}

/* Append a value; a list becomes its values, separated by spaces, as in "[a b]". */
static void add_value(struct text *out, const struct yaml_node *node)
{
    if (node->kind == YAML_TEXT)
        text_add(out, node->text);
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++)
        text_addf(out, "%s%s", i ? " " : "",
                  node->items[i]->kind == YAML_TEXT ? node->items[i]->text : "...");
}

static void read_entry(struct import_job *job, const struct yaml_node *key,
                       const struct yaml_node *node, struct diag *diag)
{
    struct text value = TEXT_INIT;
    bool flag, is_bool = yaml_read_bool(node, &flag);

    add_value(&value, node);
    if (value.failed)
        diag_no_memory(diag);
    else if (strncmp(key->text, "--", 2) != 0)
        diag_error(diag, key->place,
                   "'%.60s' is not an option of Megatron-LM; expected options such as --num-layers",
                   key->text);
    else if (node->kind == YAML_MAP)
        diag_error(diag, node->place, "%.60s is a map; expected a value", key->text);
    else if (!strcmp(key->text, "--data-path") && !job->known_program &&
             strstr(text_get(&value), "bert"))
        diag_error(diag, node->place,
                   "the data path is for BERT, which is not modelled; expected a gpt or t5 test");
    else if (!is_bool || flag)
        megatron_set(job, key->text, is_bool || yaml_is_null(node) ? NULL : text_get(&value),
                     key->place, node->place, diag);
    else
        megatron_set(job, key->text, "false", key->place, node->place, diag);
    text_fini(&value);
}

void megatron_read_test(struct import_job *job, struct place first, const char *text,
                        struct diag *diag)
{
    const struct yaml_node *root, *options;
    struct yaml_doc *doc;

    job->end = first;
    read_folder(job, first, diag);
    if (yaml_doc_parse(&doc, first, text, strlen(text), diag) != SHD_OK)
        return;
    root = yaml_doc_root(doc);
    options = root->kind == YAML_MAP ? yaml_find(root, OPTIONS) : NULL;
    if (!options || options->kind != YAML_MAP)
        diag_error(diag, options ? options->place : first,
                   "%s is not a map; expected a map of options", OPTIONS);
    for (size_t i = 0; options && options->kind == YAML_MAP && i < options->nitems; i++)
        read_entry(job, options->keys[i], options->items[i], diag);
    yaml_doc_destroy(doc);
}
