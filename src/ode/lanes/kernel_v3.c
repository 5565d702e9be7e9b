/* The kernel for x86-64 with AVX2.
 * SPDX-License-Identifier: BSD-3-Clause */
#define KERNEL lanes_kernel_v3
#define KERNEL_NAME "x86-64-v3"
#include "ode/lanes/kernel.c"
