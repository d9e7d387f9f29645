// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A requester and a responder that know nothing but the functions of proto/,
 * joined by a wire that loses, repeats and reorders as the input says. Then the
 * wire heals, and within a few rounds every message must have been executed
 * exactly once, in order, whole; and a correct requester never earned an error.
 *
 * Input: one byte for the PMTU, three for the first PSN, one for the number of
 * messages, three per message; the rest steers the wire.
 */
#include "fuzz.h"

#define MESSAGES	12
#define WIRE		64	/* packets under way in one direction */
#define READS		4	/* max_rd_atomic of both sides */
#define RKEY		0x1234u

struct packet {
	u8 hdr[64];
	u32 payload;		/* bytes; where they belong stands in @at */
	u64 at;			/* message number << 32 | offset */
};

struct wire {
	struct packet slot[WIRE];
	unsigned int used;
};

struct message {
	enum msg_kind kind;
	bool imm;
	u32 len;
	u32 first_psn;
	u32 packets;
	unsigned int executed;	/* times the responder completed it */
	u32 got;		/* READ: bytes that came back */
};

static struct {
	u32 pmtu;
	u32 first_psn;
	u32 end_psn;		/* behind the last message */
	struct message msg[MESSAGES];
	unsigned int count;
	struct wire to_responder, to_requester;

	/* requester */
	u32 una, next, sent;	/* oldest unacknowledged, next to send, first never sent */
	struct retry_state retry;

	/* responder */
	u32 expected, msn;
	enum msg_progress progress;
	u64 done, total;
	bool nak_sent;
	struct read_span reads[READS];
	unsigned int read_count;
} w;

static void put(struct wire *wire, const struct packet *p)
{
	if (wire->used < WIRE)
		wire->slot[wire->used++] = *p;	/* else lost */
}

static struct packet take(struct wire *wire, unsigned int i)
{
	struct packet p = wire->slot[i];

	wire->used--;
	memmove(&wire->slot[i], &wire->slot[i + 1],
		(wire->used - i) * sizeof(wire->slot[0]));
	return p;
}

static void base(struct packet *p, u8 opcode, u32 psn, bool ackreq)
{
	struct bth_fields f;

	memset(p, 0, sizeof(*p));
	memset(&f, 0, sizeof(f));
	f.opcode = opcode;
	f.psn = psn;
	f.ackreq = ackreq;
	bth_write(p->hdr, &f);
}

static struct message *message_of(u32 psn)
{
	unsigned int i;

	for (i = 0; i < w.count; i++)
		if (psn_add(psn, 0 - w.msg[i].first_psn) < w.msg[i].packets)
			return &w.msg[i];
	must(!"a PSN outside of every message");
	return NULL;
}

/* READs that are sent and not finished, before @psn */
static unsigned int reads_open(u32 psn)
{
	unsigned int i, n = 0;

	for (i = 0; i < w.count; i++)
		if (w.msg[i].kind == MSG_READ && psn_before(w.msg[i].first_psn, psn) &&
		    w.msg[i].got < w.msg[i].len)
			n++;
	return n;
}

/* Send what is at w.next; returns false if there is nothing or it must wait */
static bool requester_send(void)
{
	struct message *m;
	struct packet p;
	u32 offset, psns = 1;
	bool last;
	u8 opcode;

	if (w.next == w.end_psn)
		return false;
	m = message_of(w.next);
	if (m->kind == MSG_READ && w.next == m->first_psn && reads_open(w.next) >= READS)
		return false;
	offset = (u32)psn_offset(m->first_psn, w.next, w.pmtu);
	must(offset < m->len || offset == 0);
	last = m->len - offset <= w.pmtu;
	opcode = opcode_for(m->kind, offset == 0, last, m->imm, false);
	base(&p, opcode, w.next, last);
	if (m->kind == MSG_READ) {
		/* a READ restarts at the first byte that is missing */
		psns = psn_packets(m->len - offset, w.pmtu);
		reth_write(p.hdr + opcode_info(opcode)->reth,
			   (u64)(m - w.msg) << 32 | offset, RKEY, m->len - offset);
	} else {
		p.payload = last ? m->len - offset : w.pmtu;
		p.hdr[1] |= wire_pad(p.payload) << 4;
		if (opcode_info(opcode)->flags & OPF_RETH)
			reth_write(p.hdr + opcode_info(opcode)->reth,
				   (u64)(m - w.msg) << 32, RKEY, m->len);
	}
	p.at = (u64)(m - w.msg) << 32 | offset;
	put(&w.to_responder, &p);
	w.next = psn_add(w.next, psns);
	if (psn_after(w.next, w.sent))
		w.sent = w.next;
	return true;
}

