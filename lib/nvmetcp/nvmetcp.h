/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVMe/TCP PDUs (NVMe/TCP Transport Specification 1.0, here "TCP"): building and receiving them, for a host and
 * for a controller. No I/O, no memory allocation, no clock. A receiver trusts no byte: every type, flag, length
 * and offset that a PDU can get wrong by itself is checked here, and so are the transfers that its owner has
 * announced (struct ntcp_xfer); what only the owner knows (command ids, tags) is the owner's to look up.
 */
#ifndef ACCEL_NVMETCP_H
#define ACCEL_NVMETCP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "nvme.h"

enum ntcp_type {
	NTCP_ICREQ = 0x00, NTCP_ICRESP = 0x01, NTCP_H2C_TERM = 0x02, NTCP_C2H_TERM = 0x03, NTCP_CMD = 0x04,
	NTCP_RSP = 0x05, NTCP_H2C_DATA = 0x06, NTCP_C2H_DATA = 0x07, NTCP_R2T = 0x09,
};

#define NTCP_F_HDGST	0x01u
#define NTCP_F_DDGST	0x02u
#define NTCP_F_LAST	0x04u
#define NTCP_F_SUCCESS	0x08u

/* Fatal Error Status of a TermReq (TCP, figure 29). */
enum ntcp_fes {
	NTCP_FES_INVALID_HDR = 1, NTCP_FES_SEQUENCE = 2, NTCP_FES_HDGST = 3, NTCP_FES_RANGE = 4,
	NTCP_FES_LIMIT = 5,		/* R2T limit (to a controller: data limit) exceeded */
	NTCP_FES_UNSUPPORTED = 6,	/* unsupported parameter */
};
/* "PDU sequence error", ... ; "unknown" for other numbers. */
const char *ntcp_fes_str(unsigned int fes);
/* "CapsuleCmd", ... ; "unknown" for other numbers. */
const char *ntcp_type_str(unsigned int type);

#define NTCP_PORT	4420u
#define NTCP_DISC_PORT	8009u
#define NTCP_MAX_PDA	31u			/* PDU data alignment: in dwords, 0's based; 128 bytes at most */
#define NTCP_IC_LEN	128u			/* ICReq and ICResp */
#define NTCP_TERM_DATA	152u			/* most bytes of the offending header in a TermReq */
#define NTCP_MAX_PAD	128u			/* most bytes of padding that are taken */
#define NTCP_MAX_HDR	(128u + 4u + NTCP_MAX_PAD)	/* header, digest, padding: what a builder may write */

enum ntcp_role { NTCP_HOST, NTCP_CTRL };	/* which end this is */

/* What both ends have agreed on, and the limits of this end. */
struct ntcp_params {
	enum ntcp_role role;
	bool hdgst, ddgst;
	uint8_t tx_pda;		/* alignment that the peer wants of data we send (its HPDA or CPDA) */
	uint8_t rx_pda;		/* alignment that we asked of the peer */
	uint32_t max_icd;	/* controller: most bytes of data in a command capsule */
	uint32_t max_data;	/* most bytes of data that one H2CData (C2HData) PDU may bring us */
};

/* ---- Receiving ---- */

/* A PDU's header, decoded. */
struct ntcp_pdu {
	uint8_t type, flags;
	uint8_t hlen, pdo;
	uint32_t plen;
	uint32_t data_len;		/* bytes of data (or of a TermReq's copy of a header) that follow */
	union {
		struct { uint16_t pfv; uint8_t hpda, dgst; uint32_t maxr2t; } icreq;	/* maxr2t 0's based */
		struct { uint16_t pfv; uint8_t cpda, dgst; uint32_t maxh2cdata; } icresp;
		struct { uint16_t fes; uint32_t fei; } term;
		struct nvme_sqe sqe;
		struct nvme_cqe cqe;
		struct { uint16_t cid, ttag; uint32_t offset, len; } data;	/* ttag: H2CData */
		struct { uint16_t cid, ttag; uint32_t offset, len; } r2t;
	};
};

enum ntcp_event {
	NTCP_NEED,		/* all bytes given are used up; more are needed */
	NTCP_HEADER,		/* rx->pdu is complete and in order. If data_len: call ntcp_rx_sink() first of all */
	NTCP_DATA_END,		/* the data of rx->pdu is complete; rx->ddgst_ok */
	NTCP_ERROR,		/* a fatal transport error: rx->fes, rx->fei, rx->why; nothing more is read */
};

enum ntcp_rx_state { NTCP_RX_HDR, NTCP_RX_PAD, NTCP_RX_DATA, NTCP_RX_DDGST, NTCP_RX_FAILED };

