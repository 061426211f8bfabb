// SPDX-License-Identifier: GPL-2.0
/// Update a client or a driver that was written for kdtl 0.1.
///
/// KDTL_SESSION_BLOCK is KDTL_SESSION_PAUSE now, kdtl_alarm() takes a structure, and what
/// only PMU drivers use has moved to <linux/kdtl_pmu.h>.  A notifier of alarms has to be
/// changed by hand: it gets the structure, no longer the text.
///
//	scripts/cocci --update 0.1 FOLDER | patch -p0
//
// Confidence: High
// Comments: One file at a time. A file that gets <linux/kdtl.h> through a header of
//	its own is left alone: update that header with it.
// Options: --no-includes

virtual patch

@depends on patch@
@@
-KDTL_SESSION_BLOCK
+KDTL_SESSION_PAUSE

@depends on patch@
struct kdtl_alarm *alarm;
expression text;
@@
(
kdtl_alarm(alarm)
|
kdtl_alarm(&text)
|
-kdtl_alarm(text)
+kdtl_alarm(&(struct kdtl_alarm) { .what = text, .cpu = -1 })
)

@function@
identifier f =~ "^kdtl_(pmu_(register|unregister|output|lost)|aux_output_(begin|end|skip|flag)|get_aux)$";
position p;
@@
f@p

@kind@
identifier k =~ "^KDTL_(KIND_(CEDE|PREEMPT|FAULT|UNKNOWN)|NR_KINDS)$";
position p;
@@
k@p

@structure@
position p;
@@
(
struct kdtl_pmu@p
|
struct kdtl_area@p
|
enum kdtl_kind@p
)

@included@
@@
#include <linux/kdtl_pmu.h>

@depends on patch && !included && (function || kind || structure)@
@@
 #include <linux/kdtl.h>
+#include <linux/kdtl_pmu.h>
