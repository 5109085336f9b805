/* reference_rows.h - rows of tokens brought to their experts and back, in the unsharded computation.
 *
 * Thread class: as the computation (reference_state.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REFERENCE_ROWS_H
#define TRIAL_REFERENCE_ROWS_H

#include "trial/reference_state.h"

/* Dispatch: copy this rank's share of the rows; combine: sum the rows of each token.  Variances
 * follow; rows without a token are exact zeros.  SHD_ENOMEM. */
SHD_MUST_CHECK int reference_do_rows(struct reference *ref, const struct share *s,
                                     struct shd_error *err);

#endif /* TRIAL_REFERENCE_ROWS_H */
