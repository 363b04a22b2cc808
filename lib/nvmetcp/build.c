// SPDX-License-Identifier: BSD-2-Clause
/* Building PDUs: a header, its digest and the padding in front of the data. */
#include "../base/bits.h"
#include "../base/iov.h"
#include "priv.h"

/* A header of zeros with its length; PLEN and PDO are those of a PDU without data. */
static uint8_t *start(void *hdr, enum ntcp_type type, uint8_t flags)
{
	uint8_t *h = hdr, hlen = ntcp_kind(type)->hlen;

	memset(h, 0, hlen);
	h[NTCP_AT_TYPE] = (uint8_t)type;
	h[NTCP_AT_FLAGS] = flags;
	h[NTCP_AT_HLEN] = hlen;
	le32_put(h + NTCP_AT_PLEN, hlen);
	return h;
}

/*
 * The header h is complete but for what digests, alignment and data (len bytes, 0: none) add to it; the bytes in
 * front of the data are returned.
 */
static size_t finish(const struct ntcp_params *p, uint8_t *h, uint32_t len)
{
	unsigned int hlen = h[NTCP_AT_HLEN], at = hlen, align = (p->tx_pda + 1u) * 4, first;
	uint32_t plen;

	if (p->hdgst) {
		h[NTCP_AT_FLAGS] |= NTCP_F_HDGST;
		at += NTCP_DIGEST_LEN;
	}
	first = at;
	plen = at;
	if (len) {
		at = (at + align - 1) / align * align;
		h[NTCP_AT_PDO] = (uint8_t)at;
		plen = at + len;
		if (p->ddgst) {
			h[NTCP_AT_FLAGS] |= NTCP_F_DDGST;
			plen += NTCP_DIGEST_LEN;
		}
	}
	le32_put(h + NTCP_AT_PLEN, plen);
	if (p->hdgst)
		le32_put(h + hlen, base_crc32c(0, h, hlen));
	memset(h + first, 0, at - first);
	return at;
}

static size_t put_ic(void *hdr, enum ntcp_type type, uint8_t pda, uint8_t dgst, uint32_t max)
{
	uint8_t *h = start(hdr, type, 0);

	h[NTCP_AT_PDA] = pda;
	h[NTCP_AT_DGST] = dgst;
	le32_put(h + NTCP_AT_MAXR2T, max);
	return NTCP_IC_LEN;
}

size_t ntcp_put_icreq(void *hdr, uint8_t hpda, uint8_t dgst, uint32_t maxr2t)
{
	return put_ic(hdr, NTCP_ICREQ, hpda, dgst, maxr2t);
}

size_t ntcp_put_icresp(void *hdr, uint8_t cpda, uint8_t dgst, uint32_t maxh2cdata)
{
	return put_ic(hdr, NTCP_ICRESP, cpda, dgst, maxh2cdata);
}

size_t ntcp_put_cmd(const struct ntcp_params *p, void *hdr, const struct nvme_sqe *sqe, uint32_t icd_len)
{
	uint8_t *h = start(hdr, NTCP_CMD, 0);

	memcpy(h + NTCP_COMMON_LEN, sqe, sizeof(*sqe));
	return finish(p, h, icd_len);
}

size_t ntcp_put_rsp(const struct ntcp_params *p, void *hdr, const struct nvme_cqe *cqe)
{
	uint8_t *h = start(hdr, NTCP_RSP, 0);

	memcpy(h + NTCP_COMMON_LEN, cqe, sizeof(*cqe));
	return finish(p, h, 0);
}

/* What H2CData, C2HData and R2T have in common. */
static void put_range(uint8_t *h, uint16_t cid, uint16_t ttag, uint32_t offset, uint32_t len)
{
	le16_put(h + NTCP_AT_CCCID, cid);
	le16_put(h + NTCP_AT_TTAG, ttag);
	le32_put(h + NTCP_AT_OFFSET, offset);
	le32_put(h + NTCP_AT_LENGTH, len);
}

size_t ntcp_put_h2c_data(const struct ntcp_params *p, void *hdr, uint16_t cid, uint16_t ttag, uint32_t offset,
			 uint32_t len, bool last)
{
	uint8_t *h = start(hdr, NTCP_H2C_DATA, last ? NTCP_F_LAST : 0);

	put_range(h, cid, ttag, offset, len);
	return finish(p, h, len);
}

size_t ntcp_put_c2h_data(const struct ntcp_params *p, void *hdr, uint16_t cid, uint32_t offset, uint32_t len,
			 bool last, bool success)
{
	uint8_t *h = start(hdr, NTCP_C2H_DATA, (last || success ? NTCP_F_LAST : 0) |
					       (success ? NTCP_F_SUCCESS : 0));

	put_range(h, cid, 0, offset, len);
	return finish(p, h, len);
}

size_t ntcp_put_r2t(const struct ntcp_params *p, void *hdr, uint16_t cid, uint16_t ttag, uint32_t offset,
		    uint32_t len)
{
	uint8_t *h = start(hdr, NTCP_R2T, 0);

	put_range(h, cid, ttag, offset, len);
	return finish(p, h, 0);
}

/* Of the PDU's header as much as came, without its digest; all of the common header if HLEN makes no sense. */
static size_t offending(const struct ntcp_rx *rx)
{
	size_t n = BASE_MIN(rx->nhdr, NTCP_IC_LEN);

	if (n > NTCP_COMMON_LEN)
		n = BASE_MIN(n, (size_t)rx->hdr[NTCP_AT_HLEN]);
	return n;
}

size_t ntcp_put_term(enum ntcp_role role, void *pdu, uint16_t fes, uint32_t fei, const struct ntcp_rx *rx)
{
	uint8_t *h = start(pdu, role == NTCP_HOST ? NTCP_H2C_TERM : NTCP_C2H_TERM, 0);
	size_t n = rx ? offending(rx) : 0;

	le16_put(h + NTCP_AT_FES, fes);
	le32_put(h + NTCP_AT_FEI, fei);
	if (n)
		memcpy(h + NTCP_TERM_LEN, rx->hdr, n);
	le32_put(h + NTCP_AT_PLEN, (uint32_t)(NTCP_TERM_LEN + n));
	return NTCP_TERM_LEN + n;
}

void ntcp_ddgst(const struct iovec *iov, unsigned int niov, uint32_t len, uint8_t dgst[4])
{
	struct iov_pos pos = { iov, niov, 0 };
	uint32_t crc = 0;
	size_t n;
	void *p;

	while ((n = iov_next(&pos, &p, len))) {
		crc = base_crc32c(crc, p, n);
		len -= (uint32_t)n;
	}
	le32_put(dgst, crc);
}
