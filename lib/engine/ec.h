/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the erasure coding family share. */
#ifndef ACCEL_ENGINE_EC_H
#define ACCEL_ENGINE_EC_H

#include "priv.h"

#define EC_MAX 255u		/* blocks of a stripe, data and parity */

/* A stage, checked. */
struct ec_req {
	uint16_t op, alg;
	unsigned int k, m, nlost, index;
	unsigned int nin, nout;		/* blocks of the input and of the output */
	unsigned int nsrc, nrow;	/* the matrix of the operation: nrow rows of nsrc coefficients */
	uint64_t block;
	const uint8_t *lost, *survivors;	/* decode */
	const uint8_t *matrix;			/* the caller's, m rows of k */
};

/* Arithmetic in GF(2^8) modulo 0x11D. */
struct ec_field {
	uint8_t (*mul)(uint8_t a, uint8_t b);
	uint8_t (*inv)(uint8_t a);
};

extern const struct ec_field ec_field_plain;
struct ec_plan;

/*
 * dst[i] = sum of coef[i][j] * src[j]: rows first..first+n-1 of the plan, n destinations, len bytes. All rows at once;
 * of an update one.
 */
typedef void (*ec_kernel)(const struct ec_plan *plan, unsigned int first, unsigned int n, size_t len,
			  uint8_t **src, uint8_t **dst);

/* What computes: the surroundings' fastest, and plain C. */
struct ec_backend {
	const struct ec_field *field;
	ec_kernel kernel;
	/* Fills tables (32 bytes a coefficient) for nrow rows that are used together; NULL: the kernel wants none. */
	void (*tables)(const uint8_t *coef, unsigned int nsrc, unsigned int nrow, uint8_t *tables);
};

extern const struct ec_backend ec_fast, ec_plain;

/* The coefficients of an operation, kept for the next job of the same kind. */
struct ec_plan {
	struct ec_plan *next;
	struct ec_req req;		/* its pointers into own[] */
	const struct ec_backend *by;
	uint8_t *coef;			/* nrow rows of nsrc */
	uint8_t *tables;		/* the backend's, room for 32 bytes a coefficient; of all rows together, of
					 * an update row by row */
	uint8_t own[];			/* lost, survivors, matrix */
};

/* The plan for a request, found or made; NULL with *code set. */
const struct ec_plan *ec_plan_get(struct engine_thread *t, const struct ec_req *r, const struct ec_backend *by,
				  uint32_t *code);

/* Fills coef (nrow x nsrc); NOT_INVERTIBLE if the survivors do not determine the lost blocks. */
uint32_t ec_coefficients(const struct ec_req *r, const struct ec_field *f, uint8_t *coef,
			 uint8_t *work);
/* Bytes of work memory that ec_coefficients() wants. */
size_t ec_work_nbytes(const struct ec_req *r);

/* Fails the job and returns 0 if the stage is not acceptable. */
int ec_parse(struct ec_req *r, const struct job_stage *stage, unsigned int index, struct job *job);

#endif
