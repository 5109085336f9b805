/* Tests shd/error.h: the text and status of errors, and the names of statuses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/error.h>

#include "../support/tap.h"

static void test_set(void)
{
    struct shd_error err;
    char large[2 * SHD_ERROR_TEXT_MAX];

    ok(shd_error_set(&err, SHD_ERANGE, "%d of %s", 3, "x") == SHD_ERANGE, "set: returns status");
    ok(err.status == SHD_ERANGE, "set: keeps the status");
    ok(!strcmp(err.text, "3 of x"), "set: formats");
    ok(shd_error_set(NULL, SHD_EINVAL, "nowhere") == SHD_EINVAL, "set: NULL is allowed");

    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    shd_error_set(&err, SHD_EINVAL, "%s", large);
    ok(strlen(err.text) == SHD_ERROR_TEXT_MAX - 1, "set: cuts what is too long");
}

static void test_names(void)
{
    static const struct {
        int status;
        const char *name;
    } cases[] = {
        {SHD_OK, "ok"},
        {SHD_EINVAL, "invalid"},
        {SHD_EINDIVISIBLE, "indivisible"},
        {SHD_EDUPAXIS, "duplicate-axis"},
        {SHD_ENOAXIS, "axis-not-in-mesh"},
        {SHD_ESPECLONG, "spec-too-long"},
        {SHD_ENOTFOUND, "not-found"},
        {SHD_ETYPE, "type"},
        {SHD_ERANGE, "range"},
        {SHD_EUNSUPPORTED, "unsupported"},
        {SHD_EREGEX, "regex"},
        {SHD_ENOMESH, "no-mesh"},
        {SHD_ESYSTEM, "system"},
        {SHD_EINTERNAL, "internal"},
        {SHD_EINTERNAL - 1, "unknown"},
        {1, "unknown"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ok(!strcmp(shd_status_name(cases[i].status), cases[i].name), "name of %d is %s",
           cases[i].status, cases[i].name);
    for (int status = SHD_EINTERNAL; status <= 0; status++)
        ok(strcmp(shd_status_name(status), "unknown") != 0, "status %d has a name", status);
}

int main(void)
{
    plan(0);
    test_set();
    test_names();
    return done();
}
