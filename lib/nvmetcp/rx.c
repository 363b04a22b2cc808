// SPDX-License-Identifier: BSD-2-Clause
/*
 * Receiving: bytes of the stream in, events out. Each step takes what belongs to the part of the PDU that is
 * due and says whether that part is complete; so it makes no difference how the stream is cut.
 */
#include "../base/bits.h"
#include "priv.h"

/* What came and is not used up. */
struct input {
	const uint8_t *p;
	size_t n;
};

void ntcp_rx_init(struct ntcp_rx *rx, const struct ntcp_params *p)
{
	memset(rx, 0, sizeof(*rx));
	rx->p.role = p->role;
	rx->state = NTCP_RX_HDR;
}

void ntcp_rx_ready(struct ntcp_rx *rx, const struct ntcp_params *p)
{
	rx->p = *p;
	rx->ready = true;
}

/* Fills dst up to want bytes, of which *have are there; whether they are complete. */
static bool gather(uint8_t *dst, unsigned int *have, unsigned int want, struct input *in)
{
	size_t n = BASE_MIN(in->n, (size_t)(want - *have));

	memcpy(dst + *have, in->p, n);
	*have += (unsigned int)n;
	in->p += n;
	in->n -= n;
	return *have == want;
}

static void begin_data(struct ntcp_rx *rx)
{
	rx->left = rx->pdu.data_len;
	rx->iov = NULL;
	rx->niov = 0;
	rx->iov_off = 0;
	rx->crc = 0;
	rx->ndgst = 0;
	rx->ddgst_ok = true;
	if (rx->left)
		rx->state = rx->pad ? NTCP_RX_PAD : NTCP_RX_DATA;
}

/* The header that came last stays in hdr for a TermReq until the next one begins. */
static bool take_header(struct ntcp_rx *rx, struct input *in, enum ntcp_event *event)
{
	if (!rx->want) {
		if (!in->n)
			return false;
		rx->nhdr = 0;
		rx->want = NTCP_COMMON_LEN;
	}
	if (!gather(rx->hdr, &rx->nhdr, rx->want, in))
		return false;
	if (rx->want == NTCP_COMMON_LEN)
		return ntcp_decode_common(rx), true;
	if (ntcp_decode_header(rx))
		return true;
	rx->want = 0;
	begin_data(rx);
	*event = NTCP_HEADER;
	return true;
}

static bool take_pad(struct ntcp_rx *rx, struct input *in)
{
	size_t n = BASE_MIN(in->n, (size_t)rx->pad);

	in->p += n;
	in->n -= n;
	rx->pad -= (uint32_t)n;
	if (rx->pad)
		return false;
	rx->state = NTCP_RX_DATA;
	return true;
}

/* n bytes of data go to the sink from src or are there already (src NULL). What it has no room for is dropped. */
static void place(struct ntcp_rx *rx, const uint8_t *src, size_t n)
{
	bool sum = rx->pdu.flags & NTCP_F_DDGST;

	rx->left -= (uint32_t)n;
	if (sum && src)
		rx->crc = base_crc32c(rx->crc, src, n);
	while (n && rx->niov) {
		size_t step = BASE_MIN(n, rx->iov->iov_len - rx->iov_off);
		uint8_t *dst = (uint8_t *)rx->iov->iov_base + rx->iov_off;

		if (src) {
			memcpy(dst, src, step);
			src += step;
		} else if (sum) {
			rx->crc = base_crc32c(rx->crc, dst, step);
		}
		n -= step;
		rx->iov_off += step;
		if (rx->iov_off == rx->iov->iov_len) {
			rx->iov++;
			rx->niov--;
			rx->iov_off = 0;
		}
	}
}

static bool data_end(struct ntcp_rx *rx, enum ntcp_event *event)
{
	rx->state = NTCP_RX_HDR;
	*event = NTCP_DATA_END;
	return true;
}

static bool take_data(struct ntcp_rx *rx, struct input *in, enum ntcp_event *event)
{
	size_t n = BASE_MIN(in->n, (size_t)rx->left);

	place(rx, in->p, n);
	in->p += n;
	in->n -= n;
	if (rx->left)
		return false;
	if (!(rx->pdu.flags & NTCP_F_DDGST))
		return data_end(rx, event);
	rx->state = NTCP_RX_DDGST;
	return true;
}

static bool take_ddgst(struct ntcp_rx *rx, struct input *in, enum ntcp_event *event)
{
	if (!gather(rx->dgst, &rx->ndgst, NTCP_DIGEST_LEN, in))
		return false;
	rx->ddgst_ok = le32_get(rx->dgst) == rx->crc;
	return data_end(rx, event);
}

/* One part of a PDU; false: more bytes are needed to complete it. */
static bool take(struct ntcp_rx *rx, struct input *in, enum ntcp_event *event)
{
	switch (rx->state) {
	case NTCP_RX_HDR:
		return take_header(rx, in, event);
	case NTCP_RX_PAD:
		return take_pad(rx, in);
	case NTCP_RX_DATA:
		return take_data(rx, in, event);
	case NTCP_RX_DDGST:
		return take_ddgst(rx, in, event);
	default:
		*event = NTCP_ERROR;
		return true;
	}
}

size_t ntcp_rx(struct ntcp_rx *rx, const void *buf, size_t n, enum ntcp_event *event)
{
	/* No arithmetic and no copy of nothing with a null pointer. */
	struct input in = { n ? buf : "", n };

	*event = NTCP_NEED;
	while (take(rx, &in, event) && *event == NTCP_NEED)
		;
	return n - in.n;
}

void ntcp_rx_sink(struct ntcp_rx *rx, const struct iovec *iov, unsigned int niov)
{
	rx->iov = iov;
	rx->niov = iov ? niov : 0;
	rx->iov_off = 0;
}

unsigned int ntcp_rx_direct(const struct ntcp_rx *rx, struct iovec *iov, unsigned int max)
{
	size_t left = rx->left, off = rx->iov_off;
	unsigned int i, used = 0;

	if (rx->state != NTCP_RX_DATA)
		return 0;
	for (i = 0; i < rx->niov && left && used < max; i++, off = 0) {
		size_t n = BASE_MIN(left, rx->iov[i].iov_len - off);

		if (!n)
			continue;
		iov[used].iov_base = (uint8_t *)rx->iov[i].iov_base + off;
		iov[used++].iov_len = n;
		left -= n;
	}
	return used;
}

void ntcp_rx_direct_done(struct ntcp_rx *rx, size_t n)
{
	if (rx->state == NTCP_RX_DATA)
		place(rx, NULL, BASE_MIN(n, (size_t)rx->left));
}
