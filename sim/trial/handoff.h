/* trial/handoff.h - from a prefill to the decode that goes on from it: the tokens that were kept and
 * the first one that was made, brought from the devices that have them to those that want them.
 *
 * Both steps are programs of their own, each with its mesh.  They are on the same devices, those of
 * equal number, or with prefill.mesh apart, on devices of their own.  Each device of the decode
 * receives what it holds of the tokens that are kept, once, and nothing else; what it has already
 * stays.  No way moves fewer bytes.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_HANDOFF_H
#define TRIAL_HANDOFF_H

#include "trial/trial.h"

/* trial_execute(), of a decode behind its prefill: that is executed and verified first, and what it
 * leaves is the initial state.  The record tells what was received, counted where it was copied.
 * Errors as trial_execute(), and SHD_EMISMATCH: the prefill is wrong; SHD_EUNSUPPORTED: over
 * ranks. */
SHD_MUST_CHECK int handoff_execute(struct trial *trial, const int *stop_request,
                                   struct shd_error *err);

/* trial_plan(), of a decode behind its prefill: the record tells what is received and, with a
 * cluster, the seconds that this takes behind the prefill. */
SHD_MUST_CHECK int handoff_plan(struct trial *trial, struct shd_error *err);

#endif /* TRIAL_HANDOFF_H */
