/* write.h - a cluster's file with other constants, and with the errors that they leave.
 *
 * The text stays as it was written, with its remarks, but for the values of the constants, the list
 * `fitted`, which gets those that were fitted now, and the list `validation`: what it says of the
 * sets of steps that were used now is said anew.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_WRITE_H
#define CALIBRATE_WRITE_H

#include "calibrate/fit.h"

/* Append to `out` the file `text`, whose `place` messages name.  A constant that the file leaves
 * out, or whose value is not on the line of its key, is an error.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int write_hardware(struct text *out, const struct text *text, const char *place,
                                  const struct constants *constants, const struct samples *samples,
                                  const struct fit *fit, struct diag *diag);

#endif /* CALIBRATE_WRITE_H */
