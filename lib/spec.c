/* Partition specs (shd/spec.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/spec.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "spec_parse.h"

/* A spec is one block of memory: the struct, its two arrays, and the text of all names. */
struct shd_spec {
    size_t nentries;
    size_t *first;     /* index in axes[] of each entry's first axis; nentries + 1 numbers */
    const char **axes; /* of all entries in turn */
};

static bool counts(const char *name)
{
    return name[0] != '\0'; /* an empty name is no axis */
}

int shd_spec_create(struct shd_spec **out, const struct shd_spec_entry *entries, size_t nentries,
                    struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, entries, nentries))
        return SHD_EINVAL;

    size_t naxes = 0;
    size_t text_size = 0;

    for (size_t e = 0; e < nentries; e++) {
        for (size_t i = 0; i < entries[e].naxes; i++) {
            naxes += counts(entries[e].axes[i]);
            text_size += strlen(entries[e].axes[i]) + 1;
        }
    }

    struct shd_spec *spec = malloc(sizeof(*spec) + (nentries + 1) * sizeof(*spec->first) +
                                   naxes * sizeof(*spec->axes) + text_size);

    if (!spec)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partition spec");
    spec->nentries = nentries;
    spec->first = (size_t *)(spec + 1);
    spec->axes = (const char **)(spec->first + nentries + 1);

    char *text = (char *)(spec->axes + naxes);
    size_t n = 0;

    for (size_t e = 0; e < nentries; e++) {
        spec->first[e] = n;
        for (size_t i = 0; i < entries[e].naxes; i++) {
            size_t size = strlen(entries[e].axes[i]) + 1;

            if (!counts(entries[e].axes[i]))
                continue;
            memcpy(text, entries[e].axes[i], size);
            spec->axes[n++] = text;
            text += size;
        }
    }
    spec->first[nentries] = n;
    *out = spec;
    return SHD_OK;
}

int shd_spec_parse(struct shd_spec **out, const char *text, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, text))
        return SHD_EINVAL;

    struct spec_parse parse = {0};
    int status = spec_parse_run(&parse, text, err);

    if (!status)
        status = shd_spec_create(out, parse.entries, parse.nentries, err);
    spec_parse_fini(&parse);
    return status;
}

int shd_spec_cut(struct shd_spec **out, const struct shd_spec *spec, size_t nentries,
                 struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, spec))
        return SHD_EINVAL;

    size_t n = nentries < spec->nentries ? nentries : spec->nentries;
    struct shd_spec_entry *entries = calloc(n + 1, sizeof(*entries));

    if (!entries)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partition spec");
    for (size_t e = 0; e < n; e++)
        entries[e] = (struct shd_spec_entry){spec->axes + spec->first[e], shd_spec_naxes(spec, e)};

    int status = shd_spec_create(out, entries, n, err);

    free(entries);
    return status;
}

int shd_spec_copy(struct shd_spec **out, const struct shd_spec *spec, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, spec))
        return SHD_EINVAL;
    return shd_spec_cut(out, spec, spec->nentries, err);
}

void shd_spec_destroy(struct shd_spec *spec)
{
    free(spec);
}

size_t shd_spec_nentries(const struct shd_spec *spec)
{
    if (!spec)
        return 0;
    return spec->nentries;
}

size_t shd_spec_naxes(const struct shd_spec *spec, size_t entry)
{
    if (!spec || entry >= spec->nentries)
        return 0;
    return spec->first[entry + 1] - spec->first[entry];
}

const char *shd_spec_axis(const struct shd_spec *spec, size_t entry, size_t axis)
{
    if (axis >= shd_spec_naxes(spec, entry))
        return NULL;
    return spec->axes[spec->first[entry] + axis];
}

bool shd_spec_equal(const struct shd_spec *a, const struct shd_spec *b)
{
    if (!a || !b)
        return false;
    if (a->nentries != b->nentries ||
        memcmp(a->first, b->first, (a->nentries + 1) * sizeof(*a->first)) != 0)
        return false;
    for (size_t i = 0; i < a->first[a->nentries]; i++) {
        if (strcmp(a->axes[i], b->axes[i]) != 0)
            return false;
    }
    return true;
}

/* The words and punctuation of a notation. */
struct notation {
    const char *open, *close;             /* around the spec */
    const char *tuple_open, *tuple_close; /* around the axes of one entry */
    const char *separator;
    const char *none;
    char quote; /* around names; 0: only names that need quotes are quoted */
};

static const struct notation notations[] = {
    [SHD_SPEC_PYTHON] = {"P(", ")", "(", ")", ", ", "None", '\''},
    [SHD_SPEC_YAML] = {"[", "]", "[", "]", ", ", "null", 0},
    [SHD_SPEC_JSON] = {"[", "]", "[", "]", ",", "null", '"'},
};

static void print_name(struct print *print, const char *name, char quote)
{
    if (!quote && spec_parse_is_plain(name)) {
        print_add(print, "%s", name);
        return;
    }
    if (!quote)
        quote = '"';
    print_add(print, "%c", quote);
    for (const char *p = name; *p; p++) {
        if (*p == quote || *p == '\\')
            print_add(print, "\\%c", *p);
        else if ((unsigned char)*p < ' ' && quote == '"')
            print_add(print, "\\u%04x", (unsigned)*p);
        else if ((unsigned char)*p < ' ')
            print_add(print, "\\x%02x", (unsigned)*p);
        else
            print_add(print, "%c", *p);
    }
    print_add(print, "%c", quote);
}

static void print_entry(struct print *print, const struct shd_spec *spec, size_t entry,
                        const struct notation *notation)
{
    size_t naxes = shd_spec_naxes(spec, entry);

    if (naxes == 0)
        print_add(print, "%s", notation->none);
    if (naxes > 1)
        print_add(print, "%s", notation->tuple_open);
    for (size_t i = 0; i < naxes; i++) {
        print_add(print, "%s", i > 0 ? notation->separator : "");
        print_name(print, shd_spec_axis(spec, entry, i), notation->quote);
    }
    if (naxes > 1)
        print_add(print, "%s", notation->tuple_close);
}

size_t shd_spec_print(const struct shd_spec *spec, enum shd_spec_notation notation, char *buf,
                      size_t size)
{
    if (!spec || (unsigned)notation > SHD_SPEC_JSON || (!buf && size > 0))
        return 0;

    const struct notation *marks = &notations[notation];
    struct print print;

    print_init(&print, buf, size);
    print_add(&print, "%s", marks->open);
    for (size_t e = 0; e < spec->nentries; e++) {
        print_add(&print, "%s", e > 0 ? marks->separator : "");
        print_entry(&print, spec, e, marks);
    }
    print_add(&print, "%s", marks->close);
    return print.length;
}
