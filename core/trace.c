// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of kdtl.ko. */

/* Of headers that come after CREATE_TRACE_POINTS the tracepoints would be created here, too. */
#include "session.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
