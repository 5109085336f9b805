/* find.c - a cluster by its name, or from a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/supposed.h"
#include "hardware/kernel_model_reader.h"
#include "hardware/shipped.h"
#include "hardware/shipped_models.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

static bool is_path(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
}

static int shipped(struct text *out, struct text *place, const char *name, struct place named_at,
                   struct diag *diag)
{
    const struct shipped_file *file = shipped_find(name);
    struct text text = TEXT_INIT;
    struct nearest nearest;

    if (file) {
        shipped_text(file, out);
        text_addf(place, "scenarios/hardware/%s.yaml", name);
        return SHD_OK;
    }
    nearest_init(&nearest, name);
    for (file = shipped_files; file->name; file++)
        nearest_add(&nearest, file->name);
    if (nearest.best) {
        diag_error(diag, named_at,
                   "no hardware '%.60s'; expected the path of a file, or one of 'shardsim show "
                   "hardware'%s",
                   name, nearest_hint(&nearest).text);
        return SHD_EINVAL;
    }
    shipped_names(&text);
    diag_error(diag, named_at, "no hardware '%.60s'; expected the path of a file, or one of %s",
               name, text_get(&text));
    text_fini(&text);
    return SHD_EINVAL;
}

static int from_file(struct text *out, struct text *place, const char *name,
                     const char *relative_to, struct place named_at, struct diag *diag)
{
    const char *slash = relative_to && *name != '/' ? strrchr(relative_to, '/') : NULL;
    struct shd_error err;
    int status;

    if (slash)
        text_add_bytes(place, relative_to, (size_t)(slash - relative_to) + 1);
    text_add(place, name);
    if (place->failed)
        return SHD_ENOMEM;
    status = file_read(out, text_get(place), FILE_BYTES_MAX, &err);
    if (status == SHD_OK)
        return SHD_OK;
    diag_failure(diag, named_at, status, "hardware %s: %s", text_get(place), err.text);
    return status == SHD_ENOMEM ? SHD_ENOMEM : SHD_EINVAL;
}

int hardware_text(struct text *out, struct text *place, const char *name_or_path,
                  const char *relative_to, struct place named_at, struct diag *diag)
{
    int status = is_path(name_or_path)
                     ? from_file(out, place, name_or_path, relative_to, named_at, diag)
                     : shipped(out, place, name_or_path, named_at, diag);

    if (out->failed || place->failed) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    return status;
}

/* Parse a shipped cluster's text without its list of models, which is kept, and is the last key. */
static int parse_shipped(struct hardware **out, const struct shipped_file *file, const char *place,
                         const struct text *text, struct diag *diag)
{
    static const char key[] = "\n" KERNEL_MODELS_KEY ":\n";
    const char *list = strstr(text_get(text), key);
    size_t length = list ? (size_t)(list - text_get(text)) + 1 : text->length;
    int status = hardware_parse(out, place, text_get(text), length, diag);

    if (status == SHD_OK && list) {
        (*out)->text_hash = hash_bytes(HASH_BEGIN, text_get(text), text->length);
        (*out)->models_of = file->name;
    }
    return status;
}

/* Read the named cluster's file, then apply the overrides. */
static int find_supposed(struct hardware **out, const char *name, const char *suppositions,
                         const char *relative_to, struct place named_at, struct diag *diag)
{
    struct text text = TEXT_INIT, place = TEXT_INIT;
    const struct shipped_file *file = is_path(name) ? NULL : shipped_find(name);
    size_t before = diag->nerrors;
    int status = hardware_text(&text, &place, name, relative_to, named_at, diag);

    if (status == SHD_OK && file)
        status = parse_shipped(out, file, text_get(&place), &text, diag);
    else if (status == SHD_OK)
        status = hardware_parse(out, text_get(&place), text_get(&text), text.length, diag);
    text_fini(&text);
    text_fini(&place);
    if (status != SHD_OK)
        return status;
    /* All who plan with the cluster share a list of its own, which is written here alone. */
    if ((*out)->models && shipped_models_bind(*out) != SHD_OK)
        diag_no_memory(diag);
    else
        hardware_set(*out, suppositions, named_at, diag);
    status = diag_status(diag, before);
    if (status != SHD_OK) {
        hardware_destroy(*out);
        *out = NULL;
    }
    return status;
}

int hardware_find(struct hardware **out, const char *name_or_path, const char *relative_to,
                  struct place named_at, struct diag *diag)
{
    char *name = strndup(name_or_path, supposed_name_length(name_or_path));
    struct hardware *found = NULL;
    int status = SHD_ENOMEM;

    if (name)
        status =
            find_supposed(&found, name, supposed_first(name_or_path), relative_to, named_at, diag);
    else
        diag_no_memory(diag);
    if (status == SHD_OK)
        *out = found;
    free(name);
    return status;
}
