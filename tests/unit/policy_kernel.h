/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's types as far as kernel/passthru/policy.c needs them: the few fields, and the same rules. */
#ifndef POLICY_KERNEL_H
#define POLICY_KERNEL_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32, __le32;
typedef uint64_t u64, __le64;

#define PAGE_SIZE 4096u
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define WRITE 1
#define RQF_SPECIAL_PAYLOAD 1u
#define REQ_INTEGRITY 2u

/* Little endian in memory, whatever the machine is. */
static inline u32 le32_to_cpu(__le32 v)
{
	const u8 *b = (const u8 *)&v;

	return (u32)b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
}

static inline __le32 cpu_to_le32(u32 v)
{
	u8 b[4] = { (u8)v, (u8)(v >> 8), (u8)(v >> 16), (u8)(v >> 24) };
	__le32 out;

	memcpy(&out, b, 4);
	return out;
}

static inline bool test_bit(unsigned int n, const unsigned long *map)
{
	return map[n / (8 * sizeof(long))] >> n % (8 * sizeof(long)) & 1;
}

static inline void __set_bit(unsigned int n, unsigned long *map)
{
	map[n / (8 * sizeof(long))] |= 1ul << n % (8 * sizeof(long));
}

__attribute__((format(printf, 3, 4))) static inline int scnprintf(char *buf, size_t n, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(buf, n, format, args);
	va_end(args);
	return !n ? 0 : (size_t)len < n ? len : (int)n - 1;
}

struct nvme_command {
	union {
		struct {
			u8 opcode, flags;
			u16 command_id;
			__le32 nsid, cdw2[2];
			__le64 metadata, dptr[2];
			__le32 cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
		} common;
		u8 bytes[64];
		__le32 dw[16];
	};
};

struct request {
	u32 rq_flags, cmd_flags, data_len;
	unsigned short nr_segments;
	bool write;
};

struct nap_req {
	struct nvme_command cmd;
	struct request rq;
	u32 nbytes;
};

static inline struct request *nap_rq(struct nap_req *r) { return &r->rq; }
static inline unsigned short blk_rq_nr_phys_segments(struct request *rq) { return rq->nr_segments; }
static inline unsigned int blk_rq_payload_bytes(struct request *rq) { return rq->data_len; }
static inline int rq_data_dir(struct request *rq) { return rq->write; }

/* As in nap.h. */
enum nap_reason { NAP_R_OK, NAP_R_OPCODE, NAP_R_FIELD, NAP_R_LENGTH, NAP_R_RANGE };
enum nap_len { NAP_LEN_NONE, NAP_LEN_RW, NAP_LEN_NDT };

struct nap_policy {
	unsigned long opcode[256 / (8 * sizeof(long))];
	u8 len[256];
};

int nap_policy_parse(struct nap_policy *p, const char *text);
ssize_t nap_policy_show(const struct nap_policy *p, char *page);
void nap_policy_default(struct nap_policy *p);
u16 nap_policy_check(const struct nap_policy *p, struct nap_req *r, u8 lba_shift, u64 nblocks, enum nap_reason *reason);
void nap_policy_command(const struct nap_policy *p, const struct nap_req *r, struct nvme_command *out, u32 nsid);

#define MODEL_SC_INVALID_FIELD	0x4002
#define MODEL_SC_INVALID_OPCODE	0x4001
#define MODEL_SC_LBA_RANGE	0x4080

#include "../../kernel/passthru/policy.c"

#endif
