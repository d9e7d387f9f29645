// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Loss recovery: what a requester sends again (proto/loss.c) against a responder
 * that keeps what comes behind a hole, or drops it, as the input says. The wire
 * between them loses, repeats and reorders. Nothing is sent again that the peer has
 * confirmed, nothing that was never sent; and when the wire heals, timeouts and
 * answers alone bring every packet over, within a few rounds.
 *
 * Input: one byte for the responder, three for the first PSN, one for the number of
 * packets; the rest steers the wire.
 */
#include "fuzz.h"
#include "proto/loss.h"

#define PACKETS		200	/* that have to get over, at most */
#define WIRE		96
#define HELD		32	/* that the responder keeps, ahead of what it expects */
#define WINDOW		64

struct answer {
	u32 psn;
	bool nak;
};

static struct {
	u32 first, end;
	bool holds;		/* the responder keeps what comes too early */
	bool each;		/* it answers each packet, as READs and atomics, not the last */

	/* requester */
	u32 confirmed, next, sent;
	struct resend resend;

	/* responder */
	u32 expected;
	bool held[HELD];
	u32 later;
	bool nak_sent;
	struct patience patience;

	u32 to_responder[WIRE], requests;
	struct answer to_requester[WIRE];
	u32 answers;
} w;

/* --- requester ------------------------------------------------------------------ */

static void put(u32 psn)
{
	if (w.requests < WIRE)
		w.to_responder[w.requests++] = psn;	/* else lost */
}

static void send_psn(u32 psn)
{
	must(!psn_before(psn, w.confirmed));
	must(psn_before(psn, w.end));
	put(psn);
}

static bool send_next(void)
{
	u32 outstanding = (u32)psn_diff(w.next, w.confirmed);

	if (w.next == w.end || (outstanding && (w.resend.waiting || outstanding >= WINDOW)))
		return false;
	send_psn(w.next);
	w.next = psn_add(w.next, 1);
	if (psn_after(w.next, w.sent))
		w.sent = w.next;
	return true;
}

static void send_again(enum resend_what what)
{
	u32 psn;

	switch (what) {
	case RESEND_NOTHING:
		return;
	case RESEND_RANGE:
		must(psn_before(w.resend.psn, w.resend.end));
		must(!psn_after(w.resend.end, w.next));
		must((u32)psn_diff(w.resend.end, w.resend.psn) <= RESEND_RUN_MAX);
		for (psn = w.resend.psn; psn != w.resend.end; psn = psn_add(psn, 1))
			send_psn(psn);
		return;
	case RESEND_ALL:
		w.next = w.confirmed;
		return;
	}
}

static void confirm(u32 psn, bool all)
{
	if (!psn_after(psn, w.confirmed))
		return;
	must(!psn_after(psn, w.sent));
	w.confirmed = psn;
	send_again(resend_confirmed(&w.resend, psn, w.next, all));
	if (psn_before(w.next, w.confirmed))
		w.next = w.confirmed;
}

static void requester_receive(const struct answer *a)
{
	if (ack_classify(w.confirmed, w.sent, a->psn) != ACK_VALID)
		return;
	confirm(a->nak ? a->psn : psn_add(a->psn, 1), a->nak || !w.each);
	if (a->nak && a->psn == w.confirmed)
		send_again(resend_nak(&w.resend, a->psn, w.next));
}

static void timeout(void)
{
	if (w.confirmed != w.next)
		send_again(resend_timeout(&w.resend, w.confirmed, psn_add(w.confirmed, 1), w.next));
}

/* --- responder ------------------------------------------------------------------ */

static void respond(u32 psn, bool nak)
{
	if (w.answers < WIRE) {
		w.to_requester[w.answers].psn = psn;
		w.to_requester[w.answers++].nak = nak;
	}
}

static void miss(void)
{
	if (w.nak_sent || !w.later)
		return;
	w.nak_sent = true;
	patience_lost(&w.patience);
	respond(w.expected, true);
}

static void responder_receive(u32 psn)
{
	u32 ahead = (u32)psn_diff(psn, w.expected);

	switch (psn_classify(w.expected, psn)) {
	case PSN_DUPLICATE:
		w.nak_sent = false;
		patience_late(&w.patience);
		respond(psn_add(w.expected, PSN_MASK), false);
		return;
	case PSN_AHEAD:
		w.later++;
		if (w.holds && ahead < HELD)
			w.held[psn % HELD] = true;
		if (patience_over(&w.patience, w.later))
			miss();
		break;
	case PSN_EXPECTED:
		w.nak_sent = false;
		w.later = 0;
		do {
			w.held[w.expected % HELD] = false;
			w.expected = psn_add(w.expected, 1);
			if (w.each)
				respond(psn_add(w.expected, PSN_MASK), false);
		} while (w.held[w.expected % HELD]);
		for (u32 i = 0; i < HELD; i++)
			w.later += w.held[i];
		if (!w.each)
			respond(psn_add(w.expected, PSN_MASK), false);
		break;
	}
	must(w.patience.later >= PATIENCE_LATER_MIN && w.patience.later <= PATIENCE_LATER_MAX);
	must(w.patience.nsec >= PATIENCE_NSEC_MIN && w.patience.nsec <= PATIENCE_NSEC_MAX);
}

/* --- the wire ------------------------------------------------------------------- */

static void take_request(u32 i, bool deliver)
{
	u32 psn = w.to_responder[i];

	memmove(&w.to_responder[i], &w.to_responder[i + 1],
		(--w.requests - i) * sizeof(w.to_responder[0]));
	if (deliver)
		responder_receive(psn);
}

static void take_answer(u32 i, bool deliver)
{
	struct answer a = w.to_requester[i];

	memmove(&w.to_requester[i], &w.to_requester[i + 1],
		(--w.answers - i) * sizeof(w.to_requester[0]));
	if (deliver)
		requester_receive(&a);
}

static void event(u8 choice)
{
	bool request = choice & 0x80;
	u32 used = request ? w.requests : w.answers;
	u32 i = choice >> 3 & 15;

	switch (choice & 7) {
	case 0:
	case 1:
		send_next();
		return;
	case 2:
		if (request)
			timeout();
		else
			miss();		/* its time to be late is over */
		return;
	case 3:
	case 4:
		i = 0;
		break;
	case 7:		/* repeated */
		if (request && used)
			put(w.to_responder[i % used]);
		else if (used)
			respond(w.to_requester[i % used].psn, w.to_requester[i % used].nak);
		return;
	default:
		break;
	}
	if (!used)
		return;
	if (request)
		take_request(i % used, (choice & 7) != 6);
	else
		take_answer(i % used, (choice & 7) != 6);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 rounds;

	memset(&w, 0, sizeof(w));
	rounds = (u32)input_take(&in, 1);
	w.holds = rounds & 1;
	w.each = rounds & 2;
	w.first = input_take(&in, 3);
	w.end = psn_add(w.first, 1 + input_take(&in, 1) % PACKETS);
	w.confirmed = w.first;
	w.next = w.first;
	w.sent = w.first;
	w.expected = w.first;
	resend_init(&w.resend);
	patience_init(&w.patience);
	while (in.left)
		event((u8)input_take(&in, 1));

	for (rounds = 0; w.confirmed != w.end; rounds++) {
		must(rounds < 24);
		do {
			if (w.requests)
				take_request(0, true);
			else if (w.answers)
				take_answer(0, true);
		} while (w.requests || w.answers || send_next());
		miss();
		if (!w.answers)
			timeout();
	}
	must(w.expected == w.end);
	return 0;
}
