"""The process that shuts itself in and becomes the subject's interpreter; never imported by ours.

It is started by path, without environment and site packages: nothing in this folder needs more
than the standard library, landlockpy at the level `landlock` aside. It has one thread, as
leaving for another user namespace demands, and never runs code of the subject.
"""
