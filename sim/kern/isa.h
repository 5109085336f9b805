/* kern/isa.h - one loop body compiled for several vector widths, the widest chosen at run time.
 *
 * A body is a KERN_BODY function; KERN_VARIANTS(linkage, name, params, args) makes `name` from
 * `name_body`.  Bodies loop over whole groups of KERN_LANES elements, a constant that lets
 * compilers vectorize at -O2.  Nothing here changes the order of operations, and the build passes
 * -ffp-contract=off, so all widths give the same bits.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ISA_H
#define KERN_ISA_H

#define KERN_LANES 32

enum kern_isa { KERN_ISA_BASE, KERN_ISA_AVX2, KERN_ISA_AVX512, KERN_NISAS };

/* The widest that both the processor and kern_isa_limit() allow. */
enum kern_isa kern_isa_get(void);

/* For tests: never use more than `widest` from now on. */
void kern_isa_limit(enum kern_isa widest);

#define KERN_BODY static inline __attribute__((always_inline))

#ifdef __x86_64__
#define KERN_AVX2 __attribute__((target("avx2,fma")))
#define KERN_AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))

#define KERN_VARIANTS_(linkage, name, params, args) \
    static void name##_base params                  \
    {                                               \
        name##_body args;                           \
    }                                               \
    KERN_AVX2 static void name##_avx2 params        \
    {                                               \
        name##_body args;                           \
    }                                               \
    KERN_AVX512 static void name##_avx512 params    \
    {                                               \
        name##_body args;                           \
    }                                               \
    linkage void name params                        \
    {                                               \
        switch (kern_isa_get()) {                   \
        case KERN_ISA_AVX512:                       \
            name##_avx512 args;                     \
            return;                                 \
        case KERN_ISA_AVX2:                         \
            name##_avx2 args;                       \
            return;                                 \
        default:                                    \
            name##_base args;                       \
        }                                           \
    }
#else
#define KERN_VARIANTS_(linkage, name, params, args) \
    linkage void name params                        \
    {                                               \
        name##_body args;                           \
    }
#endif

/* The name may be a macro's. */
#define KERN_VARIANTS(linkage, name, params, args) KERN_VARIANTS_(linkage, name, params, args)

#endif /* KERN_ISA_H */
