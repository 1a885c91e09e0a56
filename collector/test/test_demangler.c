/*
 * test_demangler.c
 *		Readable names of functions: full ones against c++filt -i, simple ones against pprof's.
 *
 * The texts were printed by c++filt of binutils 2.40 and by pprof of Go 1.26. For Rust they are
 * those of RFC 2603 and of rustc's documentation. pprof leaves the parameters of thunks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/worker/demangler.h"
#include "symbols/worker/simple_name.h"

static const struct
{
	const char *mangled;
	const char *full;
	const char *simple;
} names[] = {
	{ "_ZN2ns1SC1Ei", "ns::S::S(int)", "ns::S::S" },
	{ "_ZN2ns1SD1Ev", "ns::S::~S()", "ns::S::~S" },
	{ "_ZN2ns1SnwEm", "ns::S::operator new(unsigned long)", "ns::S::operator new" },
	{ "_ZN2ns2cbEPFiPKcdE", "ns::cb(int (*)(char const*, double))", "ns::cb" },
	{ "_ZN2ns3BoxIiEclEi", "ns::Box<int>::operator()(int)", "ns::Box::operator()" },
	{ "_ZN2ns3BoxIiEptEv", "ns::Box<int>::operator->()", "ns::Box::operator->" },
	{ "_ZN2ns3numILi3EEEiRAT__i", "int ns::num<3>(int (&) [3])", "ns::num" },
	{ "_ZN2ns3useEv", "ns::use()", "ns::use" },
	{ "_ZN2ns4pickIidEEDTplfp_fp0_ET_T0_",
	  "decltype ({parm#1}+{parm#2}) ns::pick<int, double>(int, double)", "ns::pick" },
	{ "_ZN2nslsIiEEbRNS_3BoxIT_EEi", "bool ns::operator<< <int>(ns::Box<int>&, int)",
	  "ns::operator<<" },
	{ "_ZNKSt9_Any_data9_M_accessIZN2ns3useEvEUliE_EERKT_v",
	  "ns::use()::{lambda(int)#1} const& std::_Any_data::_M_access<ns::use()::{lambda(int)#1}>() const",
	  "std::_Any_data::_M_access" },
	{ "_ZNSt17_Function_handlerIFiiEZN2ns3useEvEUliE_E9_M_invokeERKSt9_Any_dataOi",
	  "std::_Function_handler<int (int), ns::use()::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)",
	  "std::_Function_handler::_M_invoke" },
	{ "_ZNSt8functionIFiiEEC1IZN2ns3useEvEUliE_vEEOT_",
	  "std::function<int (int)>::function<ns::use()::{lambda(int)#1}, void>(ns::use()::{lambda(int)#1}&&)",
	  "std::function::function" },
	{ "_ZNSt8functionIFiiEEC2IZN2ns3useEvEUliE_vEEOT_",
	  "std::function<int (int)>::function<ns::use()::{lambda(int)#1}, void>(ns::use()::{lambda(int)#1}&&)",
	  "std::function::function" },
	{ "_ZNSt9_Any_data9_M_accessIZN2ns3useEvEUliE_EERT_v",
	  "ns::use()::{lambda(int)#1}& std::_Any_data::_M_access<ns::use()::{lambda(int)#1}>()",
	  "std::_Any_data::_M_access" },
	{ "_ZSt10__invoke_rIiRZN2ns3useEvEUliE_JiEENSt9enable_ifIX16is_invocable_r_vIT_T0_DpT1_EES4_E4typeEOS5_DpOS6_",
	  "std::enable_if<is_invocable_r_v<int, ns::use()::{lambda(int)#1}&, int>, int>::type std::__invoke_r<int, ns::use()::{lambda(int)#1}&, int>(ns::use()::{lambda(int)#1}&, int&&)",
	  "std::__invoke_r" },
	{ "_ZSt7forwardIRKZN2ns3useEvEUliE_EOT_RNSt16remove_referenceIS4_E4typeE",
	  "ns::use()::{lambda(int)#1} const& std::forward<ns::use()::{lambda(int)#1} const&>(std::remove_reference<ns::use()::{lambda(int)#1} const&>::type&)",
	  "std::forward" },
	{ "_ZSt7forwardIRZN2ns3useEvEUliE_EOT_RNSt16remove_referenceIS3_E4typeE",
	  "ns::use()::{lambda(int)#1}& std::forward<ns::use()::{lambda(int)#1}&>(std::remove_reference<ns::use()::{lambda(int)#1}&>::type&)",
	  "std::forward" },
	{ "_ZSt7forwardIZN2ns3useEvEUliE_EOT_RNSt16remove_referenceIS2_E4typeE",
	  "ns::use()::{lambda(int)#1}&& std::forward<ns::use()::{lambda(int)#1}>(std::remove_reference<ns::use()::{lambda(int)#1}>::type&)",
	  "std::forward" },
	{ "_ZZN2ns4pickIidEEDTplfp_fp0_ET_T0_ENKUliE_clEi",
	  "ns::pick<int, double>(int, double)::{lambda(int)#1}::operator()(int) const",
	  "ns::pick()::{lambda(int)#1}::operator()" },
	{ "_ZThn16_N4llvm20SectionMemoryManagerD1Ev",
	  "non-virtual thunk to llvm::SectionMemoryManager::~SectionMemoryManager()",
	  "non-virtual thunk to llvm::SectionMemoryManager::~SectionMemoryManager" },
	{ "_ZGVZN2ns3useEvE1x", "guard variable for ns::use()::x", "guard variable for ns::use()::x" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	  "core::fmt::Formatter::pad" },
	{ "_ZN63_$LT$core..ptr..Unique$LT$T$GT$$u20$as$u20$core..ops..Deref$GT$5deref17h0123456789abcdefE",
	  "<core::ptr::Unique<T> as core::ops::Deref>::deref",
	  "<core::ptr::Unique<T> as core::ops::Deref>::deref" },
	{ "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", "mycrate::example" },
	{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>",
	  "std::mem::align_of::<usize, f64>" },
	{ "_D3std5stdio4File5closeMFNeZv", "std.stdio.File.close()", "std.stdio.File.close()" },
	{ "_D8demangle4testFAaZv", "demangle.test(char[])", "demangle.test(char[])" },
	{ "_Dmain", "D main", "D main" },
};

static void
agrees_with_the_oracles(void **state)
{
	static Demangler demangler;

	demangler_init(&demangler, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		const char *full = demangler_name(&demangler, names[i].mangled, NAME_STYLE_FULL);
		const char *simple = demangler_name(&demangler, names[i].mangled, NAME_STYLE_SIMPLE);
		const char *again = demangler_name(&demangler, names[i].mangled, NAME_STYLE_FULL);

		assert_string_equal(full, names[i].full);
		assert_string_equal(simple, names[i].simple);
		assert_string_equal(again, names[i].full);
		demangler_release(&demangler);
	}
	assert_null(demangler_name(&demangler, "main", NAME_STYLE_SIMPLE));
}

static int limits_set;
static int limits_ended;

static void
count_limits(bool is_demangling)
{
	limits_set += is_demangling;
	limits_ended += !is_demangling;
}

/*
 * The forms of an answer stay valid although later names take their slots. The time of an answer is
 * limited once, and only if it has a name that is not in the cache.
 */
