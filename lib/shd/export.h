/* shd/export.h - how public functions are declared; every public header includes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_EXPORT_H
#define SHD_EXPORT_H

#if defined(__GNUC__)
#define SHD_API __attribute__((visibility("default")))
#define SHD_MUST_CHECK __attribute__((warn_unused_result))
#define SHD_PRINTF(fmt_arg, first_arg) __attribute__((format(printf, fmt_arg, first_arg)))
#else
#define SHD_API
#define SHD_MUST_CHECK
#define SHD_PRINTF(fmt_arg, first_arg)
#endif

#endif /* SHD_EXPORT_H */
