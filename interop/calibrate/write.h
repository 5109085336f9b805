/* write.h - writing new constants, and the errors that they leave, into a cluster's file.
 *
 * The text and its comments are kept, except for the values of the constants; the list `fitted`,
 * which adds the constants fitted now; and the list `validation`, whose entries for the sets of
 * steps used now are replaced.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_WRITE_H
#define CALIBRATE_WRITE_H

#include "calibrate/fit.h"

/* Append the file `text`, with these edits, to `out`; messages name its `place`.  A constant that
 * is missing in the file, or whose value is not on the line of its key, is an error.  SHD_EINVAL,
 * SHD_ENOMEM. */
SHD_MUST_CHECK int write_hardware(struct text *out, const struct text *text, const char *place,
                                  const struct constants *constants, const struct samples *samples,
                                  const struct fit *fit, struct diag *diag);

#endif /* CALIBRATE_WRITE_H */
