/*
 * clones.h
 *		PFS_CLONES marks a hot loop that is also compiled for AVX2; the loader picks the version
 *		that suits the processor.
 *
 * Use it for static functions only: gcc exports the resolver of any other function, whatever its
 * visibility.
 */
#ifndef PFS_CLONES_H
#define PFS_CLONES_H

/* clang 14 lacks the attribute, and only glibc resolves such functions at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define PFS_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define PFS_CLONES
#endif

#endif
