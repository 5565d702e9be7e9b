/* Whether a test may bring its own malloc: not under a sanitizer, which has one, and only with glibc, whose functions of
 * other names do the work. gcc and clang tell differently of sanitizers.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_REPLACES_MALLOC_H
#define TESTS_REPLACES_MALLOC_H

#include <stdlib.h> /* tells of glibc */

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPLACES_MALLOC 0
#elif !defined(__has_feature)
#define REPLACES_MALLOC 1
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REPLACES_MALLOC 0
#else
#define REPLACES_MALLOC 1
#endif

#endif