struct ntcp_rx {
	struct ntcp_params p;
	struct ntcp_pdu pdu;
	enum ntcp_rx_state state;
	bool ready;			/* ICReq/ICResp has been exchanged (set by ntcp_rx_ready()) */
	bool ddgst_ok;
	uint16_t fes;
	uint32_t fei;			/* FES 1, 6: offset of the field; 3: the digest that came; else 0 */
	const char *why;		/* for a log: "H2CData: length does not match PLEN" */
	uint8_t hdr[NTCP_IC_LEN + 4];	/* header as it came, for a TermReq */
	unsigned int nhdr, want;	/* bytes of it so far, and in all (0: not known yet) */
	uint32_t pad, left;		/* bytes of padding, of data, that are still to come */
	const struct iovec *iov;	/* where the data goes; NULL: it is dropped */
	unsigned int niov;
	size_t iov_off;			/* in iov[0] */
	uint32_t crc;			/* of the data so far */
	uint8_t dgst[4];
	unsigned int ndgst;
};

/* Before the first byte; of p only role counts until ntcp_rx_ready(): nothing but ICReq (ICResp) or a
 * TermReq is accepted. */
void ntcp_rx_init(struct ntcp_rx *rx, const struct ntcp_params *p);
/* ICReq and ICResp have been exchanged and these parameters agreed on. */
void ntcp_rx_ready(struct ntcp_rx *rx, const struct ntcp_params *p);

/*
 * Takes bytes of the stream; returns how many it used, up to the next event. Call again with the rest (n may be
 * 0: an event may need no byte) until NTCP_NEED. One byte at a time is as good as all at once.
 */
size_t ntcp_rx(struct ntcp_rx *rx, const void *buf, size_t n, enum ntcp_event *event);

/*
 * After NTCP_HEADER with data_len: where the data goes, at least data_len bytes (the list must stay); NULL: it is
 * dropped, its digest is checked all the same.
 */
void ntcp_rx_sink(struct ntcp_rx *rx, const struct iovec *iov, unsigned int niov);

/*
 * Receiving without a copy: the places where the next bytes of the stream belong, if these are data with a sink;
 * returns the number of elements written to iov (0: give the bytes to ntcp_rx()). After reading n bytes there
 * tell so by ntcp_rx_direct_done(), then call ntcp_rx() with 0 bytes for the event.
 */
unsigned int ntcp_rx_direct(const struct ntcp_rx *rx, struct iovec *iov, unsigned int max);
void ntcp_rx_direct_done(struct ntcp_rx *rx, size_t n);

/* A transfer of data that this end has announced (a command's read: offset 0; an R2T) and that arrives in order. */
struct ntcp_xfer {
	uint16_t cid, ttag;
	uint32_t next, end;	/* bytes of the command's buffer: next expected, end */
};

/*
 * Whether this data PDU is the next part of the transfer: 0, or an FES with *fei and *why as in a TermReq. The
 * last part must carry LAST and no other may (R2T: of the R2T; C2HData: of the command). Moves the transfer on.
 */
int ntcp_xfer_take(struct ntcp_xfer *x, const struct ntcp_pdu *pdu, uint32_t *fei, const char **why);
static inline bool ntcp_xfer_done(const struct ntcp_xfer *x)
{
	return x->next == x->end;
}

/* ---- Building: into hdr, NTCP_MAX_HDR bytes; the bytes written (header, digest, padding) are returned. Data,
 * then its digest if p->ddgst and there is data, follow. ---- */

size_t ntcp_put_icreq(void *hdr, uint8_t hpda, uint8_t dgst, uint32_t maxr2t);
size_t ntcp_put_icresp(void *hdr, uint8_t cpda, uint8_t dgst, uint32_t maxh2cdata);
size_t ntcp_put_cmd(const struct ntcp_params *p, void *hdr, const struct nvme_sqe *sqe, uint32_t icd_len);
size_t ntcp_put_rsp(const struct ntcp_params *p, void *hdr, const struct nvme_cqe *cqe);
size_t ntcp_put_h2c_data(const struct ntcp_params *p, void *hdr, uint16_t cid, uint16_t ttag, uint32_t offset,
			 uint32_t len, bool last);
/* success: implies last, and that no CapsuleResp follows. */
size_t ntcp_put_c2h_data(const struct ntcp_params *p, void *hdr, uint16_t cid, uint32_t offset, uint32_t len,
			 bool last, bool success);
size_t ntcp_put_r2t(const struct ntcp_params *p, void *hdr, uint16_t cid, uint16_t ttag, uint32_t offset,
		    uint32_t len);
/* The whole PDU, into pdu of 24 + NTCP_TERM_DATA bytes: with the header that was wrong, as rx has it. */
size_t ntcp_put_term(enum ntcp_role role, void *pdu, uint16_t fes, uint32_t fei, const struct ntcp_rx *rx);

/* CRC-32C of the data as the four bytes that follow it. */
void ntcp_ddgst(const struct iovec *iov, unsigned int niov, uint32_t len, uint8_t dgst[4]);

#endif
