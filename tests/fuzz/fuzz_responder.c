// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A hostile requester: any sequence of request packets against the decisions of
 * a responder. Whatever it accepts must be whole messages, spelled correctly;
 * that is judged here by a second, naive grammar.
 *
 * Input: one byte for the PMTU, three for the first PSN, then six per packet.
 */
#include "fuzz.h"

struct responder {
	u32 pmtu;
	u32 expected;
	u32 msn;
	enum msg_progress progress;
	u64 done;
	u64 total;
	bool nak_sent;
	bool error;
};

/* The naive grammar: the open message as its first opcode, 0xff if none is open */
struct grammar {
	u8 open;
	u64 bytes;
	u64 announced;
	u32 messages;
};

static void spell(struct grammar *g, u8 opcode, u32 payload, u32 reth)
{
	switch (opcode) {
	case OP_RC_SEND_FIRST:
	case OP_RC_WRITE_FIRST:
		must(g->open == 0xff);
		g->open = opcode;
		g->bytes = payload;
		g->announced = reth;
		return;
	case OP_RC_SEND_MIDDLE:
		must(g->open == OP_RC_SEND_FIRST);
		g->bytes += payload;
		return;
	case OP_RC_WRITE_MIDDLE:
		must(g->open == OP_RC_WRITE_FIRST);
		g->bytes += payload;
		must(g->bytes < g->announced);
		return;
	case OP_RC_SEND_LAST:
	case OP_RC_SEND_LAST_IMM:
	case OP_RC_SEND_LAST_INV:
		must(g->open == OP_RC_SEND_FIRST);
		must(payload > 0);
		break;
	case OP_RC_WRITE_LAST:
	case OP_RC_WRITE_LAST_IMM:
		must(g->open == OP_RC_WRITE_FIRST);
		must(g->bytes + payload == g->announced);
		break;
	case OP_RC_WRITE_ONLY:
	case OP_RC_WRITE_ONLY_IMM:
		must(g->open == 0xff);
		must(payload == reth);
		break;
	case OP_RC_ATOMIC_WRITE:
		must(g->open == 0xff && payload == 8 && reth == 8);
		break;
	case OP_RC_SEND_ONLY:
	case OP_RC_SEND_ONLY_IMM:
	case OP_RC_SEND_ONLY_INV:
		must(g->open == 0xff);
		break;
	case OP_RC_READ_REQUEST:
	case OP_RC_COMPARE_SWAP:
	case OP_RC_FETCH_ADD:
	case OP_RC_FLUSH:
		must(g->open == 0xff && payload == 0);
		break;
	default:
		must(!"a packet that is no RC request was accepted");
	}
	g->open = 0xff;
	g->messages++;
}

static void receive(struct responder *r, struct grammar *g, u8 opcode, u32 psn,
		    u32 payload, u8 pad, u32 reth)
{
	const struct opcode_info *op = opcode_info(opcode);
	enum psn_class class = psn_classify(r->expected, psn);
	struct responder before = *r;
	struct resp_len_in in;
	enum resp_error e;

	if (r->error)
		return;
	if (class == PSN_AHEAD) {
		const struct resp_error_info *info = resp_error_info(RESP_ERR_PSN_SEQ);

		must(info->syndrome == NAK_PSN_SEQ && !info->qp_error);
		r->nak_sent = true;
		return;
	}
	if (class == PSN_DUPLICATE)
		return;
	r->nak_sent = false;
	if (op && op->transport != OP_TRANSPORT_RC)
		op = NULL;

	e = resp_check_opcode(r->progress, op);
	if (!e) {
		in.pmtu = r->pmtu;
		in.payload = payload;
		in.pad = pad;
		in.done = op->flags & OPF_START ? 0 : r->done;
		in.total = op->flags & OPF_RETH ? reth :
			   op->flags & OPF_START ? 0 : r->total;
		e = resp_check_length(op, &in);
	}
	if (e) {
		must(resp_error_info(e)->qp_error);
		must(resp_error_info(e)->syndrome >= NAK_INVALID_REQ);
		must(r->expected == before.expected && r->msn == before.msn);
		r->error = true;
		return;
	}
	spell(g, opcode, payload, reth);
	r->progress = resp_progress(r->progress, op);
	r->done = in.done + payload;
	r->total = in.total;
	r->expected = psn_add(r->expected, op->flags & OPF_READ ?
			      psn_packets(reth, r->pmtu) : 1);
	must(psn_classify(r->expected, psn) == PSN_DUPLICATE);
	if (op->flags & OPF_END)
		r->msn = psn_add(r->msn, 1);

	must((r->progress == MSG_NONE) == (g->open == 0xff));
	must(r->progress == MSG_NONE || r->done == g->bytes);
	must(r->msn == (g->messages & PSN_MASK));
}

/* Lengths where something may break, or any */
static u32 some_length(u32 choice, u32 pmtu)
{
	switch (choice & 15) {
	case 0: return 0;
	case 1: return 1;
	case 2: return 3;
	case 3: return pmtu - 1;
	case 4: return pmtu + 1;
	case 5: return 2 * pmtu;
	case 6: return 3 * pmtu + 8;
	case 7: return 8;
	case 8: return 0x80000000;
	case 9: return 0x80000001;
	case 10: return 0xffffffff;
	case 11: return choice >> 4;
	default: return pmtu;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct grammar g = { .open = 0xff };
	struct responder r;

	memset(&r, 0, sizeof(r));
	r.pmtu = 256u << input_take(&in, 1) % 5;
	r.expected = input_take(&in, 3);
	while (in.left) {
		u8 opcode = (u8)input_take(&in, 1);
		u8 steer = (u8)input_take(&in, 1);
		u32 payload = some_length(input_take(&in, 2), r.pmtu);
		u32 reth = some_length(input_take(&in, 2), r.pmtu);
		u32 psn = r.expected;
		u8 pad = wire_pad(payload);

		if (steer < 64)
			opcode &= 0x1f;
		if ((steer & 7) == 7)
			psn = psn_add(psn, steer & 8 ? steer >> 4 : 0u - (steer >> 4));
		if ((steer & 0x38) == 0x38)
			pad = steer >> 6;
		receive(&r, &g, opcode, psn, payload, pad, reth);
	}
	return 0;
}
