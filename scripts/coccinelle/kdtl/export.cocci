// SPDX-License-Identifier: GPL-2.0
/// Symbols of a module that uses kdtl are exported to GPL modules only, as kdtl's
/// are, and kdtl's own symbols in kdtl's namespace.
///
// Confidence: High
// Options: --no-includes

virtual patch
virtual context
virtual org
virtual report

// Includes are no alternatives in one rule.
@client@
@@
 #include <linux/kdtl.h>

@verbs@
@@
 #include <linux/kdtl_verbs.h>

@counters@
@@
 #include <linux/kdtl_counters.h>

@answers@
@@
 #include <linux/kdtl_answers.h>

@plain@
declarer name EXPORT_SYMBOL;
identifier f;
position p;
@@
 EXPORT_SYMBOL@p(f);

// kdtl's own names count in any file, others only if the file uses kdtl.
@mine@
declarer name EXPORT_SYMBOL, EXPORT_SYMBOL_GPL;
identifier f =~ "^kdtl_";
position p;
@@
(
 EXPORT_SYMBOL@p(f);
|
 EXPORT_SYMBOL_GPL@p(f);
)

@spaced@
declarer name EXPORT_SYMBOL_NS;
identifier f =~ "^kdtl_";
expression NS;
position p;
@@
 EXPORT_SYMBOL_NS@p(f, NS);

@depends on patch@
declarer name EXPORT_SYMBOL, EXPORT_SYMBOL_GPL, EXPORT_SYMBOL_NS, EXPORT_SYMBOL_NS_GPL;
identifier f =~ "^kdtl_";
expression NS;
@@
(
-EXPORT_SYMBOL(f);
+EXPORT_SYMBOL_NS_GPL(f, KDTL_NS);
|
-EXPORT_SYMBOL_GPL(f);
+EXPORT_SYMBOL_NS_GPL(f, KDTL_NS);
|
-EXPORT_SYMBOL_NS(f, NS);
+EXPORT_SYMBOL_NS_GPL(f, KDTL_NS);
)

@depends on patch && (client || verbs || counters || answers)@
declarer name EXPORT_SYMBOL, EXPORT_SYMBOL_GPL;
identifier f !~ "^kdtl_";
@@
-EXPORT_SYMBOL(f);
+EXPORT_SYMBOL_GPL(f);

@depends on context@
declarer name EXPORT_SYMBOL, EXPORT_SYMBOL_GPL, EXPORT_SYMBOL_NS;
identifier f =~ "^kdtl_";
@@
(
*EXPORT_SYMBOL(f);
|
*EXPORT_SYMBOL_GPL(f);
|
*EXPORT_SYMBOL_NS(f, ...);
)

@depends on context && (client || verbs || counters || answers)@
declarer name EXPORT_SYMBOL;
identifier f !~ "^kdtl_";
@@
*EXPORT_SYMBOL(f);

@script:python depends on org@
p << mine.p;
f << mine.f;
@@
cocci.print_main(f + ": EXPORT_SYMBOL_NS_GPL(, KDTL_NS)", p)

@script:python depends on org@
p << spaced.p;
f << spaced.f;
@@
cocci.print_main(f + ": EXPORT_SYMBOL_NS_GPL(, KDTL_NS)", p)

@script:python depends on org && (client || verbs || counters || answers)@
p << plain.p;
f << plain.f;
@@
if not f.startswith("kdtl_"):
    cocci.print_main(f + ": EXPORT_SYMBOL_GPL()", p)

@script:python depends on report@
p << mine.p;
f << mine.f;
@@
coccilib.report.print_report(p[0], "%s: use EXPORT_SYMBOL_NS_GPL(%s, KDTL_NS)" % (f, f))

@script:python depends on report@
p << spaced.p;
f << spaced.f;
@@
coccilib.report.print_report(p[0], "%s: use EXPORT_SYMBOL_NS_GPL(%s, KDTL_NS)" % (f, f))

@script:python depends on report && (client || verbs || counters || answers)@
p << plain.p;
f << plain.f;
@@
if not f.startswith("kdtl_"):
    coccilib.report.print_report(p[0], "%s is built on GPL-only exports: use EXPORT_SYMBOL_GPL(%s)" % (f, f))
