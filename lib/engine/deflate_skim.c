// SPDX-License-Identifier: BSD-2-Clause
/*
 * A walk over a raw deflate stream (RFC 1951) that counts what it would make and makes nothing. Two uses:
 * libdeflate marks its last block as final, and to make a chunk of such output that mark has to be found,
 * which nothing but a walk from the start can do; and when an output does not fit, the walk says exactly
 * how much would, without room to put it.
 *
 * What a stream may hold is judged as zlib judges it.
 */
#include "compress.h"

#define LIT_BITS	10u
#define DIST_BITS	9u
#define MAX_CODE	15u
#define NLIT		288u
#define NDIST		32u
#define WINDOW		32768u

/*
 * Table entries: bits 0..4 bits to drop in all, 5..8 bits of the code itself, 9..23 the length or distance (1
 * for a literal), 28.. the kind. What is dropped beyond the code are extra bits, added to the value.
 */
enum kind { K_INVALID, K_LITERAL, K_LENGTH, K_END, K_DISTANCE, K_LONG };
#define ENTRY(kind, value, code, extra) \
	((uint32_t)(kind) << 28 | (uint32_t)(value) << 9 | (uint32_t)(code) << 5 | ((code) + (extra)))
#define E_KIND(e)	((e) >> 28)
#define E_VALUE(e)	((e) >> 9 & 0x7fff)
#define E_CODE(e)	((e) >> 5 & 15)
#define E_DROP(e)	((e) & 31)

struct code {
	uint16_t count[MAX_CODE + 1];
	uint16_t sorted[NLIT];		/* symbols in the order of their codes */
};

/* A copy in registers while a block is walked, hence a structure of its own. */
struct bits {
	const uint8_t *p, *end;
	uint64_t v;
	unsigned int n;			/* of bits that are there */
	unsigned int over;		/* of those, bits behind the end of the input */
};

struct walk {
	const uint8_t *in;
	struct bits b;
	uint64_t total;
	struct code lit, dist;
	uint32_t lit_table[1 << LIT_BITS], dist_table[1 << DIST_BITS];
};

static inline void refill_slow(struct bits *b)
{
	while (b->n <= 56) {
		if (b->p < b->end)
			b->v |= (uint64_t)*b->p++ << b->n;
		else
			b->over += 8;
		b->n += 8;
	}
}

/* At least 56 bits, zeros behind the end. */
static inline void refill(struct bits *b)
{
	if (b->end - b->p < 8) {
		refill_slow(b);
		return;
	}
	b->v |= le64_get(b->p) << b->n;
	b->p += (63 - b->n) >> 3;
	b->n |= 56;
}

static inline void drop(struct bits *b, unsigned int n)
{
	b->v >>= n;
	b->n -= n;
}

static inline unsigned int take(struct bits *b, unsigned int n)
{
	unsigned int v = (unsigned int)(b->v & ((1u << n) - 1));

	drop(b, n);
	return v;
}

/* Whether bits were used that the input does not have. */
static inline int overrun(const struct bits *b)
{
	return b->over > b->n;
}

static uint64_t bit_pos(const struct walk *w)
{
	return (uint64_t)(w->b.p - w->in) * 8 + w->b.over - w->b.n;
}

static unsigned int reversed(unsigned int code, unsigned int len)
{
	unsigned int r = 0;

	for (; len; len--, code >>= 1)
		r = r << 1 | (code & 1);
	return r;
}

static uint32_t lit_entry(unsigned int sym, unsigned int len)
{
	static const uint8_t extra[29] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4,
					   4, 4, 5, 5, 5, 5, 0 };
	static const uint16_t base[29] = { 3,  4,  5,  6,  7,  8,  9,  10, 11,	13,  15,  17,  19,  23, 27,
					   31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };

	if (sym < 256)
		return ENTRY(K_LITERAL, 1, len, 0);
	if (sym == 256)
		return ENTRY(K_END, 0, len, 0);
	if (sym > 285)
		return ENTRY(K_INVALID, 0, len, 0);
	return ENTRY(K_LENGTH, base[sym - 257], len, extra[sym - 257]);
}

static uint32_t dist_entry(unsigned int sym, unsigned int len)
{
	unsigned int extra = sym < 4 ? 0 : sym / 2 - 1;
	unsigned int base = sym < 4 ? sym + 1 : ((2 + (sym & 1)) << extra) + 1;

	if (sym > 29)
		return ENTRY(K_INVALID, 0, len, 0);
	return ENTRY(K_DISTANCE, base, len, extra);
}

typedef uint32_t (*entry_fn)(unsigned int sym, unsigned int len);

