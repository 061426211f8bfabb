// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of kdtl.ko. */
#define CREATE_TRACE_POINTS
#include "trace.h"
