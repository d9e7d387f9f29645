// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions of every kind to the small kernel that tests/compat/run makes, and
 * the answers that are right:
 *
 * Expect: a_function 1
 * Expect: an_inline 1
 * Expect: a_macro 1
 * Expect: a_member 1
 * Expect: a_bit_field 1
 * Expect: a_prototype 1
 * Expect: an_enumerator 1
 * Expect: a_width 1
 * Expect: configured 1
 * Expect: no_function 0
 * Expect: no_function_again 0
 * Expect: no_macro 0
 * Expect: no_member 0
 * Expect: no_prototype 0
 * Expect: no_enumerator 0
 * Expect: no_structure 0
 * Expect: no_type 0
 * Expect: not_configured 0
 * Expect: error_in_macro 0
 * Expect: only_warns 1
 * Expect: h_source 1
 * Expect: h_object 1
 * Expect: h_uapi 1
 * Expect: h_generated 1
 * Expect: h_nowhere 0
 * Expect: h_guarded 1
 * Expect: e_exported 1
 * Expect: e_gpl 1
 * Expect: e_same 1
 * Expect: e_prefix 0
 * Expect: e_declared_only 0
 *
 * Header: h_source linux/thing.h
 * Header: h_object linux/made.h
 * Header: h_uapi linux/user_thing.h
 * Header: h_generated thing_flags.h
 * Header: h_nowhere linux/nothing.h
 * Export: e_exported thing_do
 * Export: e_gpl thing_gpl
 * Export: e_same thing_do
 * Export: e_prefix thing_d
 * Export: e_declared_only thing_hidden
 */
#include <linux/thing.h>
#if RXE_HAVE_H_OBJECT
#include <linux/made.h>
#endif
#if RXE_HAVE_H_NOWHERE
#include <linux/nothing.h>
#endif

#define PROBE(name)		void rxe_probe_##name(void); \
				void rxe_probe_##name(void)
#define DECLARED(name)		((void)sizeof(&(name)))
#define MEMBER(type, name)	((void)sizeof(((type *)0)->name))
#define SAME(expr, type) \
	((void)sizeof(char[1 - 2 * !__builtin_types_compatible_p(typeof(expr), type)]))

#line 1 "require:thing"
#ifndef CONFIG_THING
#error "It is configured without CONFIG_THING."
#endif

/*
 * Require: thing_size Its things have no size.
 */
#line 1 "require:thing_size"
PROBE(thing_size)
{
	MEMBER(struct thing, size);
}

#line 1 "probe:must_pass"
PROBE(must_pass)
{
	DECLARED(thing_do);
}

#line 1 "probe:must_fail"
PROBE(must_fail)
{
	DECLARED(nobody_declares_this);
}

#line 1 "probe:a_function"
PROBE(a_function)
{
	DECLARED(thing_do);
}

#line 1 "probe:an_inline"
PROBE(an_inline)
{
	DECLARED(thing_inline);
}

#line 1 "probe:a_macro"
#ifndef thing_macro
#error "no"
#endif

#line 1 "probe:a_member"
PROBE(a_member)
{
	MEMBER(struct thing, size);
}

#line 1 "probe:a_bit_field"
PROBE(a_bit_field)
{
	struct thing t;

	t.flag = 1;
}

#line 1 "probe:a_prototype"
PROBE(a_prototype)
{
	SAME(&thing_do, int (*)(struct thing *, unsigned int));
}

#line 1 "probe:an_enumerator"
PROBE(an_enumerator)
{
	(void)THING_ONE;
}

#line 1 "probe:a_width"
PROBE(a_width)
{
	SAME(((struct thing *)0)->size, unsigned int);
}

#line 1 "probe:configured"
#ifndef CONFIG_THING
#error "no"
#endif

#line 1 "probe:no_function"
PROBE(no_function)
{
	DECLARED(thing_missing);
}

#line 1 "probe:no_function_again"
PROBE(no_function_again)
{
	DECLARED(thing_missing);
}

#line 1 "probe:no_macro"
#ifndef thing_no_macro
#error "no"
#endif

#line 1 "probe:no_member"
PROBE(no_member)
{
	MEMBER(struct thing, colour);
}

#line 1 "probe:no_prototype"
PROBE(no_prototype)
{
	SAME(&thing_do, int (*)(struct thing *, int));
}

#line 1 "probe:no_enumerator"
PROBE(no_enumerator)
{
	(void)THING_TWO;
}

#line 1 "probe:no_structure"
PROBE(no_structure)
{
	MEMBER(struct no_thing, size);
}

#line 1 "probe:no_type"
PROBE(no_type)
{
	thing_t t;

	(void)t;
}

#line 1 "probe:not_configured"
#ifndef CONFIG_OTHER
#error "no"
#endif

/* The error stands in the header that defines the macro; the probe uses it. */
#line 1 "probe:error_in_macro"
PROBE(error_in_macro)
{
	thing_bad_macro();
}

/* A warning is no answer, even where the kernel makes it an error. */
#line 1 "probe:only_warns"
PROBE(only_warns)
{
	int unused;
	const struct thing *t = (void *)0;
	struct thing *u = t;

	(void)u;
}

#line 1 "probe:h_guarded"
#if !RXE_HAVE_H_OBJECT || RXE_HAVE_H_NOWHERE
#error "no"
#endif
