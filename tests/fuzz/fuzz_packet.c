// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes -> headers -> decision, as a receiver does it. The packet lies at the
 * very end of its allocation, so that AddressSanitizer sees a read beyond it.
 *
 * Input: one byte for PMTU and address family, one for the message in progress,
 * eight for its position, then the datagram from its IP header on.
 */
#include "fuzz.h"

/* Header fields of a packet that is long enough for its opcode */
static void headers(const u8 *b, const struct opcode_info *op)
{
	u8 again[RETH_LEN + ATMETH_LEN];

	if (op->flags & OPF_RETH) {
		must(op->reth >= BTH_LEN && op->reth + RETH_LEN <= op->hdr_len);
		reth_write(again, reth_va(b + op->reth), reth_rkey(b + op->reth),
			   reth_len(b + op->reth));
		must(!memcmp(again, b + op->reth, RETH_LEN));
	}
	if (op->flags & OPF_ATMETH) {
		const u8 *p = b + op->atmeth;

		must(op->atmeth >= BTH_LEN && op->atmeth + ATMETH_LEN <= op->hdr_len);
		atmeth_write(again, atmeth_va(p), atmeth_rkey(p), atmeth_swap_add(p),
			     atmeth_compare(p));
		must(!memcmp(again, p, ATMETH_LEN));
	}
	if (op->flags & OPF_AETH) {
		u8 syndrome = aeth_syndrome(b + op->aeth);

		must(op->aeth >= BTH_LEN && op->aeth + AETH_LEN <= op->hdr_len);
		aeth_write(again, syndrome, aeth_msn(b + op->aeth));
		must(!memcmp(again, b + op->aeth, AETH_LEN));
		must((aeth_kind(syndrome) == AETH_KIND_ACK) ==
		     (nak_wc_status(syndrome) == WCS_SUCCESS));
		must(rnr_timer_usec(syndrome) >= 10);
		must(credit_code(credit_count(syndrome)) == (syndrome & AETH_VALUE_MASK));
	}
	if (op->flags & OPF_ATMACK) {
		must(op->atmack >= BTH_LEN && op->atmack + ATMACK_LEN <= op->hdr_len);
		atmack_write(again, atmack_orig(b + op->atmack));
		must(!memcmp(again, b + op->atmack, ATMACK_LEN));
	}
	if (op->flags & OPF_IMM) {
		must(op->imm >= BTH_LEN && op->imm + IMMDT_LEN <= op->hdr_len);
		immdt_put(again, immdt_get(b + op->imm));
		must(!memcmp(again, b + op->imm, IMMDT_LEN));
	}
	if (op->flags & OPF_IETH) {
		must(op->ieth >= BTH_LEN && op->ieth + IETH_LEN <= op->hdr_len);
		ieth_write(again, ieth_rkey(b + op->ieth));
		must(!memcmp(again, b + op->ieth, IETH_LEN));
	}
	if (op->flags & OPF_DETH) {
		const u8 *p = b + op->deth;

		must(op->deth >= BTH_LEN && op->deth + DETH_LEN <= op->hdr_len);
		deth_write(again, deth_qkey(p), deth_sqp(p));
		again[4] = p[4];	/* reserved */
		must(!memcmp(again, p, DETH_LEN));
	}
	if (op->flags & OPF_FETH) {
		const u8 *p = b + op->feth;

		must(op->feth >= BTH_LEN && op->feth + FETH_LEN <= op->hdr_len);
		feth_write(again, feth_type(p), feth_selectivity(p));
		must(again[3] == (p[3] & 0x3f));
	}
}

static void base_header(const u8 *b)
{
	struct bth_fields f;
	u8 again[BTH_LEN];

	f.opcode = bth_opcode(b);
	f.se = bth_se(b);
	f.mig = bth_mig(b);
	f.ackreq = bth_ackreq(b);
	f.becn = bth_becn(b);
	f.fecn = bth_fecn(b);
	f.pad = bth_pad(b);
	f.pkey = bth_pkey(b);
	f.dqpn = bth_dqpn(b);
	f.psn = bth_psn(b);
	bth_write(again, &f);
	again[1] |= bth_tver(b);
	again[4] |= b[4] & 0x3f;
	again[8] |= b[8] & 0x7f;
	must(!memcmp(again, b, BTH_LEN));
}

