/* base/yaml.h - YAML (and so JSON) text parsed into a tree in which every node has its place.
 *
 * A tree is plain data, owned by its document.  Features that a hostile text could exploit are
 * refused with their place: aliases, tags, several documents, duplicate keys, invalid UTF-8, and
 * texts that are too long, too deep or have too many nodes.
 *
 * Thread class: a document is immutable once parsed; any number of threads may read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/diag.h"

/* Far above what people write: enough for a graph of 80 layers with 450 lines and 30 arrays each.  A
 * text of this size is read in a second, which bounds the cost of a hostile one. */
#define YAML_DOC_BYTES_MAX ((size_t)16 << 20)
#define YAML_DOC_DEPTH_MAX 64 /* nesting of lists and maps */
#define YAML_DOC_NODES_MAX 1000000

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted; /* text only: quoted or a block scalar, and so always a string */
    struct place place;
    const char *text; /* text only: without NUL inside, NUL-terminated UTF-8 */
    size_t nitems;    /* list, map */
    const struct yaml_node *const *items; /* list: items; map: values */
    const struct yaml_node *const *keys;  /* map: keys, all of them text and distinct */
};

struct yaml_doc; /* opaque */

/* Parse one document.  `first` is the place of the text's first character; its file name is not
 * copied and must live as long as the places do.  An empty document is an error.
 *
 * On success stores the document in *out; free it with yaml_doc_destroy().  On failure reports to
 * `diag`, leaves *out alone and returns SHD_EINVAL, SHD_ERANGE (over a limit) or SHD_ENOMEM. */
SHD_MUST_CHECK int yaml_doc_parse(struct yaml_doc **out, struct place first, const char *text,
                                  size_t length, struct diag *diag);

/* Read and parse a file, "-" for standard input (named "<stdin>" in places).  The path is not
 * copied either.  A file that cannot be read is an error at line 1, column 1. */
SHD_MUST_CHECK int yaml_doc_load(struct yaml_doc **out, const char *path, struct diag *diag);

/* Free a document and all its nodes.  NULL is allowed. */
void yaml_doc_destroy(struct yaml_doc *doc);

const struct yaml_node *yaml_doc_root(const struct yaml_doc *doc);

/* The value of a key, or NULL.  `map` must be a map. */
const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key);

/* Readers of text nodes: they return false and leave *out alone when the node is not of that type.
 * Only unquoted text is null, a number or a bool, as in YAML's core schema. */
bool yaml_is_null(const struct yaml_node *node); /* null, Null, NULL, ~, or empty */
bool yaml_read_int(const struct yaml_node *node, int64_t *out); /* also false if out of range */
bool yaml_read_double(const struct yaml_node *node, double *out); /* finite decimal numbers only */
bool yaml_read_bool(const struct yaml_node *node, bool *out);   /* true, false (any of 3 cases) */

/* Room for a description: 60 bytes of the file's text (yaml_text.c), quotes, and the NUL. */
struct yaml_description {
    char text[96];
};

/* Describe a node for messages: "a list", "a map", "null", "'abc'" (cut if long). */
struct yaml_description yaml_describe(const struct yaml_node *node);

/* Append a string to YAML so that it reads back unchanged: plain if possible (also inside [] and
 * {}), else quoted. */
void yaml_print_string(struct text *out, const char *string);

/* Append a string in double quotes. */
void yaml_print_quoted(struct text *out, const char *string);

#endif /* BASE_YAML_H */
