/* The models of shipped clusters (shipped_models.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/shipped_models.h"

#include <pthread.h>

#include "hardware/shipped.h"

#define SHIPPED_MAX 64

/* The list of a shipped cluster; NULL: no memory. */
static struct kernel_models *read_list(const struct shipped_file *file)
{
    struct kernel_models *models = NULL;
    struct hardware *hardware = NULL;
    struct text text = TEXT_INIT;
    struct diag diag = DIAG_INIT;

    shipped_text(file, &text);
    if (!text.failed &&
        hardware_parse(&hardware, file->name, text_get(&text), text.length, &diag) == SHD_OK) {
        models = hardware->models;
        hardware->models = NULL;
    }
    hardware_destroy(hardware);
    diag_fini(&diag);
    text_fini(&text);
    return models;
}

/* What is kept of a shipped cluster: `models`, unless another thread was first, whose are kept. */
static struct kernel_models *keep(struct kernel_models *models, const struct shipped_file *file)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct kernel_models *kept[SHIPPED_MAX];
    struct kernel_models **its = &kept[file - shipped_files], *found;

    pthread_mutex_lock(&lock);
    if (!*its)
        *its = models;
    found = *its;
    pthread_mutex_unlock(&lock);
    if (found != models)
        kernel_models_destroy(models);
    return found;
}

/* Those of a shipped cluster, with those than which its kernels are no slower; NULL: no memory. */
static struct kernel_models *find(const char *name)
{
    const struct shipped_file *file = shipped_find(name);
    struct kernel_models *models = keep(NULL, file);

    if (models)
        return models;
    models = read_list(file);
    if (models && models->no_slower_name)
        models->no_slower_than = find(models->no_slower_name);
    if (models && !models->no_slower_than == !models->no_slower_name)
        return keep(models, file);
    kernel_models_destroy(models);
    return NULL;
}

int shipped_models_bind(struct hardware *hardware)
{
    struct kernel_models *models = hardware->models;

    if (models && models->no_slower_name && !models->no_slower_than) {
        models->no_slower_than = find(models->no_slower_name);
        return models->no_slower_than ? SHD_OK : SHD_ENOMEM;
    }
    if (models || !hardware->models_of)
        return SHD_OK;
    hardware->models = find(hardware->models_of);
    return hardware->models ? SHD_OK : SHD_ENOMEM;
}
