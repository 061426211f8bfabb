// SPDX-License-Identifier: GPL-2.0
/// After kdtl_aux_consume() the writer may overwrite a span of kdtl_aux_peek(), and
/// after kdtl_session_close() its memory is gone.
///
// Confidence: High
// Options: --no-includes

virtual context
virtual org
virtual report

// If only a part was given back, the rest may still be used: only giving back the
// whole span counts.
@span exists@
expression L, S, C, P, N;
position p, q;
@@
 L = kdtl_aux_peek(S, C, &P)
 ... when != P = N
     when != L = N
(
 kdtl_aux_consume@p(S, C, L)
|
 kdtl_session_close@p(S)
)
 ... when != kdtl_aux_peek(..., &P)
     when != P = N
(
 kdtl_aux_peek(..., &P)
|
 P = N
|
 P@q
)

@cursor exists@
iterator name kdtl_for_each_entry;
expression L, S, C, P, N, P2, L2;
identifier e;
statement B;
position p, q;
@@
 L = kdtl_aux_peek(S, C, &P)
 ... when != L = N
 kdtl_for_each_entry(e, P, L) B
 ... when != e = N
     when != L = N
(
 kdtl_aux_consume@p(S, C, L)
|
 kdtl_session_close@p(S)
)
 ... when != e = N
     when != kdtl_for_each_entry(e, P2, L2) B
     when != kdtl_aux_peek(..., &P)
(
 e = N
|
 e@q
)

@depends on context@
position span.q;
expression P;
@@
*P@q

@depends on context@
position cursor.q;
identifier e;
@@
*e@q

@script:python depends on org@
p << span.p;
q << span.q;
@@
cocci.print_main("given back", p)
cocci.print_secs("used", q)

@script:python depends on org@
p << cursor.p;
q << cursor.q;
@@
cocci.print_main("given back", p)
cocci.print_secs("used", q)

@script:python depends on report@
p << span.p;
q << span.q;
@@
coccilib.report.print_report(q[0], "span used after it was given back on line %s" % p[0].line)

@script:python depends on report@
p << cursor.p;
q << cursor.q;
@@
coccilib.report.print_report(q[0], "entry used after it was given back on line %s" % p[0].line)
