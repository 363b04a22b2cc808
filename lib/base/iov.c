// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bits.h"
#include "iov.h"

uint64_t iov_total(const struct base_iov *iov, unsigned int niov)
{
	uint64_t sum = 0;

	for (; niov; iov++, niov--) {
		if (iov->iov_len > UINT64_MAX - sum)
			return UINT64_MAX;
		sum += iov->iov_len;
	}
	return sum;
}

/* Passes over elements that have nothing left; 0 at the end of the list. */
static int pos_settle(struct iov_pos *pos)
{
	while (pos->niov && pos->off >= pos->iov->iov_len) {
		pos->iov++;
		pos->niov--;
		pos->off = 0;
	}
	return pos->niov != 0;
}

size_t iov_next(struct iov_pos *pos, void **p, size_t max)
{
	size_t n;

	if (!max || !pos_settle(pos))
		return 0;
	n = BASE_MIN(max, pos->iov->iov_len - pos->off);
	*p = (uint8_t *)pos->iov->iov_base + pos->off;
	pos->off += n;
	return n;
}

uint64_t iov_skip(struct iov_pos *pos, uint64_t n)
{
	uint64_t left = n;

	while (left && pos_settle(pos)) {
		size_t step = (size_t)BASE_MIN(left, (uint64_t)(pos->iov->iov_len - pos->off));

		pos->off += step;
		left -= step;
	}
	return n - left;
}

size_t iov_read(struct iov_pos *pos, void *dst, size_t n)
{
	size_t done = 0, step;
	void *p;

	while ((step = iov_next(pos, &p, n - done))) {
		memcpy((uint8_t *)dst + done, p, step);
		done += step;
	}
	return done;
}

size_t iov_write(struct iov_pos *pos, const void *src, size_t n)
{
	size_t done = 0, step;
	void *p;

	while ((step = iov_next(pos, &p, n - done))) {
		memcpy(p, (const uint8_t *)src + done, step);
		done += step;
	}
	return done;
}

size_t iov_zero(struct iov_pos *pos, size_t n)
{
	size_t done = 0, step;
	void *p;

	while ((step = iov_next(pos, &p, n - done))) {
		memset(p, 0, step);
		done += step;
	}
	return done;
}

size_t iov_copy(struct iov_pos *dst, struct iov_pos *src, size_t n)
{
	size_t done = 0;

	while (done < n && pos_settle(dst)) {
		size_t room = BASE_MIN(n - done, dst->iov->iov_len - dst->off), step;
		void *p;

		step = iov_next(src, &p, room);
		if (!step)
			break;
		memcpy((uint8_t *)dst->iov->iov_base + dst->off, p, step);
		dst->off += step;
		done += step;
	}
	return done;
}

void *iov_flat(const struct base_iov *iov, unsigned int niov, size_t n)
{
	struct iov_pos pos = { iov, niov, 0 };

	if (!n)
		return niov && iov->iov_base ? iov->iov_base : (void *)"";
	if (!pos_settle(&pos) || pos.iov->iov_len < n)
		return NULL;
	return pos.iov->iov_base;
}

int iov_slice(struct base_iov *sub, unsigned int max, const struct base_iov *iov, unsigned int niov,
	      uint64_t off, uint64_t n)
{
	struct iov_pos pos = { iov, niov, 0 };
	unsigned int used = 0;

	if (iov_skip(&pos, off) != off)
		return -1;
	while (n) {
		size_t step;
		void *p;

		step = iov_next(&pos, &p, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
		if (!step || used == max)
			return -1;
		sub[used].iov_base = p;
		sub[used++].iov_len = step;
		n -= step;
	}
	return (int)used;
}
