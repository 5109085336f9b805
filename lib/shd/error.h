/* shd/error.h - what a failed call returns: a status, and one sentence of detail.
 *
 * Every fallible call returns SHD_OK or a negative enum shd_status and takes a
 * `struct shd_error *err` last, which may be NULL.  The detail belongs to the caller;
 * there is no hidden "last error".  On failure no output parameter is touched.
 *
 * A pointer that a function needs and that is NULL, a struct that was cleared and not filled, a
 * number that is no enumerator and an index out of range are errors as well: SHD_EINVAL, if the
 * function says no other, with the name of the argument.  An array of no elements may be NULL.  A
 * function without a status then does nothing and returns 0, NULL, false or, where 0 is an answer,
 * -1.  What else may be NULL, a function says.
 *
 * Thread class: a struct shd_error is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_ERROR_H
#define SHD_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Append only: the numbers are part of the interface. */
enum shd_status {
    SHD_OK = 0,
    SHD_EINVAL = -1,        /* a value that makes no sense here */
    SHD_ENOMEM = -2,        /* the host has no memory left */
    SHD_ERANGE = -3,        /* a number does not fit or is out of bounds */
    SHD_EINDIVISIBLE = -4,  /* a dimension does not divide by the axes that shard it */
    SHD_EDUPAXIS = -5,      /* a mesh axis or a name is used twice */
    SHD_ENOAXIS = -6,       /* an axis that is not in the mesh */
    SHD_ESPECLONG = -7,     /* a partition spec with more entries than the array has dimensions */
    SHD_ENOTFOUND = -8,     /* a name or a rule that was looked for and is not there */
    SHD_ETYPE = -9,         /* a value of another type than the one asked for */
    SHD_EUNSUPPORTED = -10, /* sensible, but not something this library does */
    SHD_EREGEX = -11,       /* a pattern that does not compile, or went over its match limit */
    SHD_ENOMESH = -12,      /* no mesh given and none in context */
    SHD_EDEVMEM = -13,      /* a virtual device went over its memory limit */
    SHD_ESTOPPED = -14,     /* ended because another device failed, or by request */
    SHD_EMISMATCH = -15,    /* members of a group disagree on what they call */
    SHD_ESTUCK = -16,       /* deadlock: devices wait for each other, or for an ended device */
    SHD_ESYSTEM = -17,      /* the operating system refused (threads, files) */
    SHD_EINTERNAL = -18     /* a mistake of this program: what it made contradicts itself */
};

/* Bytes of the detail with its end: room for a sentence of 160 characters and a long name in it. */
#define SHD_ERROR_TEXT_MAX 256

struct shd_error {
    int status;
    char text[SHD_ERROR_TEXT_MAX]; /* one lower-case sentence, no newline; cut if longer */
};

/* Fill *err (NULL allowed) and return `status`, so that a failing path is one line. */
SHD_API int shd_error_set(struct shd_error *err, int status, const char *fmt, ...) SHD_PRINTF(3, 4);

/* Whether pointers that a caller must give are there; else *err is SHD_EINVAL and names the first
 * of `names`, "out, mesh", that is NULL.  The macro gives the function's own name and those of the
 * pointers. */
SHD_API bool shd_given(struct shd_error *err, const char *function, const char *names,
                       const void *const *pointers, size_t n);
#define SHD_GIVEN(err, ...)                                                    \
    shd_given(err, __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__}, \
              sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))

/* The same of an array of `n` elements, which may be NULL if there are none. */
SHD_API bool shd_given_array(struct shd_error *err, const char *function, const char *name,
                             const void *array, size_t n);
#define SHD_GIVEN_ARRAY(err, array, n) shd_given_array(err, __func__, #array, array, n)

/* The kind of a status as the query protocol names it ("indivisible", "not-found"),
 * "ok" for 0 and "unknown" for a number that is none.  The string is static. */
SHD_API const char *shd_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif /* SHD_ERROR_H */