/* The code that goes with these lengths; -1 if they make none that is allowed. */
static int code_init(struct code *c, const uint8_t *lens, unsigned int n)
{
	uint16_t next[MAX_CODE + 2] = { 0 };
	unsigned int i, max = 0;
	int left = 1;

	memset(c->count, 0, sizeof(c->count));
	for (i = 0; i < n; i++)
		c->count[lens[i]]++;
	c->count[0] = 0;
	for (i = 1; i <= MAX_CODE; i++) {
		left = left * 2 - c->count[i];
		if (left < 0)
			return -1;
		if (c->count[i])
			max = i;
		next[i + 1] = (uint16_t)(next[i] + c->count[i]);
	}
	/* Room left in a code is allowed only where there is one symbol of one bit, or none at all. */
	if (left > 0 && max > 1)
		return -1;
	for (i = 0; i < n; i++)
		if (lens[i])
			c->sorted[next[lens[i]]++] = (uint16_t)i;
	return 0;
}

static void table_init(uint32_t *table, unsigned int bits, const struct code *c, entry_fn entry)
{
	unsigned int len, i, at = 0, code = 0, slot;
	uint32_t e;

	memset(table, 0, sizeof(*table) << bits);
	for (len = 1; len <= MAX_CODE; len++, code <<= 1) {
		for (i = 0; i < c->count[len]; i++, code++, at++) {
			if (len > bits) {
				table[reversed(code >> (len - bits), bits)] = ENTRY(K_LONG, 0, 0, 0);
				continue;
			}
			e = entry(c->sorted[at], len);
			for (slot = reversed(code, len); slot < 1u << bits; slot += 1u << len)
				table[slot] = e;
		}
	}
}

/* The next symbol, bit by bit: for codes longer than a table's index. -1: no code. */
static int long_code(uint64_t bits, const struct code *c, unsigned int *len)
{
	unsigned int n, code = 0, first = 0, at = 0;

	for (n = 1; n <= MAX_CODE; n++, bits >>= 1) {
		code |= (unsigned int)bits & 1;
		if (code < first + c->count[n]) {
			*len = n;
			return c->sorted[at + code - first];
		}
		at += c->count[n];
		first = (first + c->count[n]) << 1;
		code <<= 1;
	}
	return -1;
}

static uint32_t long_entry(uint64_t bits, const struct code *c, entry_fn entry)
{
	unsigned int len = 0;
	int sym = long_code(bits, c, &len);

	return sym < 0 ? ENTRY(K_INVALID, 0, 0, 0) : entry((unsigned int)sym, len);
}

/* The value of an entry with its extra bits, which are dropped with the code. */
static inline unsigned int value_of(struct bits *b, uint32_t e)
{
	unsigned int extra = E_DROP(e) - E_CODE(e);
	unsigned int v = E_VALUE(e) + (unsigned int)(b->v >> E_CODE(e) & ((1u << extra) - 1));

	drop(b, E_DROP(e));
	return v;
}

/* A match, its length code in e: the bytes that it makes, 0 if it is wrong. */
static inline unsigned int walk_match(const struct walk *w, struct bits *b, uint32_t e, uint64_t total)
{
	unsigned int len = value_of(b, e), dist;

	e = w->dist_table[b->v & ((1u << DIST_BITS) - 1)];
	if (E_KIND(e) == K_LONG)
		e = long_entry(b->v, &w->dist, dist_entry);
	if (E_KIND(e) != K_DISTANCE)
		return 0;
	dist = value_of(b, e);
	/* Behind the first window no distance can reach before the start. */
	return total < WINDOW && dist > total ? 0 : len;
}

static int walk_codes(struct walk *w)
{
	struct bits b = w->b;
	uint64_t total = w->total;
	unsigned int len;
	uint32_t e;

	for (;;) {
		refill(&b);
		e = w->lit_table[b.v & ((1u << LIT_BITS) - 1)];
		/* Of 56 bits a match takes at most 48, so there may be one literal more. */
		if (E_KIND(e) == K_LITERAL && E_DROP(e) <= 8) {
			total++;
			drop(&b, E_DROP(e));
			e = w->lit_table[b.v & ((1u << LIT_BITS) - 1)];
		}
		if (E_KIND(e) == K_LONG)
			e = long_entry(b.v, &w->lit, lit_entry);
		if (E_KIND(e) == K_LITERAL) {
			total++;
			drop(&b, E_DROP(e));
		} else if (E_KIND(e) == K_LENGTH) {
			len = walk_match(w, &b, e, total);
			if (!len)
				return -1;
			total += len;
		} else {
			break;
		}
		if (overrun(&b))
			return -1;
	}
	drop(&b, E_DROP(e));
	w->b = b;
	w->total = total;
	return E_KIND(e) == K_END && !overrun(&b) ? 0 : -1;
}

