/* Comes before all sources of what make bundle builds. On x86-64 hypot has had a second name since glibc 2.35, for the same
 * numbers without errno. With the old one the program runs with glibc 2.34, too, as in RHEL 9.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifdef __x86_64__
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
#endif
