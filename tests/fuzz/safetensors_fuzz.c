/* Fuzzes safetensors files, configs and lists with libFuzzer: any bytes are read or refused with a
 * message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "trees/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static struct shd_tree *new_tree(void)
{
    struct shd_tree *tree = NULL;

    require(shd_tree_create(&tree, NULL) == SHD_OK);
    return tree;
}

/* Read the bytes as a header with the right length in front. */
static void read_header(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct shd_tree *tree = new_tree();
    char *bytes = malloc(size + 8);

    require(bytes != NULL);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(size >> 8 * i & 0xff);
    for (size_t i = 0; i < size; i++)
        bytes[8 + i] = (char)data[i];
    int status = import_safetensors(tree, "fuzz", bytes, size + 8, &errors);
    require((status == SHD_OK) == (errors.nerrors == 0));
    free(bytes);
    shd_tree_destroy(tree);
    diag_fini(&errors);
}

static void read_bytes(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct shd_tree *tree = new_tree();
    int status = import_safetensors(tree, "fuzz", (const char *)data, size, &errors);

    require((status == SHD_OK) == (errors.nerrors == 0));
    shd_tree_destroy(tree);
    diag_fini(&errors);
}

static void read_list(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct shd_tree *tree = new_tree();
    struct yaml_doc *doc = NULL;
    struct place start = {"fuzz", 1, 1};

    if (yaml_doc_parse(&doc, start, (const char *)data, size, &errors) == SHD_OK) {
        int status = import_list(tree, yaml_doc_root(doc), &errors);

        require((status == SHD_OK) == (errors.nerrors == 0));
    }
    yaml_doc_destroy(doc);
    shd_tree_destroy(tree);
    diag_fini(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{')
        read_header(data, size);
    else
        read_bytes(data, size);
    read_list(data, size);
    return 0;
}
