/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints: /sys/kernel/tracing/events/nvme_accel_crypto. job is the same number in all events of a request. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvme_accel_crypto

#if !defined(NAC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NAC_TRACE_H

#include <linux/tracepoint.h>
#include "nac.h"

#define nac_show_op(op) \
	__print_symbolic(op, { NAC_COMPRESS, "compress" }, { NAC_DECOMPRESS, "decompress" }, \
			 { NAC_GCM_ENCRYPT, "gcm_encrypt" }, { NAC_GCM_DECRYPT, "gcm_decrypt" }, \
			 { NAC_XTS_ENCRYPT, "xts_encrypt" }, { NAC_XTS_DECRYPT, "xts_decrypt" }, { NAC_SHA256, "sha256" })

#define nac_show_why(why) \
	__print_symbolic(why, { NAC_F_PARTIAL, "partial" }, { NAC_F_MIN, "threshold_min" }, { NAC_F_MAX, "threshold_max" }, \
			 { NAC_F_UNSUPPORTED, "unsupported" }, { NAC_F_NO_DEVICE, "no_device" }, \
			 { NAC_F_RECLAIM, "reclaim" }, { NAC_F_TIMEOUT, "timeout" }, { NAC_F_IO, "io_error" }, \
			 { NAC_F_LEASE, "lease_lost" }, { NAC_F_DEVICE, "device_error" }, { NAC_F_DATA, "data" }, \
			 { NAC_F_PROTOCOL, "protocol" }, { NAC_F_VERIFY, "verify" }, { NAC_F_STOPPED, "stopped" })

/* A job goes to an accelerator. */
TRACE_EVENT(nvme_accel_crypto_submit,
	TP_PROTO(const struct nac_slot *slot, const struct nac_job *job),
	TP_ARGS(slot, job),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(dev_t, dev)
		__field(u64, seq)
		__field(u32, slot)
		__field(u32, in_len)
		__field(u32, out_max)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->dev = slot->dev->bdev->bd_dev;
		__entry->seq = slot->seq;
		__entry->slot = slot->number;
		__entry->in_len = job->in_len;
		__entry->out_max = job->out_max;
		__entry->op = job->op;
	),
	TP_printk("job=%p dev=%d:%d slot=%u seq=%llu op=%s in=%u out_max=%u", __entry->job, MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->slot, __entry->seq, nac_show_op(__entry->op), __entry->in_len,
		  __entry->out_max)
);

/* What an accelerator says of a job. late: nobody waits for it any more. */
TRACE_EVENT(nvme_accel_crypto_result,
	TP_PROTO(const struct nac_slot *slot, const struct nac_job *job, const struct wire_status *st),
	TP_ARGS(slot, job, st),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(dev_t, dev)
		__field(u64, seq)
		__field(u64, queue_ns)
		__field(u64, exec_ns)
		__field(u64, out_len)
		__field(u32, slot)
		__field(u32, code)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->dev = slot->dev->bdev->bd_dev;
		__entry->seq = slot->seq;
		__entry->queue_ns = st->queue_ns;
		__entry->exec_ns = st->exec_ns;
		__entry->out_len = st->out_len;
		__entry->slot = slot->number;
		__entry->code = st->code;
		__entry->state = st->state;
	),
	TP_printk("job=%p dev=%d:%d slot=%u seq=%llu state=%u code=%u out=%llu queue_ns=%llu exec_ns=%llu%s", __entry->job,
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->slot, __entry->seq, __entry->state, __entry->code,
		  __entry->out_len, __entry->queue_ns, __entry->exec_ns, __entry->job ? "" : " late")
);

/* A request is done in software. */
TRACE_EVENT(nvme_accel_crypto_fallback,
	TP_PROTO(const struct nac_job *job, enum nac_count why),
	TP_ARGS(job, why),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(u32, in_len)
		__field(u8, op)
		__field(u8, why)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->in_len = job->in_len;
		__entry->op = job->op;
		__entry->why = why;
	),
	TP_printk("job=%p op=%s in=%u why=%s", __entry->job, nac_show_op(__entry->op), __entry->in_len,
		  nac_show_why(__entry->why))
);

/* A request that was not done at once has ended, wherever it was done. ns: since it was made. */
TRACE_EVENT(nvme_accel_crypto_complete,
	TP_PROTO(const struct nac_job *job, int err),
	TP_ARGS(job, err),
	TP_STRUCT__entry(
		__field(const void *, job)
		__field(u64, ns)
		__field(u32, in_len)
		__field(u32, out_len)
		__field(int, err)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->job = job;
		__entry->ns = ktime_get_ns() - job->start_ns;
		__entry->in_len = job->in_len;
		__entry->out_len = job->out_len;
		__entry->err = err;
		__entry->op = job->op;
	),
	TP_printk("job=%p op=%s in=%u out=%u err=%d ns=%llu", __entry->job, nac_show_op(__entry->op), __entry->in_len,
		  __entry->out_len, __entry->err, __entry->ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nac_trace
#include <trace/define_trace.h>
