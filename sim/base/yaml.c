/* Builds a tree from libyaml's events.  Nodes are allocated in blocks that are freed together; the
 * items of all open lists and maps share one stack and move to their node when it is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/array.h"
#include "base/file.h"
#include "base/units.h"
#include "base/utf8.h"

#define BLOCK_BYTES ((size_t)32 << 10) /* allocated at a time, for nodes and texts */
#define DIRECTIVES_MAX 4               /* libyaml's time is quadratic in their number */

struct block {
    struct block *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) char bytes[];
};

struct yaml_doc {
    struct block *blocks;
    const struct yaml_node *root;
};

/* A list or map that is still open. */
struct open_node {
    struct yaml_node *node;
    size_t first; /* index of its first item in the stack */
};

struct builder {
    struct yaml_doc *doc;
    struct place first;
    size_t end_line; /* line of the end of the text, from 0 */
    size_t end_column;
    struct diag *diag;
    size_t nnodes;
    size_t depth;
    struct open_node open[YAML_DOC_DEPTH_MAX];
    const struct yaml_node **stack; /* items; for a map, keys and values alternate */
    size_t nstack;
    bool has_document;
    int status; /* SHD_OK until the first failure */
};

static void *take(struct yaml_doc *doc, size_t size)
{
    size = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    if (!doc->blocks || doc->blocks->size - doc->blocks->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct block *block = malloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct block){.next = doc->blocks, .size = room};
        doc->blocks = block;
    }
    void *memory = doc->blocks->bytes + doc->blocks->used;
    doc->blocks->used += size;
    return memory;
}

static struct place place_at(struct place first, size_t line, size_t column)
{
    return (struct place){
        .file = first.file,
        .line = first.line + (int)line,
        .column = (line == 0 ? first.column : 1) + (int)column,
    };
}

/* The place of a mark.  If the last line lacks a newline libyaml adds one, and may name a line past
 * the end: the place is then the end of the text. */
static struct place place_of(const struct builder *b, yaml_mark_t mark)
{
    if (mark.line > b->end_line)
        return place_at(b->first, b->end_line, b->end_column);
    return place_at(b->first, mark.line, mark.column);
}

static void out_of_memory(struct builder *b)
{
    diag_no_memory(b->diag);
    b->status = SHD_ENOMEM;
}

/* Report an error and stop parsing. */
#define FAIL(b, code, place, ...)                  \
    do {                                           \
        diag_error((b)->diag, place, __VA_ARGS__); \
        (b)->status = (code);                      \
    } while (0)

static bool push(struct builder *b, const struct yaml_node *node)
{
    if (!array_make_room(&b->stack, b->nstack, sizeof *b->stack)) {
        out_of_memory(b);
        return false;
    }
    b->stack[b->nstack++] = node;
    return true;
}

/* Whether the innermost open node is a map that expects a key. */
static bool expects_key(const struct builder *b)
{
    if (b->depth == 0 || b->open[b->depth - 1].node->kind != YAML_MAP)
        return false;
    return (b->nstack - b->open[b->depth - 1].first) % 2 == 0;
}

static const char *kind_name(enum yaml_kind kind)
{
    return kind == YAML_MAP ? "a map" : kind == YAML_LIST ? "a list" : "text";
}

/* Refuse anchors, as aliases are refused, and tags, as the reader decides on types. */
static bool has_plain_style(struct builder *b, struct place place, const unsigned char *anchor,
                            const unsigned char *tag)
{
    if (anchor)
        FAIL(b, SHD_EUNSUPPORTED, place,
             "anchors and aliases are not supported; write the value where it is needed, and text "
             "that begins with '*' or '&' in quotes");
    else if (tag)
        FAIL(b, SHD_EUNSUPPORTED, place, "tag '%.40s' is not supported; remove the tag",
             (const char *)tag);
    return b->status == SHD_OK;
}

