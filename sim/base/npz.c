/* Reading zip archives of .npy files (base/npz.h).
 *
 * The end of an archive says where its directory is, the directory where the members are, and each
 * member begins with a header of its own (APPNOTE.TXT of PKWARE, 4.3); sizes beyond 32 bits are in
 * an extra field (4.5.3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/npz.h"

#include <stdlib.h>
#include <string.h>

#define END_BYTES 22 /* of the end record, which a comment may follow */
#define COMMENT_MAX 65535
#define LOCATOR_BYTES 20 /* in front of it, if the archive needs 64 bits */
#define END64_BYTES 56
#define ENTRY_BYTES 46  /* of the directory, before name, extra field and comment */
#define MEMBER_BYTES 30 /* in front of a member, before name and extra field */
#define DIRECTORY_MAX ((uint64_t)16 << 20)
#define HEADER_MAX 65536 /* of an .npy file; numpy's have at most a few hundred bytes */
#define NAME_BYTES_MAX 1024

/* A little-endian number of n bytes. */
static uint64_t number(const uint8_t *bytes, int n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

bool npz_begins(const uint8_t *bytes, size_t n)
{
    return n >= 4 && bytes[0] == 'P' && bytes[1] == 'K' &&
           (number(bytes + 2, 2) == 0x0403 || number(bytes + 2, 2) == 0x0605);
}

/* Read exactly n bytes; false if the file has not that many. */
static bool get(struct file_bytes *file, uint64_t at, uint8_t *out, size_t n)
{
    uint64_t size = file_bytes_count(file);

    return at <= size && n <= size - at && (n == 0 || file_bytes_read(file, at, out, n) == n);
}

/* ---- the header of an .npy file ---- */

struct header {
    const char *at, *end;
    const char *fault;
};

static bool fail(struct header *h, const char *fault)
{
    if (!h->fault)
        h->fault = fault;
    return false;
}

static void skip_blanks(struct header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
        h->at++;
}

/* Whether the header goes on with a text, which is then skipped. */
static bool skip(struct header *h, const char *text)
{
    size_t n = strlen(text);

    skip_blanks(h);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, text, n) != 0)
        return false;
    h->at += n;
    return true;
}

/* Read numpy's type description, or the raw one of bfloat16, which numpy does not name. */
static bool read_type(struct header *h, struct stored_array *array)
{
    static const struct {
        const char *name;
        enum shd_dtype dtype;
        bool is_unsigned;
    } types[] = {
        {"'<f4'", SHD_F32, false}, {"'<f8'", SHD_F64, false}, {"'<f2'", SHD_F16, false},
        {"'<i4'", SHD_I32, false}, {"'<u4'", SHD_I32, true},  {"'<i8'", SHD_I64, false},
        {"'<u8'", SHD_I64, true},  {"'<i2'", SHD_I16, false}, {"'<u2'", SHD_I16, true},
        {"'|i1'", SHD_I8, false},  {"'|u1'", SHD_U8, false},  {"'|b1'", SHD_BOOL, false},
    };

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (skip(h, types[t].name)) {
            array->dtype = types[t].dtype;
            array->is_unsigned = types[t].is_unsigned;
            return true;
        }
    }
    return fail(h, "unsupported type; expected little-endian floats, integers or bools (bfloat16: "
                   "in a .safetensors file)");
}

