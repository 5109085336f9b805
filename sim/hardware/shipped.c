/* Shipped clusters' files (shipped.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/shipped.h"

#include <string.h>

const struct shipped_file *shipped_find(const char *name)
{
    for (const struct shipped_file *file = shipped_files; file->name; file++)
        if (!strcmp(file->name, name))
            return file;
    return NULL;
}

void shipped_text(const struct shipped_file *file, struct text *out)
{
    for (size_t i = 0; file->lines[i]; i++)
        text_add(out, file->lines[i]);
}

void shipped_names(struct text *out)
{
    for (const struct shipped_file *file = shipped_files; file->name; file++)
        text_addf(out, "%s%s",
                  file == shipped_files ? ""
                  : file[1].name        ? ", "
                                        : " and ",
                  file->name);
}
