/* The texts of mathematics.cl: definitions of functions of lanes, for C and for OpenCL.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

extern const char mathematics_exponential[], mathematics_logarithm[], mathematics_power[],
    mathematics_angle[], mathematics_gamma[], mathematics_numbers[], mathematics_numbers_end[];