static bool read_shape(struct header *h, struct stored_array *array)
{
    array->rank = 0;
    if (!skip(h, "("))
        return fail(h, "the shape is not a tuple");
    while (!skip(h, ")")) {
        int64_t extent = 0;

        skip_blanks(h);
        if (array->rank == SHD_RANK_MAX || h->at == h->end || *h->at < '0' || *h->at > '9')
            return fail(h, "the shape has too many dimensions");
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
            if (__builtin_mul_overflow(extent, 10, &extent) ||
                __builtin_add_overflow(extent, *h->at - '0', &extent))
                return fail(h, "the shape is out of range");
        array->shape[array->rank++] = extent;
        if (skip(h, ","))
            continue;
        return (array->rank > 1 && skip(h, ")")) || fail(h, "the shape is not a tuple");
    }
    return true;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
static bool read_dict(struct header *h, struct stored_array *array)
{
    enum { TYPE = 1, ORDER = 2, SHAPE = 4 };
    unsigned seen = 0, key;

    if (!skip(h, "{"))
        return fail(h, "the header is not a dict");
    while (!skip(h, "}")) {
        bool right = true;

        key = skip(h, "'descr':")           ? TYPE
              : skip(h, "'fortran_order':") ? ORDER
              : skip(h, "'shape':")         ? SHAPE
                                            : 0;
        if (key == 0 || seen & key)
            return fail(h, "unknown header key; expected descr, fortran_order and shape");
        seen |= key;
        if (key == TYPE)
            right = read_type(h, array);
        else if (key == SHAPE)
            right = read_shape(h, array);
        else if (!skip(h, "False"))
            right = fail(h, "column-major order; expected row-major: numpy.ascontiguousarray");
        if (!right)
            return false;
        if (!skip(h, ",") && (h->at == h->end || *h->at != '}'))
            return fail(h, "the header is not a dict");
    }
    skip_blanks(h);
    if (seen != (TYPE | ORDER | SHAPE) || h->at != h->end)
        return fail(h, "the header lacks descr, fortran_order or shape");
    return true;
}

bool npz_header(struct stored_array *array, size_t *length, const uint8_t *bytes, size_t n,
                const char **fault)
{
    size_t wide = n > 6 && bytes[6] > 1 ? 4 : 2; /* of the length, by version */
    struct header h = {NULL, NULL, NULL};
    uint64_t text = 0;

    if (n < 8 + wide || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3) {
        *fault = "not a .npy file of version 1 to 3";
        return false;
    }
    text = number(bytes + 8, (int)wide);
    if (text > n - 8 - wide) {
        *fault = "the header is truncated";
        return false;
    }
    *length = 8 + wide + (size_t)text;
    h.at = (const char *)bytes + 8 + wide;
    h.end = h.at + text;
    if (read_dict(&h, array) &&
        shd_shape_bytes(&array->bytes, array->shape, array->rank, array->dtype, NULL) != SHD_OK)
        fail(&h, "the shape is out of range");
    *fault = h.fault;
    return !h.fault;
}

/* ---- the archive ---- */

struct member {
    char name[NAME_BYTES_MAX];
    unsigned flags, method;
    uint64_t stored, size, at; /* bytes in the archive, and unpacked; where its header is */
};

struct archive {
    struct file_bytes *file;
    struct place place;
    stored_array_fn fn;
    void *arg;
    struct diag *diag;
};

static int broken(const struct archive *a, const char *what)
{
    diag_error(a->diag, a->place, "%s; expected a file of numpy.savez", what);
    return SHD_EINVAL;
}

/* Find the directory: the end record lies behind everything but a comment. */
static bool find_directory(const struct archive *a, uint64_t *at, uint64_t *length, uint64_t *count)
{
    static const uint8_t mark[] = {'P', 'K', 5, 6};
    uint64_t size = file_bytes_count(a->file), end = size - END_BYTES;
    uint8_t record[END64_BYTES], locator[LOCATOR_BYTES];

    for (;; end--) {
        if (size < END_BYTES || !get(a->file, end, record, END_BYTES))
            return false;
        if (!memcmp(record, mark, sizeof mark) && number(record + 20, 2) == size - END_BYTES - end)
            break;
        if (end == 0 || size - end > END_BYTES + COMMENT_MAX)
            return false;
    }
    *count = number(record + 10, 2);
    *length = number(record + 12, 4);
    *at = number(record + 16, 4);
    if (*count != UINT16_MAX && *length != UINT32_MAX && *at != UINT32_MAX)
        return true;
    if (end < LOCATOR_BYTES || !get(a->file, end - LOCATOR_BYTES, locator, LOCATOR_BYTES) ||
        memcmp(locator, "PK\6\7", 4) != 0 ||
        !get(a->file, number(locator + 8, 8), record, END64_BYTES) ||
        memcmp(record, "PK\6\6", 4) != 0)
        return false;
    *count = number(record + 32, 8);
    *length = number(record + 40, 8);
    *at = number(record + 48, 8);
    return true;
}

/* Take what does not fit 32 bits from the extra field of an entry. */
static bool read_extra(struct member *m, const uint8_t *extra, size_t n)
{
    uint64_t *const wide[] = {&m->size, &m->stored, &m->at};

    for (size_t i = 0; i + 4 <= n;) {
        size_t length = number(extra + i + 2, 2), from = i + 4;

        if (length > n - from)
            return false;
        if (number(extra + i, 2) == 1) {
            for (size_t w = 0; w < 3; w++) {
                if (*wide[w] != UINT32_MAX)
                    continue;
                if (from + 8 > i + 4 + length)
                    return false;
                *wide[w] = number(extra + from, 8);
                from += 8;
            }
            return true;
        }
        i += 4 + length;
    }
    return m->size != UINT32_MAX && m->stored != UINT32_MAX && m->at != UINT32_MAX;
}

/* Read the entry at byte `*at` of the directory, and move on behind it. */
static bool read_entry(struct member *m, const uint8_t *directory, size_t length, size_t *at)
{
    const uint8_t *entry = directory + *at;
    size_t nname, nextra, all;

    if (length - *at < ENTRY_BYTES || memcmp(entry, "PK\1\2", 4) != 0)
        return false;
    nname = number(entry + 28, 2);
    nextra = number(entry + 30, 2);
    all = ENTRY_BYTES + nname + nextra + number(entry + 32, 2);
    if (length - *at < all || nname == 0 || nname >= sizeof m->name ||
        memchr(entry + ENTRY_BYTES, 0, nname))
        return false;
    *m = (struct member){.flags = (unsigned)number(entry + 8, 2),
                         .method = (unsigned)number(entry + 10, 2),
                         .stored = number(entry + 20, 4),
                         .size = number(entry + 24, 4),
                         .at = number(entry + 42, 4)};
    memcpy(m->name, entry + ENTRY_BYTES, nname);
    *at += all;
    return read_extra(m, entry + ENTRY_BYTES + nname, nextra);
}

/* Read a member's .npy header, which begins at `data`, and add its array. */
static int add_array(const struct archive *a, const struct member *m, uint64_t data)
{
    size_t n = (size_t)(m->size < HEADER_MAX ? m->size : HEADER_MAX), length = 0;
    struct stored_array array = {.name = (char *)(uintptr_t)m->name};
    uint8_t *bytes = malloc(n + 1);
    const char *fault = NULL;
    bool right;

    if (!bytes) {
        diag_no_memory(a->diag);
        return SHD_ENOMEM;
    }
    right = get(a->file, data, bytes, n);
    if (right && npz_header(&array, &length, bytes, n, &fault) && length + array.bytes != m->size)
        fault = "type and shape do not fit its size";
    free(bytes);
    if (!right)
        return broken(a, "a member lies beyond the end of the archive");
    if (fault) {
        diag_error(a->diag, a->place, "'%.100s': %s", m->name, fault);
        return SHD_EINVAL;
    }
    array.at = data + length;
    array.file = a->file;
    return a->fn(a->arg, &array, a->place, a->diag);
}

static int add_member(const struct archive *a, struct member *m)
{
    uint8_t local[MEMBER_BYTES];
    size_t length = strlen(m->name);

    if (length > 4 && !strcmp(m->name + length - 4, ".npy"))
        m->name[length - 4] = '\0';
    if (m->method != 0 || m->flags & 1) {
        diag_error(a->diag, a->place,
                   "'%.100s' is compressed or encrypted; expected numpy.savez, not "
                   "numpy.savez_compressed, or a .safetensors file",
                   m->name);
        return SHD_EINVAL;
    }
    if (m->stored != m->size || !get(a->file, m->at, local, sizeof local) ||
        memcmp(local, "PK\3\4", 4) != 0)
        return broken(a, "the archive's directory has a wrong offset of a member");
    return add_array(a, m, m->at + MEMBER_BYTES + number(local + 26, 2) + number(local + 28, 2));
}

static int add_members(const struct archive *a, const uint8_t *directory, size_t length,
                       uint64_t count)
{
    size_t at = 0;
    int status = SHD_OK;

    for (uint64_t i = 0; i < count && status == SHD_OK; i++) {
        struct member m;

        if (!read_entry(&m, directory, length, &at))
            return broken(a, "the archive's directory cannot be read");
        status = add_member(a, &m);
    }
    return status;
}

int npz_read(struct file_bytes *file, const char *path, stored_array_fn fn, void *arg,
             struct diag *diag)
{
    struct archive a = {file, {path, 0, 0}, fn, arg, diag};
    uint64_t at, length, count;
    uint8_t *directory;
    int status;

    if (!find_directory(&a, &at, &length, &count))
        return broken(&a, "the archive has no directory");
    if (length > DIRECTORY_MAX)
        return broken(&a, "the archive's directory is too long");
    directory = malloc((size_t)length + 1);
    if (!directory) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    if (get(file, at, directory, (size_t)length))
        status = add_members(&a, directory, (size_t)length, count);
    else
        status = broken(&a, "the archive's directory cannot be read");
    free(directory);
    return status;
}
