/*
 * request_digest: what a request is, as a number. Whoever approved one approved this one alone; a
 * simulated one is run as it was shown.
 */
#pragma once

#include "base/digest.h"
#include "plan/facts.h"
#include "plan/principal.h"
#include "plan/request.h"

/*
 * SHA-256 over all of it that matters, each part with its name and length: the request, what its
 * names are on this host (as many facts as needs_of takes), in whose name it is made. Labels and
 * what only concerns the report or the cache do not matter.
 */
void request_digest(const struct request *request, const struct facts *facts,
                    const struct principal *principal, struct digest *ret_digest);