static struct yaml_node *add_node(struct builder *b, enum yaml_kind kind, struct place place)
{
    if (++b->nnodes > YAML_DOC_NODES_MAX) {
        FAIL(b, SHD_ERANGE, place, "too many values; expected at most %d", YAML_DOC_NODES_MAX);
        return NULL;
    }
    if (kind != YAML_TEXT && expects_key(b)) {
        FAIL(b, SHD_EINVAL, place, "%s as the key of a map; expected text", kind_name(kind));
        return NULL;
    }
    struct yaml_node *node = take(b->doc, sizeof(*node));
    if (!node) {
        out_of_memory(b);
        return NULL;
    }
    *node = (struct yaml_node){.kind = kind, .place = place};
    if (b->depth == 0)
        b->doc->root = node;
    else if (!push(b, node))
        return NULL;
    return node;
}

static void add_text(struct builder *b, const yaml_event_t *event)
{
    struct place place = place_of(b, event->start_mark);
    size_t length = event->data.scalar.length;
    const char *value = (const char *)event->data.scalar.value;

    if (!has_plain_style(b, place, event->data.scalar.anchor, event->data.scalar.tag))
        return;
    if (memchr(value, '\0', length)) {
        FAIL(b, SHD_EINVAL, place, "text with a NUL character");
        return;
    }
    struct yaml_node *node = add_node(b, YAML_TEXT, place);
    if (!node)
        return;
    char *text = take(b->doc, length + 1);
    if (!text) {
        out_of_memory(b);
        return;
    }
    memcpy(text, value, length);
    text[length] = '\0';
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
}

static void open_node(struct builder *b, enum yaml_kind kind, struct place place,
                      const unsigned char *anchor, const unsigned char *tag)
{
    if (!has_plain_style(b, place, anchor, tag))
        return;
    if (b->depth == YAML_DOC_DEPTH_MAX) {
        FAIL(b, SHD_ERANGE, place, "nested too deep; expected at most %d levels",
             YAML_DOC_DEPTH_MAX);
        return;
    }
    struct yaml_node *node = add_node(b, kind, place);
    if (node)
        b->open[b->depth++] = (struct open_node){node, b->nstack};
}

static int compare_keys(const void *a, const void *b)
{
    const struct yaml_node *x = *(const struct yaml_node *const *)a;
    const struct yaml_node *y = *(const struct yaml_node *const *)b;
    int by_text = strcmp(x->text, y->text);

    if (by_text != 0)
        return by_text;
    if (x->place.line != y->place.line)
        return x->place.line < y->place.line ? -1 : 1;
    return x->place.column < y->place.column ? -1 : x->place.column > y->place.column;
}

/* Report keys that occur twice.  Sorts `keys`, which must be a copy. */
static void find_duplicates(struct builder *b, const struct yaml_node **keys, size_t nkeys)
{
    qsort(keys, nkeys, sizeof(keys[0]), compare_keys);
    for (size_t i = 1; i < nkeys; i++)
        if (strcmp(keys[i - 1]->text, keys[i]->text) == 0)
            FAIL(b, SHD_EINVAL, keys[i]->place, "key '%.60s' appears twice, first on line %d",
                 keys[i]->text, keys[i - 1]->place.line);
}

static void close_map(struct builder *b, struct yaml_node *node, const struct yaml_node **pairs,
                      size_t npairs)
{
    size_t size = (npairs + 1) * sizeof(struct yaml_node *);
    const struct yaml_node **keys = take(b->doc, size);
    const struct yaml_node **items = take(b->doc, size);
    const struct yaml_node **sorted = malloc(size);

    if (keys && items && sorted) {
        for (size_t i = 0; i < npairs; i++) {
            keys[i] = sorted[i] = pairs[2 * i];
            items[i] = pairs[2 * i + 1];
        }
        node->keys = keys;
        node->items = items;
        node->nitems = npairs;
        find_duplicates(b, sorted, npairs);
    } else {
        out_of_memory(b);
    }
    free(sorted);
}