/* Everything before @psn is acknowledged; stop at a READ that lacks responses */
static void requester_acked(u32 psn)
{
	u32 from = w.una;

	while (psn_before(w.una, psn)) {
		struct message *m = message_of(w.una);

		if (m->kind == MSG_READ) {
			w.next = w.una;		/* its response was lost: ask again */
			break;
		}
		w.una = psn_add(w.una, 1);
	}
	if (w.una != from)
		retry_progress(&w.retry);
	if (psn_before(w.next, w.una))
		w.next = w.una;
}

static void requester_receive(const struct packet *p)
{
	const struct opcode_info *op = opcode_info(bth_opcode(p->hdr));
	u32 psn = bth_psn(p->hdr);
	struct message *m;
	u32 offset;

	must(op && op->flags & OPF_RESPONSE);
	if (ack_classify(w.una, w.sent, psn) != ACK_VALID)
		return;
	if (op->flags & OPF_ACK) {
		u8 syndrome = aeth_syndrome(p->hdr + op->aeth);

		if (aeth_kind(syndrome) == AETH_KIND_ACK) {
			requester_acked(psn_add(psn, 1));
			return;
		}
		must(syndrome == NAK_PSN_SEQ);
		must(nak_wc_status(syndrome) == WCS_RETRY_EXC_ERR);
		requester_acked(psn);
		if (retry_take(&w.retry))
			w.next = w.una;
		return;
	}
	/* a READ response acknowledges what was before the READ */
	m = message_of(psn);
	must(m->kind == MSG_READ);
	requester_acked(m->first_psn);
	if (psn != w.una)
		return;		/* not the next one: what is missing is asked for again */
	offset = (u32)psn_offset(m->first_psn, psn, w.pmtu);
	must(p->at == ((u64)(m - w.msg) << 32 | offset));
	must(m->got == offset);
	must(p->payload == (m->len - offset < w.pmtu ? m->len - offset : w.pmtu));
	m->got += p->payload;
	must(m->got <= m->len);
	w.una = psn_add(w.una, 1);
	if (psn_before(w.next, w.una))
		w.next = w.una;
	retry_progress(&w.retry);
}

static void respond(u32 psn, u8 syndrome)
{
	struct packet p;

	base(&p, OP_RC_ACKNOWLEDGE, psn, false);
	aeth_write(p.hdr + opcode_info(OP_RC_ACKNOWLEDGE)->aeth, syndrome, w.msn);
	put(&w.to_requester, &p);
}

static void respond_read(const struct read_span *r)
{
	u32 n = psn_packets(r->len, w.pmtu), i, left = r->len;

	for (i = 0; i < n; i++) {
		struct packet p;

		base(&p, opcode_for_read_response(i == 0, i + 1 == n), psn_add(r->psn, i),
		     false);
		p.payload = left < w.pmtu ? left : w.pmtu;
		p.at = r->va + (u64)i * w.pmtu;
		left -= p.payload;
		put(&w.to_requester, &p);
	}
	must(left == 0);
}

static void responder_duplicate(const struct opcode_info *op, const struct read_span *r)
{
	unsigned int i;

	if (!(op->flags & OPF_READ)) {
		respond(psn_add(w.expected, (u32)-1), AETH_ACK_UNLIMITED);
		return;
	}
	for (i = 0; i < READS && i < w.read_count; i++)
		if (read_replay_fits(&w.reads[i], r, w.pmtu)) {
			respond_read(r);
			return;
		}
	must(!resp_error_info(RESP_ERR_REPLAY_LOST)->syndrome);
	must(psn_before(r->psn, w.una));	/* else somebody still waits for it */
}

