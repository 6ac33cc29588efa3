"""Talking with a model step by step: actions, their tools, what fits, and what is kept.

`loop` carries a dialogue out; whoever drives it says which tools there are (`action`), what the
messages are (`history` has the plain way), and what it may use up. All that a dialogue knows
is in its steps: a tool that needs to remember something puts it there, so that a
dialogue which was killed goes on from the steps that were kept (`trajectory`).
"""
