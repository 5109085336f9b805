/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/literal.h"
#include "capture/hlo.h"
#include "capture/torch_chakra.h"
#include "capture/torch_profiler.h"

#define HEAD_BYTES ((size_t)64 << 10) /* start of a file from which its format is recognized */
#define TEXT_MAX_BYTES                                                         \
    ((size_t)16 << 30) /* longest text of a trace; the machine's memory is the \
                          real limit */

struct reading {
    struct capture *out;
    struct traces traces;
    const struct reader_request *request;
    struct diag *diag;
    const struct format *format; /* format of the first file */
    uint32_t nfiles;
    char *first_file; /* owned */
};

/* ---- formats ---- */

struct format {
    const char *what;
    bool (*is)(const char *text, size_t length);
    int (*read)(struct reading *r, const char *file, const char *text, size_t length);
    bool is_of_rank; /* one file per rank */
};

static int read_hlo(struct reading *r, const char *file, const char *text, size_t length)
{
    const struct hlo_request request = {.devices = r->request->devices, .trips = r->request->trips};

    return hlo_read(r->out, file, text, length, &request, r->diag);
}

static int read_profiler(struct reading *r, const char *file, const char *text, size_t length)
{
    return torch_profiler_read(&r->traces, file, text, length, r->diag);
}

static int read_chakra(struct reading *r, const char *file, const char *text, size_t length)
{
    return torch_chakra_read(&r->traces, file, text, length, r->diag);
}

static const struct format formats[] = {
    {"the text of a compiled XLA module", hlo_is_module, read_hlo, false},
    {"a trace of PyTorch's profiler", torch_profiler_is, read_profiler, true},
    {"an execution trace of PyTorch", torch_chakra_is, read_chakra, true},
};

static const struct format *find_format(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].is(text, length))
            return &formats[i];
    return NULL;
}

/* ---- a file ---- */

static bool is_compressed(const char *text, size_t length)
{
    return length >= 2 && !memcmp(text, "\x1f\x8b", 2);
}

static int refuse(struct reading *r, const char *file, const char *text, size_t length)
{
    struct place place = {file, 1, 1};
    struct text word = TEXT_INIT;

    literal_add_shell(&word, file);
    if (is_compressed(text, length))
        diag_error(r->diag, place, "this is compressed; decompress it first: gunzip -k %s",
                   text_get(&word));
    else if (!file_kind_refuse(r->diag, file, text, length, FILE_MODULE))
        diag_error(
            r->diag, place,
            "cannot be replayed; expected the text of a compiled XLA module, which begins with "
            "'HloModule' (jax.jit(f).lower(...).compile().as_text()), or a trace of PyTorch "
            "(export_chrome_trace() of its profiler, or its ExecutionTraceObserver)");
    text_fini(&word);
    return SHD_EINVAL;
}

static int read_text(struct reading *r, const char *file, const char *text, size_t length)
{
    const struct format *format = find_format(text, length);

    if (!format)
        return refuse(r, file, text, length);
    if (r->format && !(r->format->is_of_rank && format->is_of_rank)) {
        diag_error(r->diag, (struct place){file, 1, 1},
                   "this is %s, but '%s' is %s; expected one module, or traces of the ranks of one "
                   "job",
                   format->what, r->first_file, r->format->what);
        return SHD_EINVAL;
    }
    if (!r->format) {
        r->format = format;
        r->first_file = strdup(file);
        if (!r->first_file) {
            diag_no_memory(r->diag);
            return SHD_ENOMEM;
        }
    }
    r->nfiles++;
    return format->read(r, file, text, length);
}

static int read_file(struct reading *r, const char *file)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = file_read(&text, file, TEXT_MAX_BYTES, &err);

    if (status == SHD_OK)
        status = read_text(r, file, text_get(&text), text.length);
    else
        diag_failure(r->diag, (struct place){file, 0, 0}, status, "%s", err.text);
    text_fini(&text);
    return status;
}

