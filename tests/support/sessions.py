"""Options of the sessions that tests start."""

from __future__ import annotations

#: For the sessions that tests start. Hypothesis is imported at the end of each session that has
#: its plugin, which is a fifth of a whole run; none of them has a test that is for it.
LEAN = "-p no:hypothesispytest -p no:randomly"