static void responder_receive(const struct packet *p)
{
	const struct opcode_info *op = opcode_info(bth_opcode(p->hdr));
	u32 psn = bth_psn(p->hdr);
	struct message *m = &w.msg[p->at >> 32];
	struct read_span r = { psn, RKEY, 0, 0 };
	struct resp_len_in in;

	must(op && op->flags & OPF_REQUEST);
	if (op->flags & OPF_RETH) {
		r.rkey = reth_rkey(p->hdr + op->reth);
		r.va = reth_va(p->hdr + op->reth);
		r.len = reth_len(p->hdr + op->reth);
	}
	switch (psn_classify(w.expected, psn)) {
	case PSN_AHEAD:
		if (!w.nak_sent)
			respond(w.expected, NAK_PSN_SEQ);
		w.nak_sent = true;
		return;
	case PSN_DUPLICATE:
		responder_duplicate(op, &r);
		return;
	case PSN_EXPECTED:
		break;
	}
	w.nak_sent = false;
	in.pmtu = w.pmtu;
	in.payload = p->payload;
	in.pad = bth_pad(p->hdr);
	in.done = op->flags & OPF_START ? 0 : w.done;
	in.total = op->flags & OPF_RETH ? r.len : w.total;
	must(resp_check_opcode(w.progress, op) == RESP_OK);
	must(resp_check_length(op, &in) == RESP_OK);

	/* these are the bytes that come next, and of the message that comes next */
	must((u32)p->at == in.done);
	must((unsigned int)(m - w.msg) == w.msn);
	w.progress = resp_progress(w.progress, op);
	w.done = in.done + in.payload;
	w.total = in.total;
	if (op->flags & OPF_READ) {
		w.reads[w.read_count++ % READS] = r;
		w.expected = psn_add(w.expected, psn_packets(r.len, w.pmtu));
		respond_read(&r);
	} else {
		w.expected = psn_add(w.expected, 1);
		if (bth_ackreq(p->hdr))
			respond(psn, AETH_ACK_UNLIMITED);
	}
	if (op->flags & OPF_END) {
		m->executed++;
		must(m->executed == 1);
		must(m->kind == MSG_READ || w.done == m->len);
		w.msn++;
	}
}

static void deliver(struct wire *wire, unsigned int i)
{
	struct packet p = take(wire, i);

	if (wire == &w.to_responder)
		responder_receive(&p);
	else
		requester_receive(&p);
}

/* One event on the bad wire */
static void event(u8 choice)
{
	struct wire *wire = choice & 0x80 ? &w.to_requester : &w.to_responder;
	unsigned int i = choice >> 3 & 15;

	switch (choice & 7) {
	case 0:
	case 1:
		requester_send();
		return;
	case 2:		/* timeout */
		w.next = w.una;
		return;
	default:
		break;
	}
	if (!wire->used)
		return;
	switch (choice & 7) {
	case 3:
	case 4:
		deliver(wire, 0);
		return;
	case 5:		/* out of order */
		deliver(wire, i % wire->used);
		return;
	case 6:		/* lost */
		take(wire, i % wire->used);
		return;
	case 7:		/* repeated */
		put(wire, &wire->slot[i % wire->used]);
		return;
	}
}

static void setup(struct input *in)
{
	unsigned int i;
	u32 psn;

	memset(&w, 0, sizeof(w));
	w.pmtu = 256u << input_take(in, 1) % 5;
	w.first_psn = input_take(in, 3);
	psn = w.first_psn;
	w.count = 1 + input_take(in, 1) % MESSAGES;
	for (i = 0; i < w.count; i++) {
		struct message *m = &w.msg[i];
		u32 choice = input_take(in, 1), len = input_take(in, 2);

		m->kind = choice % 3 == 0 ? MSG_SEND : choice % 3 == 1 ? MSG_WRITE : MSG_READ;
		m->imm = choice & 0x10;
		m->len = (len >> 8) % 8 * w.pmtu + (choice & 0x20 ? len & 0xff : 0);
		/* a READ of nothing has no bytes that would show it done */
		if (m->kind == MSG_READ && !m->len)
			m->len = 1;
		m->first_psn = psn;
		m->packets = psn_packets(m->len, w.pmtu);
		psn = psn_add(psn, m->packets);
	}
	w.end_psn = psn;
	w.una = w.first_psn;
	w.next = w.first_psn;
	w.sent = w.first_psn;
	w.expected = w.first_psn;
	retry_init(&w.retry, 7, 7);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	unsigned int i, rounds;

	setup(&in);
	while (in.left)
		event((u8)input_take(&in, 1));

	/* the wire heals; what is still under way arrives */
	for (rounds = 0; w.una != w.end_psn; rounds++) {
		must(rounds < 4 * MESSAGES);
		do {
			if (w.to_responder.used)
				deliver(&w.to_responder, 0);
			else if (w.to_requester.used)
				deliver(&w.to_requester, 0);
		} while (w.to_responder.used || w.to_requester.used || requester_send());
		w.next = w.una;		/* timeout */
	}
	for (i = 0; i < w.count; i++) {
		must(w.msg[i].executed == 1);
		must(w.msg[i].kind != MSG_READ || w.msg[i].got == w.msg[i].len);
	}
	must(w.msn == w.count);
	must(w.expected == w.end_psn);
	return 0;
}
