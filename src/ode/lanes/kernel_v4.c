/* The kernel for x86-64 with AVX-512.
 * SPDX-License-Identifier: BSD-3-Clause */
#define KERNEL lanes_kernel_v4
#define KERNEL_NAME "x86-64-v4"
#include "ode/lanes/kernel.c"
