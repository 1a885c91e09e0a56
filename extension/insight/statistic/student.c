/*
 * student.c
 *		The tail of t is an incomplete beta function, which is evaluated as a continued fraction
 *		by Lentz's method (Numerical Recipes, 6.4). Digamma and its derivatives are asymptotic
 *		series, after the recurrence has made their argument large (Abramowitz and Stegun, 6.3
 *		and 6.4).
 */
#include "insight/statistic/student.h"

#include <math.h>

#define FRACTION_STEPS 500
#define FRACTION_ERROR 1e-15
#define TINY		   1e-300

/* At arguments from this one on, the asymptotic series is exact to 1e-14. */
#define SERIES_BEGINS 20.0

/* Evaluates the continued fraction of the incomplete beta function. */
static double
beta_fraction(double a, double b, double x)
{
	double c = 1;
	double d = 1 - (a + b) * x / (a + 1);
	double value;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	value = d;
	for (int i = 1; i <= FRACTION_STEPS; i++)
	{
		/* Coefficients of the continued fraction, with even and odd numbers. */
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));

		for (int half = 0; half < 2; half++)
		{
			double term = half == 0 ? even : odd;

			/* Lentz's method replaces a denominator of 0 by TINY. */
			d = 1 + term * d;
			d = 1 / (fabs(d) < TINY ? TINY : d);
			c = 1 + term / c;
			c = fabs(c) < TINY ? TINY : c;
			value *= d * c;
		}
		if (fabs(d * c - 1) < FRACTION_ERROR)
			break;
	}
	return value;
}

/*
 * Computes the regularized incomplete beta function; rest is 1 - x, passed separately to keep its
 * digits.
 */
static double
beta_incomplete(double a, double b, double x, double rest)
{
	int sign;
	double front;

	if (x <= 0)
		return 0;
	if (rest <= 0)
		return 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
				b * log(rest));
	/*
	 * The fraction converges fast for x below the mean; the symmetry of the function gives the
	 * other side.
	 */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, rest) / b;
}

double
pfs_student_tail(double t, double freedom)
{
	double square = t * t;
	/* The tail is half of the beta function at freedom / (freedom + t^2). */
	double half = 0.5 * beta_incomplete(freedom / 2, 0.5, freedom / (freedom + square),
										square / (freedom + square));

	return t >= 0 ? half : 1 - half;
}

double
pfs_student_bound(double tail, double freedom)
{
	double low = 0;
	double high = 1;

	/* The distribution is symmetric. */
	if (tail > 0.5)
		return -pfs_student_bound(1 - tail, freedom);
	/* Doubles the upper end until the bound is below it, then halves the interval. */
	while (pfs_student_tail(high, freedom) > tail && high < 1e300)
	{
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++)
	{
		double middle = (low + high) / 2;

		if (pfs_student_tail(middle, freedom) > tail)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double
pfs_digamma(double x)
{
	double value = 0;
	double inverse;

	/* digamma(x) = digamma(x + 1) - 1 / x */
	for (; x < SERIES_BEGINS; x++)
		value -= 1 / x;
	inverse = 1 / (x * x);
	return value + log(x) - 0.5 / x -
		   inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252 - inverse / 240)));
}

double
pfs_trigamma(double x)
{
	double value = 0;
	double inverse;

	/* trigamma(x) = trigamma(x + 1) + 1 / x^2 */
	for (; x < SERIES_BEGINS; x++)
		value += 1 / (x * x);
	inverse = 1 / (x * x);
	return value + 1 / x + inverse / 2 +
		   inverse / x * (1.0 / 6 - inverse * (1.0 / 30 - inverse * (1.0 / 42 - inverse / 30)));
}

/* Returns the derivative of trigamma. */
static double
tetragamma(double x)
{
	double value = 0;
	double inverse;

	/* tetragamma(x) = tetragamma(x + 1) - 2 / x^3 */
	for (; x < SERIES_BEGINS; x++)
		value -= 2 / (x * x * x);
	inverse = 1 / (x * x);
	return value -
		   inverse * (1 + 1 / x +
					  inverse * (0.5 - inverse * (1.0 / 6 - inverse * (1.0 / 6 - 0.3 * inverse))));
}

/* Uses Newton's method on the reciprocal, which is nearly linear (Smyth 2004, appendix). */
double
pfs_trigamma_inverse(double y)
{
	/* The start is above the solution, so all steps are negative. */
	double x = 0.5 + 1 / y;

	for (int i = 0; i < 50; i++)
	{
		double value = pfs_trigamma(x);
		double step = value * (1 - value / y) / tetragamma(x);

		x += step;
		if (-step / x < 1e-10)
			break;
	}
	return x;
}
