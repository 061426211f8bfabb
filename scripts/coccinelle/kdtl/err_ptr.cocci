// SPDX-License-Identifier: GPL-2.0
/// kdtl_session_create(), kdtl_session_open() and kdtl_merge_create() return an
/// ERR_PTR, never NULL, so check the result with IS_ERR() before using it.
///
// Confidence: High
// Options: --no-includes

virtual patch
virtual context
virtual org
virtual report

@null exists@
expression S, E;
position q;
@@
(
 S = kdtl_session_create(...)
|
 S = kdtl_session_open(...)
|
 S = kdtl_merge_create(...)
)
 ... when != S = E
     when != IS_ERR(S)
     when != IS_ERR_OR_NULL(S)
     when != PTR_ERR_OR_ZERO(S)
(
 !S@q
|
 S@q == NULL
|
 S@q != NULL
)

@depends on patch@
expression null.S;
position null.q;
@@
(
-!S@q
+IS_ERR(S)
|
-S@q == NULL
+IS_ERR(S)
|
-S@q != NULL
+!IS_ERR(S)
)

// kdtl_session_close() takes an ERR_PTR as well.
@used depends on !patch exists@
expression S, E;
identifier verb =~ "^kdtl_";
identifier verb2 = kdtl_session_close;
identifier other !~ "^kdtl_";
position p, q;
@@
(
 S = kdtl_session_create@p(...)
|
 S = kdtl_session_open@p(...)
|
 S = kdtl_merge_create@p(...)
)
 ... when != S = E
     when != IS_ERR(S)
     when != IS_ERR_OR_NULL(S)
     when != PTR_ERR_OR_ZERO(S)
     when != S == NULL
     when != other(..., S, ...)
(
 verb2(S)
|
 verb@q(S, ...)
)

@depends on patch@
identifier f, verb =~ "^kdtl_(load|start|write|create|aux|merge)";
identifier create = { kdtl_session_create, kdtl_session_open, kdtl_merge_create };
local idexpression S;
@@
 int f(...)
 {
 	<...
 	S = create(...);
+	if (IS_ERR(S))
+		return PTR_ERR(S);
 	... when != IS_ERR(S)
 	    when != IS_ERR_OR_NULL(S)
 	    when != PTR_ERR_OR_ZERO(S)
 	verb(S, ...)
 	...>
 }

@depends on context@
expression null.S;
position null.q;
@@
*S@q

@depends on context@
identifier used.verb;
position used.q;
@@
*verb@q(...)

@script:python depends on org@
q << null.q;
@@
cocci.print_main("compared with NULL", q)

@script:python depends on org@
p << used.p;
q << used.q;
@@
cocci.print_main("created", p)
cocci.print_secs("used without a look", q)

@script:python depends on report@
q << null.q;
@@
coccilib.report.print_report(q[0], "an ERR_PTR is never NULL: use IS_ERR()")

@script:python depends on report@
p << used.p;
q << used.q;
@@
coccilib.report.print_report(q[0], "used without IS_ERR(), created on line %s" % p[0].line)
