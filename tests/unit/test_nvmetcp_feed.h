/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds a stream to a receiver in pieces, as an owner would do it, and writes down the events. Without cmocka:
 * the fuzz targets use it too. The data of a PDU go to an allocation of just their length, so that a sanitizer
 * sees a byte too many.
 */
#ifndef TEST_NVMETCP_FEED_H
#define TEST_NVMETCP_FEED_H

#include <stdlib.h>
#include <string.h>
#include "../../lib/base/bits.h"
#include "../../lib/nvmetcp/nvmetcp.h"

#define FEED_EVENTS 64
#define FEED_SINK   7

struct feed_rec {
	enum ntcp_event event;
	size_t at;		/* bytes of the stream used up by then */
	struct ntcp_pdu pdu;
	bool ddgst_ok;
	uint16_t fes;
	uint32_t fei;
	const char *why;
	uint32_t sum;		/* CRC-32C of the sink */
};

struct feed {
	struct ntcp_rx rx;
	struct ntcp_params agreed;
	size_t piece;		/* most bytes at once; 0: all that there are */
	bool direct;		/* where a sink can be read to, do so */
	unsigned int nsink;	/* elements of each sink; 0: data are dropped */
	uint64_t rnd;		/* not 0: pieces are of random sizes up to piece */
	struct feed_rec rec[FEED_EVENTS];
	unsigned int nrec;
	size_t at;
	uint8_t *room;
	size_t nroom;
	struct iovec sink[FEED_SINK];
};

static inline uint32_t feed_rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (uint32_t)(*s >> 16);
}

static inline void feed_init(struct feed *f, const struct ntcp_params *agreed, bool ready)
{
	memset(f, 0, sizeof(*f));
	f->agreed = *agreed;
	f->nsink = 1;
	ntcp_rx_init(&f->rx, agreed);
	if (ready)
		ntcp_rx_ready(&f->rx, agreed);
}

static inline void feed_free(struct feed *f)
{
	free(f->room);
	f->room = NULL;
	f->nroom = 0;
}

/* A sink of nsink elements, some of them empty. */
static inline void feed_sink(struct feed *f)
{
	size_t left = f->rx.pdu.data_len, n;
	uint8_t *p;
	unsigned int i;

	feed_free(f);
	if (!f->nsink || !(p = malloc(left)))
		return;
	f->room = p;
	f->nroom = left;
	memset(p, 0xa5, left);
	for (i = 0; i < f->nsink; i++) {
		n = i + 1 == f->nsink ? left : i % 3 == 1 ? 0 : left / (f->nsink - i);
		f->sink[i] = (struct iovec){ p, n };
		p += n;
		left -= n;
	}
	ntcp_rx_sink(&f->rx, f->sink, f->nsink);
}

/* Whether there is more to come than an error. */
static inline bool feed_event(struct feed *f, enum ntcp_event event)
{
	struct feed_rec *r = &f->rec[f->nrec];

	if (f->nrec == FEED_EVENTS)
		return false;
	f->nrec++;
	*r = (struct feed_rec){ event, f->at, f->rx.pdu, f->rx.ddgst_ok, 0, 0, NULL, 0 };
	if (event == NTCP_ERROR) {
		r->fes = f->rx.fes;
		r->fei = f->rx.fei;
		r->why = f->rx.why;
		return false;
	}
	if (event == NTCP_DATA_END)
		r->sum = base_crc32c(0, f->room, f->nroom);
	if (event == NTCP_HEADER && !f->rx.ready && f->rx.pdu.type <= NTCP_ICRESP)
		ntcp_rx_ready(&f->rx, &f->agreed);
	if (event == NTCP_HEADER && f->rx.pdu.data_len)
		feed_sink(f);
	return true;
}

static inline size_t feed_direct(struct feed *f, const uint8_t *p, size_t n)
{
	struct iovec iov[3];
	unsigned int i, niov = ntcp_rx_direct(&f->rx, iov, 1 + n % 3);
	size_t done = 0, step;

	for (i = 0; i < niov && done < n; i++) {
		step = BASE_MIN(n - done, iov[i].iov_len);
		memcpy(iov[i].iov_base, p + done, step);
		done += step;
	}
	if (niov)
		ntcp_rx_direct_done(&f->rx, done);
	return done;
}

/* One piece; false after an error. */
static inline bool feed_piece(struct feed *f, const uint8_t *p, size_t n)
{
	enum ntcp_event event;
	size_t used;

	do {
		used = f->direct && n ? feed_direct(f, p, n) : 0;
		f->at += used;
		p += used;
		n -= used;
		used = ntcp_rx(&f->rx, n ? p : NULL, used ? 0 : n, &event);
		f->at += used;
		p += used;
		n -= used;
		if (event != NTCP_NEED && !feed_event(f, event))
			return false;
	} while (event != NTCP_NEED || n);
	return true;
}

/* The stream in pieces, each of which is an allocation of its own. False after an error. */
static inline bool feed(struct feed *f, const uint8_t *p, size_t n)
{
	size_t step;
	uint8_t *copy;
	bool ok = true;

	while (n && ok) {
		step = f->piece ? BASE_MIN(f->piece, n) : n;
		if (f->rnd)
			step = 1 + feed_rnd(&f->rnd) % step;
		copy = malloc(step);
		if (!copy)
			return false;
		memcpy(copy, p, step);
		ok = feed_piece(f, copy, step);
		free(copy);
		p += step;
		n -= step;
	}
	return ok;
}

/* Whether two receivers have seen the same. */
static inline bool feed_same(const struct feed *a, const struct feed *b)
{
	unsigned int i;

	if (a->nrec != b->nrec || a->at != b->at)
		return false;
	for (i = 0; i < a->nrec; i++) {
		const struct feed_rec *x = &a->rec[i], *y = &b->rec[i];

		if (x->event != y->event || x->at != y->at || memcmp(&x->pdu, &y->pdu, sizeof(x->pdu)) ||
		    x->ddgst_ok != y->ddgst_ok || x->fes != y->fes || x->fei != y->fei || x->why != y->why ||
		    x->sum != y->sum)
			return false;
	}
	return true;
}

#endif