/* ---- folders ---- */

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Whether a file in a folder is read; other files are skipped. */
static bool is_of_traces(const char *path)
{
    char head[HEAD_BYTES];
    struct file_bytes *file;
    struct shd_error err;
    size_t length = 0;

    if (file_bytes_create(&file, path, &err) != SHD_OK)
        return true; /* reading it reports the reason */
    if (file_bytes_count(file) > 0)
        length = file_bytes_read(file, 0, (uint8_t *)head, sizeof head);
    file_bytes_destroy(file);
    return find_format(head, length) || is_compressed(head, length);
}

static int read_entry(struct reading *r, const char *folder, const char *name)
{
    struct text path = TEXT_INIT;
    struct stat info;
    int status = SHD_OK;

    text_addf(&path, "%s/%s", folder, name);
    if (path.failed) {
        diag_no_memory(r->diag);
        status = SHD_ENOMEM;
    } else if (!stat(text_get(&path), &info) && S_ISREG(info.st_mode)) {
        if (is_of_traces(text_get(&path)))
            status = read_file(r, text_get(&path));
    }
    text_fini(&path);
    return status;
}

static int read_folder(struct reading *r, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_shown, alphasort), status = SHD_OK;
    uint32_t before = r->nfiles;

    if (n < 0) {
        if (errno == ENOMEM)
            diag_no_memory(r->diag);
        else
            diag_error(r->diag, (struct place){folder, 0, 0}, "cannot read this folder: %s",
                       strerror(errno));
        return diag_status(r->diag, 0);
    }
    for (int i = 0; i < n; i++) {
        if (status == SHD_OK)
            status = read_entry(r, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (status == SHD_OK && r->nfiles == before) {
        diag_error(r->diag, (struct place){folder, 0, 0},
                   "this folder contains no PyTorch trace and no compiled XLA module");
        status = SHD_EINVAL;
    }
    return status;
}

static int read_path(struct reading *r, const char *path)
{
    struct stat info;

    if (strcmp(path, "-") != 0 && !stat(path, &info) && S_ISDIR(info.st_mode))
        return read_folder(r, path);
    return read_file(r, path);
}

/* ---- all files ---- */

static size_t trimmed(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/* Title of traces: the last component of the first path, and the number of other paths. */
static int make_title(struct reading *r, const char *path, size_t npaths)
{
    size_t n = trimmed(path), begin = n;
    struct text title = TEXT_INIT;

    while (begin && path[begin - 1] != '/')
        begin--;
    text_addf(&title, "%.*s", (int)(n - begin), path + begin);
    if (npaths > 1)
        text_addf(&title, " and %zu more", npaths - 1);
    r->out->title = text_take(&title);
    text_fini(&title);
    if (r->out->title)
        return SHD_OK;
    diag_no_memory(r->diag);
    return SHD_ENOMEM;
}

static int finish(struct reading *r, const char *const *paths, size_t npaths)
{
    const struct traces_request request = {.devices = r->request->devices,
                                           .step = r->request->step};
    int status;

    if (!r->format->is_of_rank)
        return SHD_OK;
    status = make_title(r, paths[0], npaths);
    return status == SHD_OK ? traces_join(r->out, &r->traces, &request, r->diag) : status;
}

int reader_read(struct capture *out, const char *const *paths, size_t npaths,
                const struct reader_request *request, struct diag *diag)
{
    struct reading r = {.out = out, .request = request, .diag = diag};
    int status = SHD_OK;

    traces_init(&r.traces);
    r.traces.given_world = request->devices;
    r.traces.mesh = request->mesh;
    for (size_t i = 0; i < npaths && status == SHD_OK; i++)
        status = read_path(&r, paths[i]);
    if (status == SHD_OK)
        status = finish(&r, paths, npaths);
    traces_fini(&r.traces);
    free(r.first_file);
    return status;
}
