"""Keeps what pytest makes of the tests' asserts, for all rows. Python 3.8+, pytest 6.2+.

The same tests run on every patch, and pytest rewrites the asserts of each again in every cell.
Here that is done once, in a process that ends before any code of the project, or of a test,
has run, so that no test can have a say in what another one is turned into.
"""

import ast
import base64
import marshal
import os
import resource
import sys
import warnings

#: What no source of a test should take, in CPU seconds: they do not depend on other work.
PATIENCE = 20
#: Tests that are remembered: more than any run of an engine asks for again.
KEPT = 1000


class Rewritten:
    """The code of tests, by path and source; None where pytest is to do it itself."""

    def __init__(self, root):
        self.root = root
        self.codes = {}

    def learn(self, tests):
        """Rewrite what is new of [path in the tree, source in base64, is executable]."""
        named = [(os.path.join(self.root, path), base64.b64decode(text)) for path, text, _ in tests]
        new = [key for key in dict.fromkeys(named) if key not in self.codes]
        if not new:
            return
        if len(self.codes) + len(new) > KEPT:
            self.codes.clear()
        self.codes.update(zip(new, _apart(new)))

    def install(self):
        """Let pytest take from here what is known; for the process of a row."""
        from _pytest.assertion import rewrite

        original = getattr(rewrite, "_rewrite_test", None)
        if original is None or not sys.dont_write_bytecode:
            return

        def rewritten(path, config):
            with open(path, "rb") as stream:
                code = self.codes.get((str(path), stream.read()))
            if code is None or config.getini("enable_assertion_pass_hook"):
                return original(path, config)
            return None, code  # the first is for bytecode that would be written

        rewrite._rewrite_test = rewritten


def _apart(sources):
    """Return the code of each source, made in a child: the compiler too may crash."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        try:
            os.close(reader)
            with open(writer, "wb") as stream:
                stream.write(marshal.dumps([_rewrite(*source) for source in sources]))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(pid, 0)
    try:
        return marshal.loads(data)
    except (EOFError, ValueError, TypeError):  # the child died of one of them
        return [None] * len(sources)


def _rewrite(path, source):
    """Return the code as pytest makes it; None if that fails, or brings a warning to show."""
    from _pytest.assertion import rewrite

    try:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            tree = ast.parse(source, filename=path)
            rewrite.rewrite_asserts(tree, source, path)
            code = compile(tree, path, "exec", dont_inherit=True)
    except Exception:  # whatever it is: pytest will say it of the test itself
        return None
    return None if remarks else code
