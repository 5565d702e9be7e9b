/* Which sanitizers this is compiled with: gcc and clang say so in different ways.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WITH_ASAN 1
#else
#define WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#else
#define WITH_TSAN 0
#endif
