/* trial/handoff.h - the handoff from a prefill to its decode: the KV cache and the first token are
 * transferred from the devices of the prefill to the devices of the decode.
 *
 * Both steps are programs of their own, each with its mesh: on the same devices, matched by number,
 * or disaggregated (a separate prefill.mesh).  Each device of the decode receives its shard of the
 * cache once, and nothing else; parts that it has already stay.  No transfer moves fewer bytes.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_HANDOFF_H
#define TRIAL_HANDOFF_H

#include "trial/trial.h"

/* trial_execute() for a decode after its prefill: the prefill is executed and verified first, and its
 * cache is the decode's initial state.  The record has the received bytes, counted in the copies.
 * Errors as trial_execute(), and SHD_EMISMATCH: the prefill is wrong; SHD_EUNSUPPORTED: over
 * ranks. */
SHD_MUST_CHECK int handoff_execute(struct trial *trial, const int *stop_request,
                                   struct shd_error *err);

/* trial_plan() for a decode after its prefill: the record has the bytes to receive and, with a
 * cluster, the seconds of the transfer after the prefill. */
SHD_MUST_CHECK int handoff_plan(struct trial *trial, struct shd_error *err);

#endif /* TRIAL_HANDOFF_H */