static void
keeps_the_forms_of_an_answer(void **state)
{
	enum
	{
		NAMES = 4 * DEMANGLED_KEPT
	};
	static const char *forms[NAMES];
	static Demangler demangler;
	char name[32];
	char form[32];

	demangler_init(&demangler, count_limits);
	for (int i = 0; i < NAMES; i++)
	{
		snprintf(name, sizeof(name), "_Z5f%04di", i);
		forms[i] = demangler_name(&demangler, name, NAME_STYLE_FULL);
	}
	for (int i = 0; i < NAMES; i++)
	{
		snprintf(form, sizeof(form), "f%04d(int)", i);
		assert_string_equal(forms[i], form);
	}
	assert_int_equal(limits_set, 1);
	assert_int_equal(limits_ended, 0);
	demangler_release(&demangler);
	assert_int_equal(limits_ended, 1);
	assert_string_equal(demangler_name(&demangler, name, NAME_STYLE_FULL), form);
	demangler_release(&demangler);
	assert_int_equal(limits_set, 1);
	assert_int_equal(limits_ended, 1);
}

/* libiberty overflows the stack at a long name of D whose type is a pointer to a pointer to ... */
static void
leaves_long_names_of_d(void **state)
{
	static const size_t pointers[] = { 16, 4000, 4 << 20 };
	static Demangler demangler;

	demangler_init(&demangler, NULL);
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
	{
		char *name = calloc(1, pointers[i] + sizeof("_D1ai"));
		const char *text;

		assert_non_null(name);
		memcpy(name, "_D1a", 4);
		memset(name + 4, 'P', pointers[i]);
		name[4 + pointers[i]] = 'i';
		text = demangler_name(&demangler, name, NAME_STYLE_FULL);
		if (pointers[i] > 4096)
			assert_null(text);
		else
			assert_string_equal(text, "a");
		demangler_release(&demangler);
		free(name);
	}
}

/* Text that no compiler writes must not be read beyond its end. */
static void
shortens_broken_names(void **state)
{
	static const char *const texts[] = { "",		  "<",		  "f<",		   "f(",
										 "f<(",		  "operator", "operator(", "a::operator<",
										 "x [clone ", "(((((",	  "f<<<<",	   "{",
										 "f()::",	  "a b c (",  "> f>" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		char *text = strdup(texts[i]);

		assert_non_null(text);
		simple_name(text);
		assert_true(strlen(text) <= strlen(texts[i]));
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_oracles),
		cmocka_unit_test(keeps_the_forms_of_an_answer),
		cmocka_unit_test(leaves_long_names_of_d),
		cmocka_unit_test(shortens_broken_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