static int walk_stored(struct walk *w)
{
	uint64_t at, n = (uint64_t)(w->b.end - w->in);
	unsigned int len;

	drop(&w->b, w->b.n % 8);
	at = bit_pos(w) / 8;
	if (overrun(&w->b) || n < at + 4)
		return -1;
	len = le16_get(w->in + at);
	if ((len ^ 0xffff) != le16_get(w->in + at + 2) || n - at - 4 < len)
		return -1;
	w->b.p = w->in + at + 4 + len;
	w->b.v = 0;
	w->b.n = w->b.over = 0;
	w->total += len;
	return 0;
}

static int set_tables(struct walk *w, const uint8_t *lens, unsigned int nlit, unsigned int ndist)
{
	if (code_init(&w->lit, lens, nlit) || code_init(&w->dist, lens + nlit, ndist))
		return -1;
	table_init(w->lit_table, LIT_BITS, &w->lit, lit_entry);
	table_init(w->dist_table, DIST_BITS, &w->dist, dist_entry);
	return 0;
}

static int fixed_tables(struct walk *w)
{
	uint8_t lens[NLIT + NDIST];

	memset(lens, 8, 144);
	memset(lens + 144, 9, 112);
	memset(lens + 256, 7, 24);
	memset(lens + 280, 8, 8);
	memset(lens + NLIT, 5, NDIST);
	return set_tables(w, lens, NLIT, NDIST);
}

/* The lengths of both codes, as the code of code lengths spells them. */
static int read_lens(struct walk *w, const struct code *c, uint8_t *lens, unsigned int n)
{
	unsigned int i = 0, len, bits = 0, repeat;
	int sym;

	while (i < n) {
		refill(&w->b);
		sym = long_code(w->b.v, c, &bits);
		if (sym < 0)
			return -1;
		drop(&w->b, bits);
		if (overrun(&w->b))
			return -1;
		if (sym < 16) {
			lens[i++] = (uint8_t)sym;
			continue;
		}
		if (sym == 16 && !i)
			return -1;
		len = sym == 16 ? lens[i - 1] : 0;
		if (sym == 18)
			repeat = 11 + take(&w->b, 7);
		else
			repeat = 3 + take(&w->b, sym == 16 ? 2 : 3);
		if (repeat > n - i)
			return -1;
		memset(lens + i, (int)len, repeat);
		i += repeat;
	}
	return 0;
}

static int dynamic_tables(struct walk *w)
{
	static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	uint8_t lens[286 + 30] = { 0 };
	struct code c;
	unsigned int nlit, ndist, n, i;

	refill(&w->b);
	nlit = take(&w->b, 5) + 257;
	ndist = take(&w->b, 5) + 1;
	n = take(&w->b, 4) + 4;
	if (nlit > 286 || ndist > 30)
		return -1;
	for (i = 0; i < n; i++) {
		refill(&w->b);
		lens[order[i]] = (uint8_t)take(&w->b, 3);
	}
	if (code_init(&c, lens, 19))
		return -1;
	memset(lens, 0, sizeof(lens));
	if (read_lens(w, &c, lens, nlit + ndist) || overrun(&w->b) || !lens[256])
		return -1;
	return set_tables(w, lens, nlit, ndist);
}

/* One block; its header begins at *at. Returns BFINAL, -1 on error. */
static int walk_block(struct walk *w, uint64_t *at)
{
	unsigned int head;
	int rc;

	refill(&w->b);
	*at = bit_pos(w);
	head = take(&w->b, 3);
	if (overrun(&w->b))
		return -1;
	if (head >> 1 == 0)
		rc = walk_stored(w);
	else if (head >> 1 == 1)
		rc = fixed_tables(w) ? -1 : walk_codes(w);
	else if (head >> 1 == 2)
		rc = dynamic_tables(w) ? -1 : walk_codes(w);
	else
		rc = -1;
	return rc ? -1 : (int)(head & 1);
}

int deflate_skim(void *work, const uint8_t *in, size_t n, int chunk, struct skim *s)
{
	struct walk *w = work;
	int rc;

	_Static_assert(sizeof(*w) <= SKIM_WORK_NBYTES, "the walk fits in the work memory");
	w->in = in;
	w->b = (struct bits){ in, in + n, 0, 0, 0 };
	w->total = 0;
	do {
		rc = walk_block(w, &s->last_bit);
		if (rc < 0)
			return -1;
		s->end_bit = bit_pos(w);
		if (chunk && s->end_bit == (uint64_t)n * 8)
			break;
	} while (!rc);
	s->out_len = w->total;
	s->final = rc;
	return 0;
}
