/* tap.h - the four calls every test program is made of.
 *
 * Output is the Test Anything Protocol on stdout.  A test program returns done(), which is 0 even
 * after a failure: the failure is told by the protocol.
 *
 * Thread class: one thread only; device threads hand their findings to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAP_H
#define TAP_H

/* To be called first: under the thread sanitizer, which takes ten times as long, the program ends here,
 * as nothing in it can race, or as its devices run as they do in tests/scenarios.sh.  As in tap.sh. */
void starts_no_threads(void);
void same_threads_as_scenarios(void);

/* Promise `ntests` tests; 0: they are counted, and the number is told at the end. */
void plan(int ntests);

/* One test: passed when `pass` is not 0.  The text says what holds.  Returns `pass`. */
int ok(int pass, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A remark, of any number of lines. */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The end of the program: prints the number of tests if plan() did not.  Returns 0. */
int done(void);

#endif /* TAP_H */
