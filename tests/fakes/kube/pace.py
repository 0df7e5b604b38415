"""How fast the cluster's clocks run: a test cannot wait as long as a cluster takes."""

import attrs


@attrs.frozen(kw_only=True)
class Pace:
    """Real seconds that pass for what the API counts, or leaves open.

    `second_s` is one second of a deadline, a grace period or a TTL, `watch_second_s` one of a watch's timeout.
    `lag_s` passes between one state of a pod and its next, `collect_s` before an owner's dependents are looked
    for, `backoff_s` before the first retry of a failed pod or image, `bookmark_s` between a watch's bookmarks.
    """

    second_s: float = 1.0
    watch_second_s: float = 1.0
    lag_s: float = 0.01
    collect_s: float = 0.02
    backoff_s: float = 0.2
    bookmark_s: float = 10.0
