// SPDX-License-Identifier: GPL-2.0
/// A transaction that kdtl_aux_output_begin() opened must be closed on every path,
/// because the area refuses the next one until then.
///
// Confidence: High
// Comments: after patch mode check that begin cannot have returned NULL there; the
// Comments: end of a void function is not changed, as both paths mostly meet there
// Options: --no-includes

virtual patch
virtual context
virtual org
virtual report

// A function that returns what begin returned leaves the end to its caller.
@taken exists@
local idexpression A;
expression H, E;
position p, q;
@@
 A = kdtl_aux_output_begin@p(H, E)
 ... when != true A == NULL
     when != false A != NULL
     when != kdtl_aux_output_end(H, ...)
(
 return A;
|
 return@q ...;
)

@tested exists@
expression H, E;
statement S;
position p, q;
@@
(
 if (!kdtl_aux_output_begin@p(H, E)) S
|
 if (kdtl_aux_output_begin@p(H, E) == NULL) S
)
 ... when != kdtl_aux_output_end(H, ...)
 return@q ...;

@depends on patch exists@
local idexpression A;
expression H, E, R;
@@
 A = kdtl_aux_output_begin(H, E)
 ... when != true A == NULL
     when != false A != NULL
     when != kdtl_aux_output_end(H, ...)
(
 return A;
|
+kdtl_aux_output_end(H, 0);
 return R;
)

@depends on patch exists@
expression H, E, R;
statement S;
@@
(
 if (!kdtl_aux_output_begin(H, E)) S
|
 if (kdtl_aux_output_begin(H, E) == NULL) S
)
 ... when != kdtl_aux_output_end(H, ...)
+kdtl_aux_output_end(H, 0);
 return R;

@depends on context@
position taken.q;
@@
*return@q ...;

@depends on context@
position tested.q;
@@
*return@q ...;

@script:python depends on org@
p << taken.p;
q << taken.q;
@@
cocci.print_main("begin", p)
cocci.print_secs("left without kdtl_aux_output_end()", q)

@script:python depends on org@
p << tested.p;
q << tested.q;
@@
cocci.print_main("begin", p)
cocci.print_secs("left without kdtl_aux_output_end()", q)

@script:python depends on report@
p << taken.p;
q << taken.q;
@@
coccilib.report.print_report(q[0], "left without kdtl_aux_output_end(), begun on line %s" % p[0].line)

@script:python depends on report@
p << tested.p;
q << tested.q;
@@
coccilib.report.print_report(q[0], "left without kdtl_aux_output_end(), begun on line %s" % p[0].line)

