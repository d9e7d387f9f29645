// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Holes, and how they are filled.
 *
 * A sequence NAK names the first missing packet and nothing else (9.7.5.2.8).
 * Some peers drop what follows it, some (this driver) keep it; the wire does
 * not say which. The answer to the missing packet does: if it confirms more than
 * was sent again, the peer had kept the rest.
 *
 *   peer not known to hold    send what is missing, nothing new; then
 *                             confirmed up to there, no further: send all again
 *                             confirmed beyond: it holds
 *   peer known to hold        send what is missing, and go on
 *
 * A response confirms its own request, and nothing behind it: then the next answer tells.
 * Another response says that the peer holds; a NAK, or none at all, that it does not.
 *
 * The length of a hole is not known either. A NAK right behind what was sent
 * again says that the hole goes on: then twice as much is sent, up to
 * everything; so a peer that was taken for one that holds is found out, too.
 *
 * Of what was sent again each packet that comes calls the next one missing. That one is
 * right behind it, or lost once more: if so, it is the last that is named, and a timer
 * finds that out. Who has none sends each that is named once more.
 */
#include "loss.h"
#include "psn.h"

/**
 * patience_init() - nothing is known about the path
 * @p: state
 *
 * Context: caller serialises.
 */
void patience_init(struct patience *p)
{
	p->later = PATIENCE_LATER_MIN;
	p->nsec = PATIENCE_NSEC_MIN;
}

/**
 * patience_over() - have enough datagrams overtaken a packet that is missing
 * @p: state
 * @later: datagrams that came from behind it
 *
 * Context: any.
 * Return: true if it counts as lost; false if @p->nsec should pass first.
 */
bool patience_over(const struct patience *p, u32 later)
{
	return later >= p->later;
}

/**
 * patience_lost() - a packet counts as lost
 * @p: state
 *
 * Context: caller serialises.
 */
void patience_lost(struct patience *p)
{
	p->later -= p->later >> 3;
	if (p->later < PATIENCE_LATER_MIN)
		p->later = PATIENCE_LATER_MIN;
	p->nsec -= p->nsec >> 3;
	if (p->nsec < PATIENCE_NSEC_MIN)
		p->nsec = PATIENCE_NSEC_MIN;
}

/**
 * patience_late() - a packet that counted as lost has come twice
 * @p: state
 *
 * Context: caller serialises.
 */
void patience_late(struct patience *p)
{
	p->later <<= 1;
	if (p->later > PATIENCE_LATER_MAX)
		p->later = PATIENCE_LATER_MAX;
	p->nsec <<= 1;
	if (p->nsec > PATIENCE_NSEC_MAX)
		p->nsec = PATIENCE_NSEC_MAX;
}

/**
 * resend_init() - nothing is known about the peer
 * @r: state
 *
 * Context: caller serialises.
 */
void resend_init(struct resend *r)
{
	r->psn = 0;
	r->end = 0;
	r->run = 1;
	r->tries = 0;
	r->active = false;
	r->recent = false;
	r->timeout = false;
	r->waiting = false;
	r->holds = false;
	r->doubt = false;
	r->repaired = false;
}

/* The peer has all that was sent again, and nothing that follows. */
static bool resend_in_vain(const struct resend *r, u32 psn)
{
	return r->active && r->doubt && r->end == psn;
}

static enum resend_what resend_range(struct resend *r, u32 psn, u32 end, u32 next)
{
	r->psn = psn;
	r->end = psn_before(next, end) ? next : end;
	r->active = true;
	r->doubt = false;
	r->recent = true;
	r->repaired = false;
	return RESEND_RANGE;
}

/**
 * resend_coming() - whether the peer misses a packet that was sent again with those before it
 * @r: state
 * @psn: the packet
 *
 * Context: caller serialises.
 */
bool resend_coming(const struct resend *r, u32 psn)
{
	return r->active && !r->repaired && psn_after(psn, r->psn) && psn_before(psn, r->end);
}

/**
 * resend_repaired() - what was sent again last has not come, and is sent again once more
 * @r: state
 *
 * What the peer misses from here on was lost with it.
 *
 * Context: caller serialises.
 */
void resend_repaired(struct resend *r)
{
	r->repaired = true;
}

/**
 * resend_nak() - the peer misses a packet
 * @r: state
 * @psn: the packet; all before it has been confirmed
 * @next: PSN that the requester sends next
 *
 * Context: caller serialises.
 * Return: what to send again. RESEND_NOTHING if it is on its way already; then
 * resend_coming() tells whether the peer should have it soon.
 */
enum resend_what resend_nak(struct resend *r, u32 psn, u32 next)
{
	if (!psn_before(psn, next) || (r->active && r->psn == psn))
		return RESEND_NOTHING;
	if (resend_coming(r, psn)) {
		r->psn = psn;
		return RESEND_NOTHING;
	}
	if (r->recent && r->end == psn)
		r->run <<= 1;
	else
		r->run -= (r->run + 2) >> 2;
	if (!r->run)
		r->run = 1;
	if (r->run > RESEND_RUN_MAX || (!r->holds && resend_in_vain(r, psn))) {
		resend_init(r);
		return RESEND_ALL;
	}
	r->tries = 0;
	r->timeout = false;
	r->waiting = !r->holds;
	return resend_range(r, psn, psn_add(psn, r->run), next);
}

/**
 * resend_timeout() - nothing has been confirmed for too long
 * @r: state
 * @psn: first PSN that has not been confirmed
 * @end: behind the request that it belongs to
 * @next: PSN that the requester sends next, behind @psn
 *
 * Nothing new is sent until the peer answers: it may be gone.
 *
 * Context: caller serialises.
 * Return: RESEND_RANGE, or RESEND_ALL if the peer has answered what was sent again last, and
 * nothing that follows.
 */
enum resend_what resend_timeout(struct resend *r, u32 psn, u32 end, u32 next)
{
	if (resend_in_vain(r, psn)) {
		r->active = false;
		r->recent = false;
		return RESEND_ALL;
	}
	r->timeout = true;
	r->waiting = true;
	return resend_range(r, psn, end, next);
}

/**
 * resend_confirmed() - the peer has confirmed something new
 * @r: state
 * @psn: all before it is confirmed
 * @next: PSN that the requester sends next
 * @all: the peer has nothing beyond that; false if it does not say, as with a response
 *
 * What a timeout sent again may have been late only, and its answer the first
 * of several: so everything is sent again only if the next timeout brings no
 * more than that, either.
 *
 * Context: caller serialises.
 * Return: RESEND_ALL if what follows must be sent again, or RESEND_NOTHING.
 */
enum resend_what resend_confirmed(struct resend *r, u32 psn, u32 next, bool all)
{
	bool waited = r->waiting || (r->doubt && !r->holds);

	if (psn_after(psn, r->end)) {
		r->recent = false;
		r->tries = 0;
	}
	if (!r->active || psn_before(psn, r->end))
		return RESEND_NOTHING;
	r->waiting = false;
	if (psn == r->end && psn_before(psn, next) && !all) {
		r->doubt = true;
		return RESEND_NOTHING;
	}
	r->active = false;
	r->doubt = false;
	if (psn_after(psn, r->end)) {
		r->tries = 0;
		if (!r->timeout && waited)
			r->holds = true;
		return RESEND_NOTHING;
	}
	if (!waited || !psn_before(psn, next))
		return RESEND_NOTHING;
	if (r->timeout && !r->tries++)
		return RESEND_NOTHING;
	r->tries = 0;
	r->recent = false;
	return RESEND_ALL;
}
