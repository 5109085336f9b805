/* Streaming stores (stream.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/stream.h"

#include <stdint.h>
#include <string.h>

/* The thread sanitizer does not see streaming stores, so its builds copy plainly. */
#if defined(__SANITIZE_THREAD__)
#define PLAIN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLAIN 1
#endif
#endif

#if defined(__SSE2__) && !defined(PLAIN)
#include <emmintrin.h>

#define LINE 64

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void stream_copy(void *dst, const void *src, size_t bytes)
{
    size_t head = least(bytes, (LINE - (uintptr_t)dst % LINE) % LINE);
    char *to = (char *)dst + head;
    const char *from = (const char *)src + head;
    size_t nlines = (bytes - head) / LINE;

    memcpy(dst, src, head);
    for (size_t i = 0; i < nlines; i++, to += LINE, from += LINE) {
        const __m128i *in = (const __m128i *)from;
        __m128i *out = (__m128i *)to;
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(to, from, (bytes - head) % LINE);
}

void stream_fence(void)
{
    _mm_sfence();
}

#else

void stream_copy(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

void stream_fence(void)
{
}

#endif
