"""How many inputs: a few hundred, always the same ones, in `make test`; as many as one likes, always others, in
`make fuzz N=100000`.
"""

import os

from hypothesis import HealthCheck, settings

# All inputs of `make fuzz`, over all tests; 0 in `make test`.
ASKED = int(os.environ.get("GRADMARK_FUZZ", "0"))


def inputs(few: int, share: float) -> settings:
    """Settings of a test that reads `few` inputs in `make test`, and this share of all in `make fuzz`."""
    return settings(
        max_examples=max(1, int(ASKED * share)) if ASKED else few,
        derandomize=not ASKED,
        database=None,
        deadline=None,  # the first input imports what the others use
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
