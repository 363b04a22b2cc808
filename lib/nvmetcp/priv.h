/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of this directory: what each type of PDU is, and the two steps of decoding a header. */
#ifndef ACCEL_NVMETCP_PRIV_H
#define ACCEL_NVMETCP_PRIV_H

#include "nvmetcp.h"

#define NTCP_COMMON_LEN	8u	/* the common header, which says how long the rest is */
#define NTCP_TERM_LEN	24u
#define NTCP_DIGEST_LEN	4u
#define NTCP_TYPES	10u
#define NTCP_MAXH2C_MIN	4096u

/* Offsets of fields: of the common header, and of those behind it that can be wrong. */
enum ntcp_field {
	NTCP_AT_TYPE = 0, NTCP_AT_FLAGS = 1, NTCP_AT_HLEN = 2, NTCP_AT_PDO = 3, NTCP_AT_PLEN = 4,
	NTCP_AT_PFV = 8, NTCP_AT_PDA = 10, NTCP_AT_DGST = 11, NTCP_AT_MAXR2T = 12, NTCP_AT_MAXH2C = 12,
	NTCP_AT_FES = 8, NTCP_AT_FEI = 10,
	NTCP_AT_CCCID = 8, NTCP_AT_TTAG = 10, NTCP_AT_OFFSET = 12, NTCP_AT_LENGTH = 16,
};

enum ntcp_data {
	NTCP_NO_DATA,
	NTCP_MAY_DATA,		/* PDO says whether */
	NTCP_MUST_DATA,
	NTCP_COPY,		/* a TermReq's copy of a header: behind the header, PDO is reserved */
};

/* What can be wrong with any PDU, as indices of struct ntcp_kind's why. */
enum ntcp_why {
	NTCP_WHY_ROLE, NTCP_WHY_SEQUENCE, NTCP_WHY_HLEN, NTCP_WHY_FLAGS, NTCP_WHY_HDGST, NTCP_WHY_PDO,
	NTCP_WHY_DDGST, NTCP_WHY_PLEN, NTCP_WHY_LIMIT, NTCP_WHY_DIGEST, NTCP_WHY_LENGTH, NTCP_WHY_RANGE,
	NTCP_WHYS
};

struct ntcp_kind {
	uint8_t hlen;			/* 0: there is no such type */
	uint8_t to;			/* enum ntcp_role of the end that may receive it */
	uint8_t data;			/* enum ntcp_data */
	uint8_t flags;			/* that it may have besides those of digests */
	bool digests;			/* it has those that were agreed on */
	const char *why[NTCP_WHYS];
};

/* NULL if there is no such type. */
const struct ntcp_kind *ntcp_kind(unsigned int type);

/* Puts rx into the state of a failure; returns -1. */
int ntcp_fail(struct ntcp_rx *rx, uint16_t fes, uint32_t fei, const char *why);

/* The common header in rx->hdr: 0 and rx->want, or -1 after ntcp_fail(). */
int ntcp_decode_common(struct ntcp_rx *rx);
/* The whole header in rx->hdr, with its digest: 0 and rx->pdu, or -1 after ntcp_fail(). */
int ntcp_decode_header(struct ntcp_rx *rx);

#endif
