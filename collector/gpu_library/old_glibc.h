/*
 * old_glibc.h
 *		Binds functions to their first versions: the library loads with glibc 2.17 and later.
 *
 * In glibc 2.34 these functions moved from other libraries into libc.so.6 and got a new version
 * there. The old version is still provided. Each file of this library includes this header first.
 */
#ifndef GPU_LIBRARY_OLD_GLIBC_H
#define GPU_LIBRARY_OLD_GLIBC_H

#if defined(__x86_64__)
#define FIRST_GLIBC	  "GLIBC_2.2.5"
#define SETNAME_GLIBC "GLIBC_2.12"
#elif defined(__aarch64__)
#define FIRST_GLIBC	  "GLIBC_2.17"
#define SETNAME_GLIBC "GLIBC_2.17"
#endif

#define BIND_TO(function, version) __asm__(".symver " #function "," #function "@" version)

#if defined(FIRST_GLIBC) && defined(BIND_OLD_GLIBC)
BIND_TO(dlopen, FIRST_GLIBC);
BIND_TO(dlsym, FIRST_GLIBC);
BIND_TO(pthread_create, FIRST_GLIBC);
BIND_TO(pthread_sigmask, FIRST_GLIBC);
BIND_TO(pthread_attr_setstacksize, FIRST_GLIBC);
BIND_TO(pthread_setname_np, SETNAME_GLIBC);
#endif

#endif
