/* layout_text.h - values as text, so that a test's row is one line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUT_TEXT_H
#define LAYOUT_TEXT_H

#include <stdio.h>
#include <string.h>

#include <shd/group.h>
#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/spec.h>

/* Split the words of "a b c" into `words`, which point into `copy`; "-" is NULL.  Returns their
 * number. */
static inline size_t split_words(char *copy, size_t size, const char *text, const char **words)
{
    size_t n = 0;

    snprintf(copy, size, "%s", text);
    for (char *p = copy; *p;) {
        char *word = p;

        p += strcspn(p, " ");
        if (*p)
            *p++ = '\0';
        words[n++] = strcmp(word, "-") != 0 ? word : NULL;
    }
    return n;
}

/* Whether `spec` prints as the JSON text; destroys the spec. */
static inline int spec_is(struct shd_spec *spec, const char *json)
{
    char text[512];
    int same;

    shd_spec_print(spec, SHD_SPEC_JSON, text, sizeof text);
    same = !strcmp(text, json);
    shd_spec_destroy(spec);
    return same;
}

/* Groups as "0,4;1,5": members separated by ',', groups by ';'. */
static inline const char *groups_text(char *buf, size_t size, const struct shd_groups *groups)
{
    size_t length = 0;

    buf[0] = '\0';
    for (int32_t g = 0; g < groups->ngroups && length < size; g++)
        for (int32_t m = 0; m < groups->nmembers && length < size; m++)
            length += (size_t)snprintf(buf + length, size - length, "%s%d",
                                       m > 0 ? "," : (g > 0 ? ";" : ""),
                                       (int)shd_groups_position(groups, g, m));
    return buf;
}

/* The shape and the ids of the first `n` devices, as "8x4: 0,1,2,3". */
static inline const char *mesh_text(char *buf, size_t size, const struct shd_mesh *mesh, int32_t n)
{
    size_t length = 0;

    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        length += (size_t)snprintf(buf + length, size - length, "%s%d", a > 0 ? "x" : "",
                                   (int)shd_mesh_axis_size(mesh, a));
    for (int32_t p = 0; p < n && p < shd_mesh_size(mesh) && length < size; p++)
        length += (size_t)snprintf(buf + length, size - length, "%s%d", p > 0 ? "," : ": ",
                                   (int)shd_mesh_device_id(mesh, p));
    return buf;
}

#endif /* LAYOUT_TEXT_H */
