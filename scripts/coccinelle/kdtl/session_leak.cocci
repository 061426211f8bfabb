// SPDX-License-Identifier: GPL-2.0
/// A session that was stored nowhere else must be closed on every error path.
///
// Confidence: Moderate
// Comments: the file's variables are only followed in what module_init() names,
// Comments: and not in patch mode
// Options: --no-includes

virtual patch
virtual context
virtual org
virtual report

@own exists@
local idexpression s;
expression E, X, Y;
identifier other !~ "^(kdtl_.*|IS_ERR|IS_ERR_OR_NULL|PTR_ERR)$";
position p, q;
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 s = create@p(...)
 ... when != true IS_ERR(s)
     when != true IS_ERR_OR_NULL(s)
     when != PTR_ERR_OR_ZERO(s)
     when != kdtl_session_close(s)
     when != E = s
     when != E = X ? Y : s
     when != E = X ? s : Y
     when != other(..., s, ...)
     when != return s;
(
 return s;
|
 return@q ...;
)

@zero exists@
local idexpression s;
expression E, R, X, Y;
statement S;
identifier other !~ "^(kdtl_.*|IS_ERR|IS_ERR_OR_NULL|PTR_ERR)$";
position p, q;
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 s = create@p(...)
 ... when != s = E
 R = PTR_ERR_OR_ZERO(s);
 if (R) S
 ... when != kdtl_session_close(s)
     when != E = s
     when != E = X ? Y : s
     when != E = X ? s : Y
     when != other(..., s, ...)
(
 return s;
|
 return@q ...;
)

@init@
declarer name module_init, late_initcall, device_initcall;
identifier f;
@@
(
 module_init(f);
|
 late_initcall(f);
|
 device_initcall(f);
)

@attached exists@
identifier init.f;
idexpression s;
expression R;
identifier verb =~ "^kdtl_";
identifier other !~ "^(kdtl_.*|pr_.*|printk|IS_ERR|PTR_ERR)$";
position p, q;
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 f(...)
 {
 	... when any
 	s = create@p(...)
 	... when any
 	    when != kdtl_session_close(s)
 	R = verb(s, ...);
 	if (R)
 	{
 		... when != kdtl_session_close(s)
 		    when != other(...)
 		return@q ...;
 	}
 	... when any
 }

@depends on patch exists@
local idexpression s;
expression E, X, Y;
identifier other !~ "^(kdtl_.*|IS_ERR|IS_ERR_OR_NULL|PTR_ERR)$";
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 s = create(...)
 ... when != true IS_ERR(s)
     when != true IS_ERR_OR_NULL(s)
     when != PTR_ERR_OR_ZERO(s)
     when != kdtl_session_close(s)
     when != E = s
     when != E = X ? Y : s
     when != E = X ? s : Y
     when != other(..., s, ...)
     when != return s;
(
 return s;
|
+kdtl_session_close(s);
 return ...;
)

@depends on patch exists@
local idexpression s;
expression E, R, X, Y;
statement S;
identifier other !~ "^(kdtl_.*|IS_ERR|IS_ERR_OR_NULL|PTR_ERR)$";
identifier create = { kdtl_session_create, kdtl_session_open };
@@
 s = create(...)
 ... when != s = E
 R = PTR_ERR_OR_ZERO(s);
 if (R) S
 ... when != kdtl_session_close(s)
     when != E = s
     when != E = X ? Y : s
     when != E = X ? s : Y
     when != other(..., s, ...)
(
 return s;
|
+kdtl_session_close(s);
 return ...;
)

@depends on context@
position own.q;
@@
*return@q ...;

@depends on context@
position zero.q;
@@
*return@q ...;

@depends on context@
position attached.q;
@@
*return@q ...;

@script:python depends on org@
p << own.p;
q << own.q;
@@
cocci.print_main("session", p)
cocci.print_secs("left open", q)

@script:python depends on org@
p << zero.p;
q << zero.q;
@@
cocci.print_main("session", p)
cocci.print_secs("left open", q)

@script:python depends on org@
p << attached.p;
q << attached.q;
@@
cocci.print_main("session", p)
cocci.print_secs("left open", q)

@script:python depends on report@
p << own.p;
q << own.q;
@@
coccilib.report.print_report(q[0], "left without kdtl_session_close(), created on line %s" % p[0].line)

@script:python depends on report@
p << zero.p;
q << zero.q;
@@
coccilib.report.print_report(q[0], "left without kdtl_session_close(), created on line %s" % p[0].line)

@script:python depends on report@
p << attached.p;
q << attached.q;
@@
coccilib.report.print_report(q[0], "left without kdtl_session_close(), created on line %s" % p[0].line)