static void close_list(struct builder *b, struct yaml_node *node,
                       const struct yaml_node *const *stack, size_t nitems)
{
    const struct yaml_node **items = take(b->doc, (nitems + 1) * sizeof(*items));

    if (!items) {
        out_of_memory(b);
        return;
    }
    if (nitems > 0)
        memcpy(items, stack, nitems * sizeof(*items));
    node->items = items;
    node->nitems = nitems;
}

static void close_node(struct builder *b)
{
    assert(b->depth > 0);
    struct open_node open = b->open[--b->depth];
    size_t nitems = b->nstack - open.first;
    const struct yaml_node **items = nitems > 0 ? b->stack + open.first : NULL;

    if (open.node->kind == YAML_MAP)
        close_map(b, open.node, items, nitems / 2);
    else
        close_list(b, open.node, items, nitems);
    b->nstack = open.first;
}

static void add_event(struct builder *b, const yaml_event_t *event)
{
    struct place place = place_of(b, event->start_mark);

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->has_document)
            FAIL(b, SHD_EUNSUPPORTED, place, "a second document; expected one per file");
        b->has_document = true;
        break;
    case YAML_ALIAS_EVENT:
        has_plain_style(b, place, event->data.alias.anchor, NULL);
        break;
    case YAML_SCALAR_EVENT:
        add_text(b, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_node(b, YAML_LIST, place, event->data.sequence_start.anchor,
                  event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        open_node(b, YAML_MAP, place, event->data.mapping_start.anchor,
                  event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(b);
        break;
    default: /* begin and end of the stream, end of the document */
        break;
    }
}

/* Whether the first non-space character of a line is a tab; `line` counts from 0. */
static bool begins_with_tab(const char *text, size_t length, size_t line)
{
    const char *at = text, *end = text + length;

    for (; line > 0 && at; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == '\t';
}

/* Advice for libyaml's messages, which say what it looked for, but not why. */
static const struct {
    const char *problem;
    const char *remedy;
} remedies[] = {
    {"did not find expected key", "; expected the keys of a map in one column"},
    {"did not find expected '-'", "; expected list entries '- ...' in one column"},
    {"did not find expected ',' or ']'",
     "; is a ']' or ',' missing? quote text that contains brackets or quotes"},
    {"did not find expected ',' or '}'", "; is a '}' or ',' missing?"},
    {"did not find expected alphabetic",
     "; quote text that begins with '*'; the pattern for any text is '.*'"},
    {"did not find expected node content", "; expected a value"},
    {"mapping values are not allowed",
     "; expected each key at the start of a line; quote text that contains ': '"},
    {"could not find expected ':'", "; expected KEY: VALUE, with a space after the ':'"},
    {"found unexpected end of stream", "; expected a closing quote"},
    {"found character that cannot start", "; quote text that begins with '@', '`' or '%'"},
};

static const char *remedy_of(const char *problem)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (!strncmp(remedies[i].problem, problem, strlen(remedies[i].problem)))
            return remedies[i].remedy;
    return "";
}

/* Report libyaml's error: the place where it stopped and, if known, the structure that it was
 * parsing. */
static void report_syntax(struct builder *b, const yaml_parser_t *parser, const char *text,
                          size_t length)
{
    const char *problem = parser->problem ? parser->problem : "cannot be parsed";
    struct place place = place_of(b, parser->problem_mark);

    if (parser->error == YAML_MEMORY_ERROR) {
        out_of_memory(b);
    } else if (begins_with_tab(text, length, parser->problem_mark.line)) {
        FAIL(b, SHD_EINVAL, place, "a tab before the first word of a line; expected spaces");
    } else if (parser->context) {
        struct place begin = place_of(b, parser->context_mark);
        FAIL(b, SHD_EINVAL, place, "%s, %s that begins at %d:%d%s", problem, parser->context,
             begin.line, begin.column, remedy_of(problem));
    } else {
        FAIL(b, SHD_EINVAL, place, "%s%s", problem, remedy_of(problem));
    }
}

static void build(struct builder *b, const char *text, size_t length)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool ended = false;

    if (!yaml_parser_initialize(&parser)) {
        out_of_memory(b);
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (!ended && b->status == SHD_OK) {
        if (!yaml_parser_parse(&parser, &event)) {
            report_syntax(b, &parser, text, length);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        add_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (b->status == SHD_OK && !b->doc->root)
        FAIL(b, SHD_EINVAL, b->first, "empty; expected a YAML document");
}

/* Whether YAML allows a character. */
static bool is_allowed(uint32_t code)
{
    if (code < 0x20)
        return code == '\t' || code == '\n' || code == '\r';
    return code < 0x7f || code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

/* Check all characters before libyaml does, as its own messages about them have no place. */
static void check_characters(struct builder *b, const char *text, size_t length)
{
    size_t line = 0;
    size_t column = 0;
    int ndirectives = 0;

    for (size_t at = 0; at < length && b->status == SHD_OK;) {
        uint32_t code;
        size_t n = utf8_next(text + at, length - at, &code);
        if (n == 0)
            FAIL(b, SHD_EINVAL, place_at(b->first, line, column),
                 "byte 0x%02x is not UTF-8; expected UTF-8 text", (unsigned char)text[at]);
        else if (!is_allowed(code))
            FAIL(b, SHD_EINVAL, place_at(b->first, line, column),
                 "control character U+%04X; expected printable text", (unsigned)code);
        else if (code == '%' && column == 0 && ++ndirectives > DIRECTIVES_MAX)
            FAIL(b, SHD_ERANGE, place_at(b->first, line, column),
                 "too many lines that begin with '%%'; expected no YAML directives");
        at += n;
        column++;
        if (code == '\n' || (code == '\r' && (at == length || text[at] != '\n'))) {
            line++;
            column = 0;
        }
    }
    b->end_line = line;
    b->end_column = column;
}

static void check_size(struct builder *b, size_t length)
{
    if (length > YAML_DOC_BYTES_MAX)
        FAIL(b, SHD_ERANGE, b->first, "the text has %s; expected at most %s",
             units_print_bytes(length).text, units_print_bytes(YAML_DOC_BYTES_MAX).text);
}

int yaml_doc_parse(struct yaml_doc **out, struct place first, const char *text, size_t length,
                   struct diag *diag)
{
    struct builder b = {.first = first, .diag = diag, .status = SHD_OK};

    b.doc = calloc(1, sizeof(*b.doc));
    if (!b.doc)
        out_of_memory(&b);
    if (b.status == SHD_OK)
        check_size(&b, length);
    if (b.status == SHD_OK)
        check_characters(&b, text, length);
    if (b.status == SHD_OK)
        build(&b, text, length);
    free(b.stack);
    if (b.status == SHD_OK)
        *out = b.doc;
    else
        yaml_doc_destroy(b.doc);
    return b.status;
}

int yaml_doc_load(struct yaml_doc **out, const char *path, struct diag *diag)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    struct place first = {strcmp(path, "-") == 0 ? "<stdin>" : path, 1, 1};

    int status = file_read(&text, path, YAML_DOC_BYTES_MAX, &err);
    if (status == SHD_OK)
        status = yaml_doc_parse(out, first, text_get(&text), text.length, diag);
    else
        diag_failure(diag, first, err.status, "%s", err.text);
    text_fini(&text);
    return status;
}

void yaml_doc_destroy(struct yaml_doc *doc)
{
    if (!doc)
        return;
    while (doc->blocks) {
        struct block *block = doc->blocks;
        doc->blocks = block->next;
        free(block);
    }
    free(doc);
}

const struct yaml_node *yaml_doc_root(const struct yaml_doc *doc)
{
    return doc->root;
}