/* What a responder that is in the middle of @p decides */
static void decide(const u8 *b, const struct opcode_info *op, u32 len, u32 pmtu,
		   enum msg_progress p, u64 done)
{
	enum resp_error opcode_error, error;
	const struct resp_error_info *info;
	struct resp_len_in in;

	in.pmtu = pmtu;
	in.pad = bth_pad(b);
	in.payload = len - op->hdr_len - in.pad - ICRC_LEN;
	in.done = op->flags & OPF_START ? 0 : done;
	in.total = op->flags & OPF_RETH ? reth_len(b + op->reth) : done + pmtu;

	opcode_error = resp_check_opcode(p, op);
	error = opcode_error ? opcode_error : resp_check_length(op, &in);
	info = resp_error_info(error);
	must(info->name);
	must((info->class == CLASS_NONE) == (error == RESP_OK));
	if (error) {
		must(info->class == CLASS_C);	/* nothing here may pass silently */
		must(aeth_kind(info->syndrome) == AETH_KIND_NAK);
		must(info->qp_error);
		return;
	}

	must(op->flags & OPF_REQUEST);
	must(in.pad == wire_pad(in.payload));
	if (op->flags & OPF_ATOMIC_WRITE)
		must(in.payload == 8);
	else if (op->flags & OPF_PAYLOAD)
		must(in.payload <= pmtu);
	else
		must(in.payload == 0);
	if (op->flags & OPF_WRITE) {
		must(in.total <= MSG_LEN_MAX);
		must(in.done + in.payload <= in.total);
		must((in.done + in.payload == in.total) == !!(op->flags & OPF_END));
	}
	p = resp_progress(p, op);
	must((p == MSG_NONE) == !!(op->flags & OPF_END));
}

static void sums(const u8 *packet, const u8 *b, u32 len, bool ipv6)
{
	unsigned int ip = ipv6 ? 40 : 20, n;
	u8 *pseudo, sum[ICRC_LEN];
	u32 state = ICRC_SEED, i;

	/* exactly as large as needed, for AddressSanitizer */
	pseudo = malloc(ip + 8 + BTH_LEN);
	must(pseudo);
	n = ipv6 ? icrc_pseudo_ipv6(pseudo, packet, packet + ip, b) :
		   icrc_pseudo_ipv4(pseudo, packet, packet + ip, b);
	must(n == ip + 8 + BTH_LEN && n <= ICRC_PSEUDO_MAX);
	for (i = 0; i < n; i++) {
		must((pseudo[i] | packet[i]) == pseudo[i]);	/* only ones are added */
		state = state * 31 + pseudo[i];
	}
	icrc_write(sum, state);
	must(icrc_match(sum, state));
	must(!icrc_match(sum, ~state));
	must(icrc_match(b + len - ICRC_LEN, state) ==
	     !memcmp(b + len - ICRC_LEN, sum, ICRC_LEN));
	free(pseudo);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 choice = input_take(&in, 1);
	u32 pmtu = 256u << choice % 5;
	bool ipv6 = choice & 0x80;
	enum msg_progress p = (enum msg_progress)(input_take(&in, 1) % 3);
	u64 done = (u64)input_take(&in, 4) << 32 >> (input_take(&in, 1) & 31);
	u32 expected = input_take(&in, 3);
	size_t ip = ipv6 ? 40 : 20;
	const struct opcode_info *op;
	u8 *packet;
	const u8 *b;
	u32 len;

	if (in.left < ip + 8 + BTH_LEN + ICRC_LEN)
		return 0;
	packet = malloc(in.left);
	must(packet);
	memcpy(packet, in.data, in.left);
	b = packet + ip + 8;
	len = (u32)(in.left - ip - 8);

	base_header(b);
	sums(packet, b, len, ipv6);
	switch (psn_classify(expected, bth_psn(b))) {
	case PSN_EXPECTED:
		must(expected == bth_psn(b));
		break;
	case PSN_AHEAD:
		must(psn_after(bth_psn(b), expected));
		break;
	case PSN_DUPLICATE:
		must(psn_before(bth_psn(b), expected));
		break;
	}

	op = opcode_info(bth_opcode(b));
	must(!op || op->hdr_len >= BTH_LEN);
	if (op && len >= (u32)op->hdr_len + bth_pad(b) + ICRC_LEN) {
		headers(b, op);
		decide(b, op, len, pmtu, p, done);
	}
	free(packet);
	return 0;
}
