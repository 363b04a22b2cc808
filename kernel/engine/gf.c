// SPDX-License-Identifier: GPL-2.0-only
/* GF(2^8) modulo 0x11D for the erasure coding family: lib/engine's ec_fast in a kernel. */
#include "kpriv.h"
#include "gf.h"
#include "../../lib/engine/ec.h"
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/xcr.h>
#endif

static u8 mul_table[256][256];
static u8 inv_table[256];
static gf_dot_fn dot_simd;	/* NULL: plain C */
static const char *name = "c";

static u8 mul(u8 a, u8 b)
{
	return mul_table[a][b];
}

static u8 inv(u8 a)
{
	return inv_table[a];
}

static const struct ec_field field = { mul, inv };

static void make_tables(const u8 *coef, unsigned int nsrc, unsigned int nrow, u8 *tables)
{
	unsigned int i, v;

	for (i = 0; i < nsrc * nrow; i++, tables += 32)
		for (v = 0; v < 16; v++) {
			tables[v] = mul(coef[i], v);
			tables[16 + v] = mul(coef[i], v << 4);
		}
}

static void xor_add(u8 *dst, const u8 *src, size_t len)
{
	u64 a, b;

	for (; len >= 8; len -= 8, dst += 8, src += 8) {
		memcpy(&a, dst, 8);
		memcpy(&b, src, 8);
		a ^= b;
		memcpy(dst, &a, 8);
	}
	while (len--)
		*dst++ ^= *src++;
}

static void mul_add(u8 *dst, const u8 *src, u8 c, size_t len)
{
	const u8 *product = mul_table[c];

	if (c == 1) {
		xor_add(dst, src, len);
		return;
	}
	while (c && len--)
		*dst++ ^= product[*src++];
}

static void dot_c(const u8 *coef, unsigned int nsrc, size_t off, size_t len, u8 **src, u8 *dst)
{
	unsigned int j;

	memset(dst + off, 0, len - off);
	for (j = 0; j < nsrc; j++)
		mul_add(dst + off, src[j] + off, coef[j], len - off);
}

/* Bytes done with the processor's vectors, in a section that is short: at most GF_ROWS rows of a step. */
static size_t vectors(const u8 *tables, unsigned int nsrc, unsigned int nrow, size_t len, u8 **src, u8 **dst)
{
	size_t done = 0;
#ifdef CONFIG_X86_64
	gf_dot_fn fn = READ_ONCE(dot_simd);

	if (!fn || !irq_fpu_usable())
		return 0;
	kernel_fpu_begin();
	done = fn(tables, nsrc, nrow, len, src, dst);
	kernel_fpu_end();
#endif
	return done;
}

static bool all_ones(const u8 *coef, unsigned int n)
{
	while (n && coef[n - 1] == 1)
		n--;
	return !n;
}

static void kernel(const struct ec_plan *p, unsigned int first, unsigned int n, size_t len, u8 **src, u8 **dst)
{
	unsigned int nsrc = p->req.nsrc, i, r, rows;
	const u8 *coef = p->coef + first * nsrc;
	const u8 *tables = p->tables + (size_t)32 * first * nsrc;
	size_t done;

	for (i = 0; i < n; i += rows) {
		rows = min(n - i, GF_ROWS);
		done = all_ones(coef + i * nsrc, rows * nsrc) ? 0 :
		       vectors(tables + (size_t)32 * i * nsrc, nsrc, rows, len, src, dst + i);
		for (r = i; r < i + rows && done < len; r++)
			dot_c(coef + r * nsrc, nsrc, done, len, src, dst[r]);
	}
}

const struct ec_backend ec_fast = { &field, kernel, make_tables };

static bool have(const char *what)
{
#ifdef CONFIG_X86_64
	if (!strcmp(what, "avx2"))
		return boot_cpu_has(X86_FEATURE_AVX) && boot_cpu_has(X86_FEATURE_AVX2) &&
		       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
	if (!strcmp(what, "ssse3"))
		return boot_cpu_has(X86_FEATURE_SSSE3);
#endif
	return !strcmp(what, "c");
}

int gf_use(const char *what)
{
	if (!have(what))
		return -EINVAL;
	WRITE_ONCE(dot_simd, NULL);
	name = "c";
#ifdef CONFIG_X86_64
	if (!strcmp(what, "avx2")) {
		WRITE_ONCE(dot_simd, gf_dot_avx2);
		name = "avx2";
	} else if (!strcmp(what, "ssse3")) {
		WRITE_ONCE(dot_simd, gf_dot_ssse3);
		name = "ssse3";
	}
#endif
	return 0;
}

const char *gf_name(void)
{
	return name;
}

int gf_init(void)
{
	unsigned int a, b;

	for (a = 0; a < 256; a++)
		for (b = 0; b < 256; b++) {
			mul_table[a][b] = ec_field_plain.mul(a, b);
			if (mul_table[a][b] == 1)
				inv_table[a] = b;
		}
	return gf_use("avx2") && gf_use("ssse3") ? gf_use("c") : 0;
}
